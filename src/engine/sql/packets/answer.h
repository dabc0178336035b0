// answer.h: Answer, a captured answer to a SELECT without its rows, reused with new rows; and Packets, which writes an
// answer packet by packet.
//
// Column definitions and the end packet are the server's own bytes. Only packet numbers and the session's status are
// replaced. Immutable; shared by threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/output.h"

namespace postern::sql {

/// The negotiated capabilities, which decide the format of an answer.
struct AnswerForm {
  bool deprecate_eof = false;   ///< CLIENT_DEPRECATE_EOF: no packet after the columns, an OK packet after the rows
  bool cache_metadata = false;  ///< MARIADB_CLIENT_CACHE_METADATA: column definitions may be left out
  bool extended = false;        ///< MARIADB_CLIENT_EXTENDED_METADATA: column definitions have one more string

  bool operator==(const AnswerForm &) const = default;
};

/// Writes one answer, from packet 1 on.
class Packets {
 public:
  explicit Packets(Output &output) : output_(output) {}

  /// Writes whole packets that have their numbers already: `count` of them, from the next number on.
  void put_whole(Bytes packets, uint32_t count) {
    output_.put(packets);
    number_ += static_cast<uint8_t>(count);
  }
  /// Writes one packet, shorter than 16 MiB - 1.
  void put(Bytes payload) {
    const size_t size = payload.size();
    char *const head = output_.reserve(4);
    head[0] = static_cast<char>(size);
    head[1] = static_cast<char>(size >> 8);
    head[2] = static_cast<char>(size >> 16);
    head[3] = static_cast<char>(number_++);
    output_.commit(4);
    output_.put(payload);
  }

  Output &output() { return output_; }
  /// The number of the next packet.
  uint8_t next_number() const { return number_; }

 private:
  Output &output_;
  uint8_t number_ = 1;  // wraps, as it does on the wire
};

class Answer {
 public:
  /// Parses the server's whole answer to one command. nullopt: not a plain result set, one with warnings, or
  /// incomplete.
  static std::optional<Answer> of(Bytes packets, AnswerForm form);

  /// Writes everything before the rows. `status`: the session's while the statement runs.
  void put_head(Packets &packets, uint16_t status) const;
  /// Writes the end packet. `status`: the session's after the statement.
  void put_end(Packets &packets, uint16_t status) const;

  uint32_t columns() const { return columns_; }
  /// The type of a column as on the wire; 255 if the answer has no column definitions.
  uint8_t type(uint32_t column) const { return column < types_.size() ? types_[column] : uint8_t{255}; }
  /// Whether the column's definition promises that no row has NULL there.
  bool never_null(uint32_t column) const { return column < never_null_.size() && never_null_[column]; }
  bool columns_left_out() const { return types_.empty(); }
  AnswerForm form() const { return form_; }
  /// The session's status at the end.
  uint16_t status() const { return status_; }

 private:
  Answer() = default;

  std::string head_;
  uint32_t head_packets_ = 0;
  size_t head_status_at_ = std::string::npos;  // in head_
  std::string end_;                            // a packet's payload
  uint32_t columns_ = 0;
  uint16_t status_ = 0;
  std::vector<uint8_t> types_;
  std::vector<bool> never_null_;
  AnswerForm form_;
};

}  // namespace postern::sql
