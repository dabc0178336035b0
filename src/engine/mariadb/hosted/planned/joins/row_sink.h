// row_sink.h: RowSink, which receives rows of a kept plan from the server's executor: the server's own protocol code
// encodes each row, and the sink adds it to the worker's answer.
#pragma once

#include "engine/mariadb/basics/server.h"
#include "engine/sql/packets/answer.h"

namespace postern::mariadb {

/// Belongs to a plan; from begin() to the end of the execution it writes to that execution's packets.
class RowSink final : public select_send {
 public:
  explicit RowSink(THD *home) : select_send(home) {}

  void begin(THD *attached, Protocol &protocol, sql::Packets &packets, const sql::Answer &answer);
  /// Whether rows were refused because they exceed the bytes that a turn allows.
  bool overflowed() const { return overflowed_; }
  /// Whether the columns differ from those of the server's earlier answer.
  bool mismatched() const { return mismatched_; }
  uint64_t sent() const { return sent_; }

  bool send_result_set_metadata(List<Item> &items, uint flags) override;
  int send_data(List<Item> &items) override;
  bool send_eof() override { return false; }

 private:
  bool put(List<Item> &items);
  bool breaks_promise(List<Item> &items) const;

  Protocol *protocol_ = nullptr;
  sql::Packets *packets_ = nullptr;
  const sql::Answer *answer_ = nullptr;
  size_t start_ = 0;
  uint64_t sent_ = 0;
  bool overflowed_ = false;
  bool mismatched_ = false;
  bool promised_ = false;  ///< the answer's definitions promise a value where the plan may have NULL
};

}  // namespace postern::mariadb
