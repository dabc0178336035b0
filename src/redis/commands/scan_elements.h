// scan_elements.h: SSCAN, ZSCAN and HSCAN: some elements of a key, and a cursor for the others.
#pragma once

#include <cstdint>
#include <vector>

#include "redis/collections/collections.h"
#include "redis/scan_cursors.h"

namespace postern::redis {

class ScanElements final : public CollectionWork {
 public:
  struct Wanted {
    Type type;
    Bytes pattern = "*";
    uint64_t count = 10;
    bool with_more = true;  ///< scores or values, if the type has them
    bool is_lost = false;   ///< the cursor is unknown: only a key that is answered whole needs none
    ScanPlace place{};      ///< where it continues

    /// Answers the rows of elements that match the pattern.
    void tell(Writer &writer, uint64_t cursor, std::vector<Cells> rows) const;
  };
  ScanElements(Call &call, OpenMap &open, Wanted wanted);

 private:
  Task<> run() override;
  Task<uint64_t> read(const Entry &entry, std::vector<Cells> &rows);

  ScanCursors &cursors_;
  const Wanted wanted_;
};

/// Answers a scan of a key's elements. Those of a mapped row come whole.
Next scan_elements(Call &call, Type type);

}  // namespace postern::redis
