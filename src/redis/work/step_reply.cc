#include "redis/work/step_reply.h"

#include "base/limits.h"
#include "redis/keyspace/key_state.h"

namespace postern::redis {

int64_t Cell::integer() const {
  return null ? 0 : integer_in(Value::of(text));
}

Flow StepReply::row(Row row) {
  const uint64_t before = met++;
  if (hears) return hears(row, before);
  Cells &cells = rows.emplace_back();
  cells.reserve(row.size());
  for (const Value &value : row) {
    char room[20];
    cells.push_back({value.is_null(), std::string(text_of(value, room))});
    bytes_ += sizeof(Cell) + cells.back().text.size();
  }
  return rows.size() == 1 || bytes_ <= limits::edit_reply_bytes_max ? Flow::more : Flow::pause;
}

void StepReply::restart() {
  rows.clear();
  met = changed = about = bytes_ = 0;
  failure = Failure::none;
  message.clear();
}

void StepReply::done(const Outcome &outcome) {
  changed = outcome.changed;
  about = outcome.rows;
  failure = outcome.failure;
  message = outcome.message;
}

int64_t changed_by(std::span<const StepReply *const> replies) {
  int64_t changed = 0;
  for (const StepReply *const reply : replies) changed += static_cast<int64_t>(reply->changed);
  return changed;
}

}  // namespace postern::redis
