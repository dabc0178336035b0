// scan_elements.h: SSCAN, ZSCAN and HSCAN of the generic keyspace: some elements of a key, and a cursor for the others.
#pragma once

#include <cstdint>
#include <string>

#include "redis/collections.h"
#include "redis/scan_cursors.h"

namespace postern::redis {

class ScanElements final : public CollectionWork {
 public:
  struct Wanted {
    Type type;
    Bytes pattern = "*";
    uint64_t count = 10;
    ScanPlace place{};  ///< where it goes on
  };
  ScanElements(Call &call, OpenMap &open, Wanted wanted);

 private:
  Task<> run() override;
  void tell(uint64_t cursor, const std::vector<Cells> &rows);

  ScanCursors &cursors_;
  const Wanted wanted_;
};

/// Answers a scan of a key's elements; a key of a mapped row is not one of these.
Next scan_elements(Call &call, Type type);

}  // namespace postern::redis
