// row_sink.h: RowSink, to which the server's executor sends the rows of a kept plan: the server's own protocol writes
// each, and it goes where the worker's answers go.
#pragma once

#include "engine/mariadb/basics/server.h"
#include "engine/sql/packets/answer.h"

namespace postern::mariadb {

/// Belongs to a plan; between begin() and the end of the execution it writes to that one's packets.
class RowSink final : public select_send {
 public:
  explicit RowSink(THD *home) : select_send(home) {}

  void begin(THD *attached, Protocol &protocol, sql::Packets &packets, const sql::Answer &answer);
  /// No row, or only a part of the rows, was taken, for they are more bytes than a turn allows.
  bool overflowed() const { return overflowed_; }
  /// The columns are not those of the answer that the server has given before.
  bool mismatched() const { return mismatched_; }
  uint64_t sent() const { return sent_; }

  bool send_result_set_metadata(List<Item> &items, uint flags) override;
  int send_data(List<Item> &items) override;
  bool send_eof() override { return false; }

 private:
  bool put(List<Item> &items);

  Protocol *protocol_ = nullptr;
  sql::Packets *packets_ = nullptr;
  const sql::Answer *answer_ = nullptr;
  size_t start_ = 0;
  uint64_t sent_ = 0;
  bool overflowed_ = false;
  bool mismatched_ = false;
};

}  // namespace postern::mariadb
