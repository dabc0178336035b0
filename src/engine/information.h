// information.h: tables of INFORMATION_SCHEMA, as the plugin makes them and a server shows them.
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
  uint32_t length;  ///< a text's, in characters; longer ones are cut
};

/// Nothing is NULL. Texts are UTF-8.
using InformationValue = std::variant<std::monostate, uint64_t, std::string>;
using InformationRow = std::vector<InformationValue>;

/// The account that asks. As in PROCESSLIST nobody sees others' connections without the privilege PROCESS.
struct InformationViewer {
  bool sees_all = false;
  std::string account;  ///< user@host, as the server's accounts are written
};

/// Lives as long as the library.
struct InformationTable {
  const char *name;  ///< the plugin's
  std::span<const InformationColumn> columns;
  /// The rows, each with a value for every column. On a thread of the server's, which holds no lock of ours when it
  /// writes them. Throws std::bad_alloc.
  std::vector<InformationRow> (*rows)(const InformationViewer &viewer);
  /// FLUSH and its name: forgets what was counted. 0: done. nullptr: it has nothing to forget.
  int (*reset)() = nullptr;
};

/// For the init function of a plugin, with the server's argument: the table becomes `table`. False without memory. One
/// thread at a time.
[[nodiscard]] bool set_information_table(void *given, const InformationTable &table);
/// Undoes it, when the plugin is unloaded and nobody reads the table.
void forget_information_table(const InformationTable &table);

}  // namespace postern::engine
