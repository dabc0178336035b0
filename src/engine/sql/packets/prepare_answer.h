// prepare_answer.h: PrepareAnswer, a captured answer to COM_STMT_PREPARE, reused for a statement with another id.
// Immutable; shared by threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/output.h"

namespace postern::sql {

class PrepareAnswer {
 public:
  /// Parses the server's whole answer. `deprecate_eof`: no packet after columns and parameters. nullopt: an error,
  /// warnings, or incomplete.
  static std::optional<PrepareAnswer> of(Bytes packets, bool deprecate_eof);

  /// The id that the server gave to the statement.
  uint32_t id() const { return id_; }
  /// `status`: the session's status.
  void put(Output &output, uint32_t id, uint16_t status) const;

 private:
  PrepareAnswer() = default;

  std::string packets_;
  std::vector<size_t> status_at_;
  uint32_t id_ = 0;
};

}  // namespace postern::sql
