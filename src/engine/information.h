// information.h: tables of INFORMATION_SCHEMA, made by the plugin and shown by the server.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace postern::engine {

struct InformationColumn {
  enum class Kind : uint8_t { text, number };
  const char *name;
  Kind kind;
  uint32_t length;  ///< maximum of a text, in characters; longer ones are cut
};

/// Nothing is NULL. Texts are UTF-8.
using InformationValue = std::variant<std::monostate, uint64_t, std::string>;
using InformationRow = std::vector<InformationValue>;

/// The querying account. As in PROCESSLIST an account sees others' connections only with the privilege PROCESS.
struct InformationViewer {
  bool sees_all = false;
  std::string account;  ///< user@host, as the server's accounts are written
};

/// Lives as long as the library.
struct InformationTable {
  const char *name;  ///< the plugin's
  std::span<const InformationColumn> columns;
  /// The rows, each with a value for every column. Called on a server thread, which holds none of our locks when it
  /// writes them. Throws std::bad_alloc.
  std::vector<InformationRow> (*rows)(const InformationViewer &viewer);
  /// Handles FLUSH with its name: resets the counts. 0: done. nullptr: nothing to reset.
  int (*reset)() = nullptr;
};

/// Called by a plugin's init function, with the server's argument: registers `table`. False: out of memory. One thread
/// at a time.
[[nodiscard]] bool set_information_table(void *given, const InformationTable &table);
/// Undoes that, when the plugin is unloaded and no session reads the table.
void forget_information_table(const InformationTable &table);

}  // namespace postern::engine
