// returned_rows.h: ReturnedRows, the rows of RETURNING, which are held until their statement is done, or committed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/sql/packets/answer.h"

class THD;
struct TABLE;

namespace postern::mariadb {

class ReturnedRows {
 public:
  /// No rows are wanted.
  ReturnedRows() = default;
  /// `answer`: the server's answer to a statement of this form; it outlives this. `binary`: rows of COM_STMT_EXECUTE.
  ReturnedRows(const sql::Answer *answer, bool binary) : answer_(answer), binary_(binary) {}

  /// Whether the answer is a result set, which may be empty.
  bool wanted() const { return answer_ != nullptr; }
  const sql::Answer *answer() const { return answer_; }
  size_t count() const { return sizes_.size(); }

  /// Adds `columns`, positions in TABLE::field, of the row in record[0], encoded as the server does for the client of
  /// `session`, which need not be attached to this thread. False: out of memory.
  bool add(THD *session, const TABLE &table, const std::vector<uint16_t> &columns);
  void put(sql::Packets &packets) const;

 private:
  const sql::Answer *answer_ = nullptr;
  bool binary_ = false;
  std::string bytes_;            // payloads of packets
  std::vector<uint32_t> sizes_;  // each one's
};

/// The approximate bytes of those columns of the row in record[0].
size_t bytes_of_row(const TABLE &table, const std::vector<uint16_t> &columns);

}  // namespace postern::mariadb
