// hyperloglog_debug_commands.cc: PFDEBUG, about the form of a HyperLogLog, and PFSELFTEST.
#include <memory>
#include <string>

#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/strings/hyperloglog_reads.h"
#include "redis/strings/hyperloglog_text.h"
#include "redis/strings/string_work.h"

namespace postern::redis {
namespace {

class DebugWork final : public StringWork {
 public:
  DebugWork(Call &call, const Place &place) : StringWork(call, *place.open), asked_(call.arguments[1]), place_(place) {}

 private:
  Task<> run() override {
    const Held held = co_await hold(place_);
    if (!held.there) co_return writer().error("ERR The specified key does not exist");
    if (held.type != Type::string) co_return writer().error(wrong_type);
    const auto registers = std::make_unique<HyperLogLog>();
    if (const Bytes wrong = read_hyperloglog(held.text, *registers); !wrong.empty()) co_return writer().error(wrong);
    HyperLogLogText text(held.text);
    if (is_word(asked_, "encoding")) co_return writer().status(text.is_sparse() ? "sparse" : "dense");
    if (is_word(asked_, "decode")) {
      if (!text.is_sparse()) co_return writer().error("ERR HLL encoding is not sparse");
      co_return writer().bulk(text.runs());
    }
    const bool wants_registers = is_word(asked_, "getreg");
    if (!wants_registers && !is_word(asked_, "todense"))
      co_return writer().error("ERR Unknown PFDEBUG subcommand '", std::string(told_of(asked_, 128)) + "'");
    // Redis, too, changes the form before it answers with the registers.
    const bool changed = text.make_dense();
    if (changed) co_await set(place_, text.text(), held.expires_ms);
    if (!wants_registers) co_return writer().integer(changed ? 1 : 0);
    writer().array(HyperLogLog::registers);
    for (size_t i = 0; i < HyperLogLog::registers; ++i) writer().integer(registers->at(i));
  }

  const Bytes asked_;
  const Place place_;
};

/// Whether both forms have the same registers, and a good estimate. Elements are the same each time.
bool forms_agree() {
  constexpr uint64_t elements = 20'000;
  constexpr uint64_t looks_every = 500;
  constexpr uint64_t error_max = 20;  // one in so many
  HyperLogLogText grows;
  HyperLogLogText dense;
  dense.make_dense();
  const auto in_one = std::make_unique<HyperLogLog>();
  const auto in_other = std::make_unique<HyperLogLog>();
  for (uint64_t i = 1; i <= elements; ++i) {
    const std::string element = std::to_string(i);
    if (grows.add(element) != dense.add(element)) return false;
    if (i % looks_every != 0) continue;
    if (in_one->merge(grows.text()) != HyperLogLog::Read::valid) return false;
    if (in_other->merge(dense.text()) != HyperLogLog::Read::valid) return false;
    for (size_t place = 0; place < HyperLogLog::registers; ++place)
      if (in_one->at(place) != in_other->at(place)) return false;
    const uint64_t count = in_one->count();
    if (count < i - i / error_max || count > i + i / error_max) return false;
  }
  return !grows.is_sparse();
}

}  // namespace

namespace lower {

Next pfdebug(Call &call) {
  const Place place = place_of(call, call.arguments[2]);
  if (place.state == Place::State::broken) return refuse_place(call, place);
  if (place.state != Place::State::there) return refuse(call, "ERR The specified key does not exist");
  if (place.generic()) open_elements(call, *place.open);
  return begin_work(call, tables_of(call).keep<DebugWork>(call, place));
}

Next pfselftest(Call &call) {
  answer(call, [](Writer &writer) {
    if (forms_agree()) writer.ok();
    else writer.error("ERR the forms of a HyperLogLog differ");
  });
  return Next::go_on;
}

}  // namespace lower
}  // namespace postern::redis
