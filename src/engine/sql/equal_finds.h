// equal_finds.h: EqualFinds, what finds of a run were answered, for others of the same run that ask the same.
//
// Popular keys come many times in a run, which reads one view: the answer to the first find is the answer to the
// others. It is copied here, so the first one's op, request and reply may go meanwhile. Belongs to one executor and is
// used on its thread. Takes no memory before the first run with many finds, then a bounded amount.
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

  /// Forgets all answers. Looks for equal finds in this run if it has many, `finds`, and the last runs had some.
  void begin_run(size_t finds);
  /// No equal finds in this run.
  void end_run() { on_ = false; }
  bool on() const { return on_; }

  /// Whether a find can be answered by another one's answer at all: it is a short question about equality alone.
  static bool may_share(const Find &find) {
    return find.comparison == Comparison::equal && find.in_list.empty() && find.filters.empty() && find.offset == 0 &&
           find.until.empty() && !find.prefix && !find.shape_wanted;
  }
  /// What an equal find on the spec with this serial was answered; nullptr if none was. Then the answer to this one may
  /// be kept, before the next one is looked up.
  const Answer *look_up(uint64_t serial, const Find &find);
  void keep(Bytes written, uint64_t rows);

 private:
  struct Entry {
    uint32_t run = 0;  // in which it is valid
    uint32_t hash = 0;
    uint32_t at = 0;  // in bytes_: the question, then the answer
    uint16_t question_bytes = 0;
    uint16_t answer_bytes = 0;
    uint32_t rows = 0;
  };
  static constexpr size_t entries = 2048;

  /// Appends the question to the kept bytes. Returns its size; 0 if it is too long, or there is no room.
  size_t write_question(uint64_t serial, const Find &find);

  std::unique_ptr<Entry[]> entries_;
  std::unique_ptr<char[]> bytes_;
  size_t used_ = 0;  // of bytes_
  bool on_ = false;
  uint32_t run_ = 0;
  size_t asked_ = 0;  // in this run
  size_t found_ = 0;
  uint32_t runs_off_ = 0;  // since the last one that looked
  Entry *free_ = nullptr;  // where the answer to the find that was looked up last may be kept
  uint32_t hash_ = 0;      // that find's
  size_t question_bytes_ = 0;
  Answer answer_{};
};

}  // namespace postern::sql
