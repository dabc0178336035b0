// equal_finds.h: EqualFinds, the answers to finds of a run, for equal finds of the same run.
//
// Popular keys occur many times in a run, which reads one view: the answer to the first find serves the others. It is
// copied here, so the first find's op, request and reply may be freed meanwhile. Belongs to one executor and is used on
// its thread. Takes no memory before the first run with many finds, then a bounded amount.
//
//   equal.begin_run(finds);
//   if (const auto *known = equal.look_up(serial, find)) ... else {answer it;  equal.keep(written, rows);}
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "contract/op.h"

namespace postern::sql {

class EqualFinds {
 public:
  struct Answer {
    Bytes written;  ///< Reply::written(); valid until the next run
    uint32_t rows;
  };

  /// Forgets all answers. Looks for equal finds in this run if it has many (`finds`), and the last runs had some.
  void begin_run(size_t finds);
  /// No equal finds in this run.
  void end_run() { on_ = false; }
  bool on() const { return on_; }

  /// Whether a find can share an answer: a short key, by equality only.
  static bool may_share(const Find &find) {
    return find.comparison == Comparison::equal && find.in_list.empty() && find.filters.empty() && find.offset == 0 &&
           find.until.empty() && !find.prefix && !find.shape_wanted;
  }
  /// The answer to an equal find on the spec with this serial; nullptr: none. Then the answer to this find may be kept,
  /// before the next is looked up.
  const Answer *look_up(uint64_t serial, const Find &find);
  void keep(Bytes written, uint64_t rows);

 private:
  struct Entry {
    uint32_t run = 0;  // the run in which it is valid
    uint32_t hash = 0;
    uint32_t at = 0;  // in bytes_: the key, then the answer
    uint16_t question_bytes = 0;
    uint16_t answer_bytes = 0;
    uint32_t rows = 0;
  };
  static constexpr size_t entries = 2048;

  /// Appends the find's key to the kept bytes. Returns its size; 0 if it is too long, or there is no room.
  size_t write_question(uint64_t serial, const Find &find);

  std::unique_ptr<Entry[]> entries_;
  std::unique_ptr<char[]> bytes_;
  size_t used_ = 0;  // of bytes_
  bool on_ = false;
  uint32_t run_ = 0;
  size_t asked_ = 0;  // in this run
  size_t found_ = 0;
  uint32_t runs_off_ = 0;  // runs since the last one that looked
  Entry *free_ = nullptr;  // where the answer to the last looked-up find may be kept
  uint32_t hash_ = 0;      // that find's
  size_t question_bytes_ = 0;
  Answer answer_{};
};

}  // namespace postern::sql
