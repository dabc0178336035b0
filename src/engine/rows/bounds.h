// bounds.h: Bounds, the end of a walk by Find::until and Find::prefix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contract/op.h"
#include "engine/rows/key.h"
#include "engine/server/table.h"

namespace postern::rows {

/// Belongs to one Walk. The table's read set must have the columns of the index.
class Bounds {
 public:
  enum class Verdict : uint8_t {
    within,
    outside,  ///< a row on the way that is not wanted
    beyond,   ///< nor is any later row
  };

  static bool needed(const Find &find) { return find.prefix || !find.until.empty() || find.estimated; }
  /// Whether the index can serve bounds that are needed.
  static Failure check(const OpenTable &table, const Find &find);

  /// Builds the bounds, and with Find::prefix also the start. False if no row can be within. Uses record[0] as scratch.
  bool open(THD *thd, OpenTable &table, const Find &find, KeyStart &start);
  /// Judges the row in record[0].
  Verdict judge() const;
  /// The key of Find::until.
  const KeyStart &far_end() const { return until_; }

 private:
  bool open_prefix(THD *thd, KeyStart &start);
  bool write_pattern(Bytes text);
  void write_ends(const KEY_PART_INFO &part, std::vector<uchar> &low, std::vector<uchar> &high);
  Field *prefixed() const;
  bool has_prefix() const;
  bool is_past(const uchar *key, uint32_t parts) const;

  OpenTable *table_ = nullptr;
  const Find *find_ = nullptr;
  bool down_ = false;

  // With Find::prefix.
  KeyStart leading_;          // the parts before the text
  std::string pattern_;       // for LIKE
  std::vector<uchar> begin_;  // the key before all keys that begin with the text, in the order of the walk
  std::vector<uchar> end_;    // and the end after them
  uint32_t parts_ = 0;        // of both

  // For a Find with `until`.
  KeyStart until_;
  std::vector<uchar> until_key_;
};

}  // namespace postern::rows
