#include "engine/sql/plans/index_choice.h"

#include <algorithm>
#include <utility>

namespace postern::sql {
namespace {

using Index = TableIndexes::Index;

constexpr uint16_t no_condition = UINT16_MAX;

/// If an index reads no more rows than this, another one saves nothing.
constexpr double rows_few = 16;
/// An index that reads so many times fewer rows than another is better, though it leaves more to be sorted.
constexpr double times_fewer = 4;

/// A choice, and how good it is.
struct Candidate : IndexChoice {
  uint32_t score = 0;
  double rows = 0;  // that it reads, by the table's statistics; 0: they say nothing
};

/// A column by which a walk goes on, and whether its values go down then.
struct Step {
  uint16_t column = 0;
  bool down = false;
};

/// Refuses prefix parts and descending parts.
bool is_usable(const Index &index) {
  return index.is_plain &&
         std::ranges::none_of(index.parts, [](const auto &part) { return part.is_prefix || part.is_down; });
}

class Chooser {
 public:
  Chooser(const IndexedRead &read, const TableIndexes &table) : read_(read), table_(table) {}
  std::optional<NoIndex> choose(IndexChoice &choice) const;
  bool find_others(const IndexChoice &chosen, std::vector<IndexChoice> &others) const;
  bool may_contradict(const IndexChoice &chosen) const;

 private:
  bool try_index(uint32_t at, Candidate &candidate) const;
  void add_filters(IndexChoice &choice) const;
  void find_parts(const Index &index, Candidate &candidate) const;
  void end_at_list(Candidate &candidate) const;
  void find_range(const Index &index, Candidate &candidate) const;
  bool gives_order(const Index &index, Candidate &candidate) const;
  bool has_ties(const std::vector<uint16_t> &ordered) const;
  std::vector<Step> walk_order(const Index &index) const;

  uint32_t score_of(const Candidate &candidate) const;
  double rows_by(uint32_t at, const std::vector<uint16_t> &parts) const;
  static bool is_better(const Candidate &one, const Candidate &other);
  bool reads_far_more_than_another(const Candidate &candidate) const;
  bool locks_what_it_finds(const Candidate &candidate) const;
  bool equalities_may_contradict() const;
  bool has_plain_keys(const IndexChoice &choice) const;
  bool takes_all_of_its_parts(const IndexChoice &choice) const;
  bool covers(const Index &index) const;
  bool has_servers_order(const Candidate &candidate) const;
  bool has_rivals(const Candidate &candidate) const;

  uint16_t find_condition(uint16_t column, FormTest test, const std::vector<uint16_t> &taken) const;
  bool is_fixed(uint16_t column) const;
  bool has_rows() const {
    return std::ranges::any_of(read_.conditions, [](const auto &one) { return one.test == FormTest::tuple; });
  }
  bool has_all_rows(const Candidate &candidate) const;
  uint16_t condition_count() const { return static_cast<uint16_t>(read_.conditions.size()); }
  FormTest test(uint16_t at) const { return read_.conditions[at].test; }
  bool is_list(uint16_t at) const { return test(at) == FormTest::in || test(at) == FormTest::tuple; }
  bool has_list(const Candidate &candidate) const {
    return std::ranges::any_of(candidate.parts, [this](uint16_t at) { return is_list(at); });
  }
  bool is_clustered(uint32_t index) const { return index == table_.primary; }

  const IndexedRead &read_;
  const TableIndexes &table_;
};

std::optional<NoIndex> Chooser::choose(IndexChoice &choice) const {
  Candidate best;
  bool found = false;
  for (uint32_t at = 0; at < table_.indexes.size(); ++at) {
    Candidate candidate;
    if (!try_index(at, candidate) || (found && !is_better(candidate, best))) continue;
    best = std::move(candidate);
    found = true;
  }
  if (!found) return NoIndex::none_fits;
  if (reads_far_more_than_another(best)) return NoIndex::other_is_better;
  if (best.way == ReadWay::walk && table_.is_partitioned) return NoIndex::of_partitions;
  if (read_.locks && !locks_what_it_finds(best)) return NoIndex::locks_others;
  best.ordered = !read_.order.empty() || has_servers_order(best);
  add_filters(best);
  choice = std::move(best);
  return std::nullopt;
}

void Chooser::add_filters(IndexChoice &choice) const {
  const uint16_t conditions = condition_count();
  for (uint16_t at = 0; at < conditions; ++at) {
    if (std::ranges::find(choice.parts, at) == choice.parts.end() &&
        std::ranges::find(choice.range, at) == choice.range.end())
      choice.filters.push_back(at);
  }
}

uint16_t Chooser::find_condition(uint16_t column, FormTest wanted, const std::vector<uint16_t> &taken) const {
  const uint16_t conditions = condition_count();
  for (uint16_t at = 0; at < conditions; ++at) {
    if (read_.conditions[at].column == column && test(at) == wanted && std::ranges::find(taken, at) == taken.end())
      return at;
  }
  return no_condition;
}

void Chooser::find_parts(const Index &index, Candidate &candidate) const {
  bool has_list = false;
  for (const TableIndexes::Part &part : index.parts) {
    const uint16_t column = part.column;
    uint16_t at = find_condition(column, FormTest::equal, candidate.parts);
    if (at == no_condition) at = find_condition(column, FormTest::null, candidate.parts);
    if (at == no_condition && !has_list) {
      at = find_condition(column, FormTest::in, candidate.parts);
      has_list = at != no_condition;
    }
    if (at == no_condition) at = find_condition(column, FormTest::tuple, candidate.parts);
    if (at == no_condition) return;
    candidate.parts.push_back(at);
  }
}

void Chooser::find_range(const Index &index, Candidate &candidate) const {
  if (has_list(candidate) || candidate.parts.size() == index.parts.size()) return;
  const uint16_t column = index.parts[candidate.parts.size()].column;
  for (const auto &bounds : {std::pair{FormTest::at_least, FormTest::greater}, {FormTest::at_most, FormTest::less}}) {
    uint16_t at = find_condition(column, bounds.first, {});
    if (at == no_condition) at = find_condition(column, bounds.second, {});
    if (at != no_condition) candidate.range.push_back(at);
  }
  if (!candidate.range.empty()) return;
  if (const uint16_t at = find_condition(column, FormTest::like, {}); at != no_condition) candidate.range.push_back(at);
}

bool Chooser::is_fixed(uint16_t column) const {
  return find_condition(column, FormTest::equal, {}) != no_condition ||
         find_condition(column, FormTest::null, {}) != no_condition;
}

/// The columns by which a walk of the index is ordered: InnoDB appends the primary key's columns, in their directions,
/// except those that the index has already.
std::vector<Step> Chooser::walk_order(const Index &index) const {
  std::vector<Step> steps;
  const auto add_all = [&](const Index &from) {
    for (const TableIndexes::Part &part : from.parts) {
      if (std::ranges::find(steps, part.column, &Step::column) == steps.end())
        steps.push_back({part.column, part.is_down});
    }
  };
  add_all(index);
  if (table_.primary) {
    const Index &primary = table_.indexes[*table_.primary];
    if (std::ranges::none_of(primary.parts, &TableIndexes::Part::is_prefix)) add_all(primary);
  }
  return steps;
}

/// Whether the walk gives rows in the order of ORDER BY.
bool Chooser::gives_order(const Index &index, Candidate &candidate) const {
  if (candidate.way == ReadWay::one || read_.order.empty()) return true;
  const std::vector<Step> steps = walk_order(index);
  size_t at = 0;
  bool has_direction = false;
  std::vector<uint16_t> seen;
  for (const auto &[column, descending] : read_.order) {
    if (is_fixed(column) || std::ranges::find(seen, column) != seen.end()) continue;
    while (at < steps.size() && steps[at].column != column && is_fixed(steps[at].column)) ++at;
    const bool padded = std::ranges::find(table_.blank_padded, column) != table_.blank_padded.end();
    if (at == steps.size() || steps[at].column != column || padded) return false;
    const bool backwards = descending != steps[at].down;
    if (has_direction && candidate.backwards != backwards) return false;
    candidate.backwards = backwards;
    has_direction = true;
    seen.push_back(column);
    ++at;
  }
  candidate.ties = has_ties(seen);
  return true;
}

/// Rows cannot tie if the order has every column of a unique key that is not fixed.
bool Chooser::has_ties(const std::vector<uint16_t> &ordered) const {
  const auto is_ordered = [&](const TableIndexes::Part &part) {
    return is_fixed(part.column) || std::ranges::find(ordered, part.column) != ordered.end();
  };
  return std::ranges::none_of(table_.indexes, [&](const Index &index) {
    return index.is_unique && !index.may_be_null && std::ranges::all_of(index.parts, is_ordered);
  });
}

bool Chooser::try_index(uint32_t at, Candidate &candidate) const {
  const Index &index = table_.indexes[at];
  if (!is_usable(index) || !index.is_allowed) return false;
  candidate.index = at;
  find_parts(index, candidate);
  const auto by = [&](FormTest wanted) {
    return std::ranges::any_of(candidate.parts, [&](uint16_t one) { return test(one) == wanted; });
  };
  const bool whole = candidate.parts.size() == index.parts.size();
  if (has_rows() && (by(FormTest::in) || !has_all_rows(candidate))) return false;
  if (whole && index.is_unique && !by(FormTest::null)) {
    candidate.way = has_list(candidate) ? ReadWay::several : ReadWay::one;
  } else {
    candidate.way = ReadWay::walk;
    end_at_list(candidate);
    find_range(index, candidate);
    const bool along_order = !read_.order.empty() && read_.has_limit && read_.conditions.empty();
    if (candidate.parts.empty() && candidate.range.empty() && !along_order) return false;
  }
  if (!gives_order(index, candidate)) return false;
  candidate.score = score_of(candidate) + (candidate.way == ReadWay::walk && whole ? 20 : 0);
  candidate.rows = rows_by(at, candidate.parts);
  return true;
}

/// An IN list must be the last part of a walk: later parts would interleave with its values.
void Chooser::end_at_list(Candidate &candidate) const {
  const auto last =
      std::find_if(candidate.parts.rbegin(), candidate.parts.rend(), [this](uint16_t at) { return is_list(at); });
  if (last != candidate.parts.rend()) candidate.parts.erase(last.base(), candidate.parts.end());
}

uint32_t Chooser::score_of(const Candidate &candidate) const {
  const uint32_t clustered = is_clustered(candidate.index) ? 10 : 0;
  switch (candidate.way) {
    case ReadWay::one: return 3'000'000 + clustered;
    case ReadWay::several: return 2'000'000 + clustered;
    case ReadWay::walk: break;
  }
  return 1 + static_cast<uint32_t>(candidate.parts.size()) * 100 + (candidate.range.empty() ? 0 : 50) + clustered;
}

/// Whether every column of the row constructor is a part of the key.
bool Chooser::has_all_rows(const Candidate &candidate) const {
  const uint16_t conditions = condition_count();
  for (uint16_t at = 0; at < conditions; ++at)
    if (test(at) == FormTest::tuple && std::ranges::find(candidate.parts, at) == candidate.parts.end()) return false;
  return true;
}

/// Whether it reads, and so locks, only rows that the statement selects, by the server's index: the server unlocks some
/// of the others. A read that is left to the server after its second row, for its order, keeps the locks of these.
bool Chooser::locks_what_it_finds(const Candidate &candidate) const {
  if (equalities_may_contradict()) return false;
  if (candidate.way == ReadWay::one) return true;
  return !candidate.ties && !read_.exists && !read_.counts &&
         candidate.parts.size() + candidate.range.size() == read_.conditions.size() &&
         std::ranges::none_of(candidate.range, [this](uint16_t at) { return test(at) == FormTest::like; }) &&
         !has_rivals(candidate) && (!read_.order.empty() || has_servers_order(candidate));
}

/// Whether another condition is on a column that equals a value. For a SELECT the server puts the value there, and
/// finds what is never true before it locks the row.
bool Chooser::equalities_may_contradict() const {
  return std::ranges::any_of(read_.conditions, [this](const IndexedRead::Condition &one) {
    const bool equals = one.test == FormTest::equal || one.test == FormTest::null ||
                        ((one.test == FormTest::in || one.test == FormTest::tuple) && one.values == 1);
    return equals && std::ranges::count(read_.conditions, one.column, &IndexedRead::Condition::column) > 1;
  });
}

/// Two bounds that `chosen` walks between are known when their values are.
bool Chooser::may_contradict(const IndexChoice &chosen) const {
  const auto is_indexed = [this](uint16_t column) {
    return std::ranges::any_of(table_.indexes, [column](const Index &index) {
      return std::ranges::find(index.parts, column, &TableIndexes::Part::column) != index.parts.end();
    });
  };
  return std::ranges::any_of(read_.conditions, [&](const IndexedRead::Condition &one) {
    const auto times = std::ranges::count(read_.conditions, one.column, &IndexedRead::Condition::column);
    const auto bounds =
        std::ranges::count_if(chosen.range, [&](uint16_t at) { return read_.conditions[at].column == one.column; });
    return times > 1 && times != bounds && is_indexed(one.column);
  });
}

/// Whether no other condition is on the columns that it uses, or on the next one: the server would use it, too.
bool Chooser::takes_all_of_its_parts(const IndexChoice &choice) const {
  const Index &index = table_.indexes[choice.index];
  const size_t used = choice.parts.size() + choice.range.size();
  const size_t columns = std::min(choice.parts.size() + (choice.range.empty() ? 1 : 2), index.parts.size());
  const auto is_on_them = [&](const IndexedRead::Condition &one) {
    return std::any_of(index.parts.begin(), index.parts.begin() + static_cast<ptrdiff_t>(columns),
                       [&](const TableIndexes::Part &part) { return part.column == one.column; });
  };
  return static_cast<size_t>(std::ranges::count_if(read_.conditions, is_on_them)) == used;
}

/// Whether the parts that it uses are whole columns, or are prefixes of texts that it looks up, and go up.
bool Chooser::has_plain_keys(const IndexChoice &choice) const {
  const std::vector<TableIndexes::Part> &parts = table_.indexes[choice.index].parts;
  for (size_t i = 0; i < choice.parts.size(); ++i)
    if (parts[i].is_down || (parts[i].is_prefix && test(choice.parts[i]) != FormTest::equal)) return false;
  return choice.range.empty() || !(parts[choice.parts.size()].is_down || parts[choice.parts.size()].is_prefix);
}

bool Chooser::find_others(const IndexChoice &chosen, std::vector<IndexChoice> &others) const {
  if (!takes_all_of_its_parts(chosen)) return false;
  for (uint32_t at = 0; at < table_.indexes.size(); ++at) {
    const Index &index = table_.indexes[at];
    const auto is_first = [&](const IndexedRead::Condition &one) { return one.column == index.parts[0].column; };
    if (at == chosen.index || std::ranges::none_of(read_.conditions, is_first)) continue;
    // InnoDB appends the primary key to every other one, so the server may use a condition on it with each of them,
    // also where a hint does not allow the primary key itself.
    if (is_clustered(at)) return false;
    if (!index.is_plain || !index.is_allowed) continue;
    // A row costs less there, but no index finds less than one.
    if (is_clustered(chosen.index) && chosen.way != ReadWay::one) return false;
    Candidate other;
    other.way = ReadWay::walk;
    other.index = at;
    find_parts(index, other);
    end_at_list(other);
    find_range(index, other);
    // The appended primary key bounds it, too.
    const size_t used = other.parts.size() + (other.range.empty() ? 0 : 1);
    if (used == index.parts.size() && is_clustered(chosen.index)) return false;
    const bool by_pattern =
        std::ranges::any_of(other.range, [this](uint16_t one) { return test(one) == FormTest::like; });
    if (by_pattern || (other.parts.empty() && other.range.empty()) || !takes_all_of_its_parts(other) ||
        !has_plain_keys(other))
      return false;
    add_filters(other);
    others.push_back(std::move(other));
  }
  return true;
}

/// Rows that match the parts, by the table's statistics; 0: unknown.
double Chooser::rows_by(uint32_t at, const std::vector<uint16_t> &parts) const {
  const std::vector<double> &rows = table_.indexes[at].rows;
  if (parts.empty() || rows.size() < parts.size()) return 0;
  double lists = 1;
  for (const uint16_t one : parts)
    if (is_list(one)) lists = static_cast<double>(read_.conditions[one].values);
  return lists * rows[parts.size() - 1];
}

/// Compares by the statistics where they are clear, otherwise by how much of the key is known.
bool Chooser::is_better(const Candidate &one, const Candidate &other) {
  const bool walks = one.way == ReadWay::walk && other.way == ReadWay::walk;
  if (walks && one.rows > 0 && other.rows > 0) {
    if (one.rows * times_fewer < other.rows) return true;
    if (other.rows * times_fewer < one.rows) return false;
  }
  return one.score > other.score;
}

/// Whether the server, which can sort, would take another index because of that.
bool Chooser::reads_far_more_than_another(const Candidate &candidate) const {
  if (candidate.way != ReadWay::walk || candidate.rows < rows_few) return false;
  // With a LIMIT it ends after a few rows if all are selected.
  if (read_.has_limit && candidate.parts.size() + candidate.range.size() == read_.conditions.size()) return false;
  for (uint32_t at = 0; at < table_.indexes.size(); ++at) {
    if (at == candidate.index || !is_usable(table_.indexes[at])) continue;
    Candidate other;
    find_parts(table_.indexes[at], other);
    const double rows = rows_by(at, other.parts);
    if (rows > 0 && rows * times_fewer < candidate.rows) return true;
  }
  return false;
}

/// Whether an index that is not the clustered one has every column that is read: the server may walk that instead.
bool Chooser::covers(const Index &index) const {
  const std::vector<Step> steps = walk_order(index);
  const auto has = [&](uint16_t column) { return std::ranges::find(steps, column, &Step::column) != steps.end(); };
  return std::ranges::all_of(read_.columns, has) &&
         std::ranges::all_of(read_.conditions, has, &IndexedRead::Condition::column);
}

/// Without ORDER BY: whether every access that the server might choose gives the rows in this order.
bool Chooser::has_servers_order(const Candidate &candidate) const {
  if (candidate.way == ReadWay::one || read_.exists || (read_.counts && !read_.has_limit)) return true;
  // In the order of the primary key, as rows come from the table itself.
  const bool all_fixed = candidate.parts.size() == table_.indexes[candidate.index].parts.size() &&
                         candidate.range.empty() && !has_list(candidate);
  if ((!is_clustered(candidate.index) && !all_fixed) || table_.is_partitioned) return false;
  return !has_rivals(candidate);
}

/// Whether the server may read by another index than the clustered one.
bool Chooser::has_rivals(const Candidate &candidate) const {
  for (uint32_t at = 0; at < table_.indexes.size(); ++at) {
    if (at == candidate.index || is_clustered(at)) continue;
    const Index &other = table_.indexes[at];
    const auto is_first = [&](uint16_t column) { return column == other.parts[0].column; };
    if (covers(other) || std::ranges::any_of(read_.conditions, is_first, &IndexedRead::Condition::column)) return true;
  }
  return false;
}

}  // namespace

std::optional<NoIndex> choose_index(const IndexedRead &read, const TableIndexes &table, IndexChoice &choice) {
  return Chooser(read, table).choose(choice);
}

bool find_others(const IndexedRead &read, const TableIndexes &table, const IndexChoice &chosen,
                 std::vector<IndexChoice> &others) {
  return Chooser(read, table).find_others(chosen, others);
}

bool may_contradict(const IndexedRead &read, const TableIndexes &table, const IndexChoice &chosen) {
  return Chooser(read, table).may_contradict(chosen);
}

}  // namespace postern::sql
