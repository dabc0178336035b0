#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "redis/collections/collections.h"
#include "redis/collections/scores.h"
#include "redis/registry/handlers.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

struct AddOptions {
  bool if_absent = false;
  bool if_there = false;
  bool if_greater = false;
  bool if_less = false;
  bool counts_changed = false;
  bool adds_to = false;  ///< adds to the member's score
};

/// A member that is given a score.
class ScoreEdit final : public Edit {
 public:
  ScoreEdit(const AddOptions &options, Bytes whose, double given) : member(whose), options_(options), score_(given) {
    begin();
  }

  Decision present(Row now, Draft &next) override {
    begin();
    const double before = score_in(now[column::score]);
    const double after = options_.adds_to ? before + score_ : score_;
    not_a_number = !options_.if_absent && std::isnan(after);
    passed_by = options_.if_absent || (options_.if_greater && after <= before) || (options_.if_less && after >= before);
    score = after;
    if (not_a_number || passed_by || after == before) return Decision::keep;
    text = stored_score(after);
    next.set(column::score, Value::of(text));
    updated = true;
    return Decision::write;
  }

  /// Its member does not exist.
  void pass_by() {
    begin();
    passed_by = true;
  }

  const Bytes member;
  double score = 0;  ///< the current one
  std::string text{};
  bool updated = false;
  bool passed_by = false;
  bool not_a_number = false;
  const StepReply *reply = nullptr;

 private:
  void begin() {
    score = score_;
    text = stored_score(score_);
    updated = passed_by = not_a_number = false;
  }

  const AddOptions &options_;
  const double score_;
};

/// ZADD and ZINCRBY.
class SortedSetAdd final : public CollectionWork {
 public:
  struct Pair {
    double score;
    Bytes member;
  };
  SortedSetAdd(Call &call, OpenMap &open, const AddOptions &options, std::vector<Pair> pairs)
      : CollectionWork(call, open), options_(options), pairs_(std::move(pairs)) {
    set_ends_at_once();
  }

 private:
  Task<> run() override {
    edits_.clear();
    added_ = updated_ = 0;
    for (const Pair &pair : pairs_) edits_.emplace_back(options_, pair.member, pair.score);
    bool done = false;
    if (options_.if_there) done = co_await change();
    else done = co_await add();
    if (!done) co_return;
    Writer to = writer();
    if (edits_.back().not_a_number) to.error("ERR resulting score is not a number (NaN)");
    else if (options_.adds_to) edits_.back().passed_by ? to.nil() : to.number(edits_.back().score);
    else to.integer(options_.counts_changed ? added_ + updated_ : added_);
  }

  Task<bool> add() {
    const RowKey key = row_key(arguments_[1]);
    Entry entry;
    const auto insert = [&] {
      for (ScoreEdit &edit : edits_)
        edit.reply = &add_insert(elements(Elements::zsets),
                                 {Value::of(key.text), Value::of(edit.member), Value::of(keep_text(edit.text))},
                                 OnDuplicate::decide, &edit);
    };
    const auto counted = [&] { return count(entry); };
    co_return co_await add_elements(key, Type::zset, entry, Doing(insert), Doing(counted));
  }

  /// Skips missing members.
  Task<bool> change() {
    const RowKey key = row_key(arguments_[1]);
    Entry entry;
    for (ScoreEdit &edit : edits_) edit.pass_by();
    const auto edit_all = [&] {
      for (ScoreEdit &edit : edits_)
        add_edit(elements(Elements::zsets), {.key = values({Value::of(key.text), Value::of(edit.member)}), .limit = 1},
                 edit);
    };
    const auto counted = [&] { return count(entry); };
    const bool done = co_await change_elements(key, Type::zset, entry, Doing(edit_all), Doing(counted));
    if (!entry.live) {
      for (ScoreEdit &edit : edits_) edit.pass_by();  // they may have met members of an expired key
    }
    co_return done;
  }

  /// Whether the edits have changed anything.
  bool count(Entry &entry) {
    added_ = updated_ = 0;
    for (const ScoreEdit &edit : edits_) {
      if (edit.updated) ++updated_;
      else if (edit.reply != nullptr && edit.reply->changed == 1) ++added_;
    }
    entry.len += added_;
    return added_ + updated_ != 0;
  }

  const AddOptions options_;
  const std::vector<Pair> pairs_;
  std::deque<ScoreEdit> edits_;
  int64_t added_ = 0;
  int64_t updated_ = 0;
};

/// Which arguments are options. Returns the first that is none.
size_t read_add_options(Call &call, AddOptions &options) {
  size_t at = 2;
  for (; at < call.arguments.size(); ++at) {
    const Bytes word = call.arguments[at];
    if (is_word(word, "nx")) options.if_absent = true;
    else if (is_word(word, "xx")) options.if_there = true;
    else if (is_word(word, "gt")) options.if_greater = true;
    else if (is_word(word, "lt")) options.if_less = true;
    else if (is_word(word, "ch")) options.counts_changed = true;
    else if (is_word(word, "incr")) options.adds_to = true;
    else break;
  }
  return at;
}

// --- reading ---------------------------------------------------------------------------------------------------------

struct ScoreTell {
  static constexpr bool counted = false;

  void absent(Writer &writer) const { writer.nil(); }
  void begin(Writer &, uint64_t) const {}
  void row(Writer &writer, Row row) const { writer.number(score_in(row[column::score])); }
  void end(Writer &writer, uint64_t rows) const {
    if (rows == 0) writer.nil();
  }
};

struct ScoreOfMany {
  static void there(Writer &writer, Row row) { writer.number(score_in(row[column::score])); }
  static void absent(Writer &writer) { writer.nil(); }
};

/// ZRANK and ZREVRANK: how many are before the member.
class Rank final : public CollectionWork {
 public:
  Rank(Call &call, OpenMap &open, bool reverse) : CollectionWork(call, open), reverse_(reverse) {}

 private:
  Task<> run() override {
    const Entry entry = co_await look(row_key(arguments_[1]));
    if (is_wrong(entry, Type::zset)) co_return;
    std::string score;
    if (entry.live && arguments_[2].size() <= member_bytes_max) {
      const StepReply &found =
          add_read(elements(Elements::zsets), {.key = element_of(entry, arguments_[2]), .limit = 1});
      co_await go();
      if (!found.rows.empty()) score = found.rows[0][column::score].text;
    }
    if (score.empty()) {
      writer().nil();
      co_return;
    }
    Find find{.comparison = reverse_ ? Comparison::at_most : Comparison::at_least, .limit = all};
    find.key = key_of(entry);
    find.until = values({Value::of(entry.key), Value::of(score), Value::of(arguments_[2])});
    find.until_included = false;
    StepReply &before = add_read(elements(Elements::zsets_by_score), find);
    before.hears = [](Row, uint64_t) { return Flow::more; };
    co_await go();
    writer().integer(static_cast<int64_t>(before.met));
  }

  const bool reverse_;
};

Next tell_rank(Call &call, bool reverse) {
  return begin_reading<Rank>(
      call, call.arguments[1], [](Writer &writer) { writer.nil(); }, reverse);
}

}  // namespace

namespace lower {

Next zadd(Call &call) {
  AddOptions options;
  size_t at = read_add_options(call, options);
  const size_t rest = call.arguments.size() - at;
  if (rest == 0 || rest % 2 != 0) return refuse(call, syntax_error);
  if (options.if_absent && options.if_there)
    return refuse(call, "ERR XX and NX options at the same time are not compatible");
  if ((options.if_greater && options.if_less) || (options.if_absent && (options.if_greater || options.if_less)))
    return refuse(call, "ERR GT, LT, and/or NX options at the same time are not compatible");
  if (options.adds_to && rest > 2) return refuse(call, "ERR INCR option supports a single increment-element pair");
  std::vector<SortedSetAdd::Pair> pairs;
  for (; at < call.arguments.size(); at += 2) {
    double score = 0;
    if (!parse_double(call.arguments[at], score)) return refuse(call, not_a_float);
    pairs.push_back({score, call.arguments[at + 1]});
  }
  note_fed(call, call.arguments[1]);
  return begin_on<SortedSetAdd>(call, call.arguments[1], options, std::move(pairs));
}

Next zincrby(Call &call) {
  double by = 0;
  if (!parse_double(call.arguments[2], by)) return refuse(call, not_a_float);
  std::vector<SortedSetAdd::Pair> pairs{{by, call.arguments[3]}};
  note_fed(call, call.arguments[1]);
  return begin_on<SortedSetAdd>(call, call.arguments[1], AddOptions{.adds_to = true}, std::move(pairs));
}

Next zrem(Call &call) {
  return begin_on<RemoveMembers>(call, call.arguments[1], Type::zset);
}

Next zcard(Call &call) {
  return tell_length_of(call, Type::zset);
}

Next zscore(Call &call) {
  return read_member(call, Elements::zsets, Type::zset, ScoreTell{});
}

Next zmscore(Call &call) {
  return read_members<ScoreOfMany>(call, place_of(call, call.arguments[1]), Elements::zsets, Type::zset);
}

Next zrank(Call &call) {
  return tell_rank(call, false);
}

Next zrevrank(Call &call) {
  return tell_rank(call, true);
}

}  // namespace lower
}  // namespace postern::redis
