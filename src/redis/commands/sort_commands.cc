// sort_commands.cc: SORT and SORT_RO.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "redis/collections/algebra.h"
#include "redis/commands/pattern_reads.h"
#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

struct Sorting {
  std::optional<Pattern> by{};
  bool sorts = true;  ///< false: BY names no key
  bool alpha = false;
  bool descends = false;
  int64_t offset = 0;
  int64_t count = -1;  ///< negative: all
  std::vector<Pattern> gets{};
  bool stores = false;
  Bytes target{};

  Places::Stretch range(uint64_t length) const {
    const uint64_t first = offset < 0 ? 0 : std::min(static_cast<uint64_t>(offset), length);
    return {first, count < 0 ? length - first : std::min(static_cast<uint64_t>(count), length - first)};
  }
};

struct Item {
  std::string text{};
  Cell by{};
  double weight = 0;
};

/// Parses a weight as Redis does, like a C string: leading blanks are skipped, and the empty text is 0. False: no
/// number.
bool read_weight(const std::string &text, double &weight) {
  char *end = nullptr;
  errno = 0;
  weight = std::strtod(text.c_str(), &end);
  return *end == '\0' && errno != ERANGE && !std::isnan(weight);
}

class SortWork final : public PatternWork {
 public:
  SortWork(Call &call, OpenMap &open, Sorting sorting, const Source &source)
      : PatternWork(call, open, sorting.stores), sorting_(std::move(sorting)), source_(source), target_open_(open) {}

 private:
  Task<> run() override {
    begin_looking();
    failed_ = false;
    Entry source;
    Entry target;
    co_await find_keys(source, target);
    if (source.live && source.type != Type::list && source.type != Type::set && source.type != Type::zset) {
      writer().error(wrong_type);
      co_return;
    }
    std::vector<Item> items;
    if (source.live) co_await read_sorted(source, items);
    if (failed_) {
      writer().error("ERR One or more scores can't be converted into double");
      co_return;
    }
    std::vector<Cell> told;
    co_await choose(items, told);
    if (sorting_.stores) co_await store(target, told);
    else tell(told);
  }

  /// If the result is stored both keys are locked, in a global order.
  Task<> find_keys(Entry &source, Entry &target) {
    if (!sorting_.stores) {
      if (source_.open != nullptr) source = co_await look(row_key(source_.key));
      co_return;
    }
    const auto lock_source = [this]() -> Task<Entry> {
      use(*source_.open);
      co_return co_await lock(row_key(source_.key));
    };
    if (source_.open != nullptr && source_.key < sorting_.target) source = co_await lock_source();
    use(target_open_);
    target = co_await lock(row_key(sorting_.target));
    if (source_.open != nullptr && sorting_.target < source_.key) source = co_await lock_source();
    if (source_.key == sorting_.target) source = target;
  }

  /// The elements that are wanted, in their order.
  Task<> read_sorted(const Entry &source, std::vector<Item> &items) {
    use(*source_.open);
    alpha_ = sorting_.alpha;
    // A stored result is sorted even if no order was requested.
    const bool by_itself = !sorting_.sorts && source.type == Type::set && sorting_.stores;
    const bool sorts = sorting_.sorts || by_itself;
    if (by_itself) alpha_ = true;
    const Places::Stretch range = sorting_.range(static_cast<uint64_t>(source.len));
    const bool ordered = !sorts && source.type != Type::set;
    if (ordered && range.count == 0) co_return;
    co_await read_elements(source, ordered ? &range : nullptr, items);
    if (ordered) co_return;
    if (sorts) co_await sort(items, by_itself || !sorting_.by ? nullptr : &*sorting_.by);
    const Places::Stretch wanted = sorting_.range(items.size());
    items.erase(items.begin() + static_cast<ptrdiff_t>(wanted.offset + wanted.count), items.end());
    items.erase(items.begin(), items.begin() + static_cast<ptrdiff_t>(wanted.offset));
  }

  /// All elements, or a stretch of them in the order of the list or sorted set, or from its end.
  Task<> read_elements(const Entry &source, const Places::Stretch *stretch, std::vector<Item> &items) {
    const bool back = stretch != nullptr && sorting_.descends;
    Find find{.key = key_of(source), .limit = all};
    OpenTable *table = elements_of(source.type);
    if (stretch != nullptr && source.type == Type::list) {
      const uint64_t behind = static_cast<uint64_t>(source.len) - stretch->offset - stretch->count;
      find = this->stretch(source, {back ? behind : stretch->offset, stretch->count}, back);
    } else if (stretch != nullptr) {
      table = &elements(Elements::zsets_by_score);
      find.comparison = back ? Comparison::at_most : Comparison::at_least;
      find.until = find.key;
      find.offset = stretch->offset;
      find.limit = stretch->count;
    }
    StepReply &found = add_looking(*table, find);
    const uint32_t column = source.type == Type::list ? column::value : column::member;
    found.hears = [&items, column, bytes = size_t{0}](Row row, uint64_t before) mutable {
      if (before == 0) {
        items.clear();
        bytes = 0;
      }
      char room[20];
      items.push_back({std::string(text_of(row[column], room))});
      bytes += sizeof(Item) + items.back().text.size();
      return bytes <= limits::edit_reply_bytes_max ? Flow::more : Flow::pause;
    };
    co_await go();
  }

  static std::vector<Bytes> texts_of(const std::vector<Item> &items) {
    std::vector<Bytes> texts;
    texts.reserve(items.size());
    for (const Item &item : items) texts.push_back(item.text);
    return texts;
  }

  Task<> sort(std::vector<Item> &items, const Pattern *by) {
    std::vector<Cell> values;
    if (by != nullptr) {
      const std::vector<Bytes> texts = texts_of(items);
      co_await look_up(*by, texts, values);
    }
    for (size_t i = 0; i < items.size(); ++i) {
      Item &item = items[i];
      if (by != nullptr) item.by = std::move(values[i]);
      if (alpha_ || (by != nullptr && item.by.null)) continue;
      if (!read_weight(by != nullptr ? item.by.text : item.text, item.weight)) failed_ = true;
    }
    const bool by_texts = alpha_ && by != nullptr;
    const auto less = [this, by_texts](const Item &one, const Item &other) {
      if (by_texts) return one.by.null || other.by.null ? one.by.null && !other.by.null : one.by.text < other.by.text;
      if (!alpha_ && one.weight != other.weight) return one.weight < other.weight;
      return one.text < other.text;
    };
    std::stable_sort(items.begin(), items.end(), [this, less](const Item &one, const Item &other) {
      return sorting_.descends ? less(other, one) : less(one, other);
    });
  }

  /// The answer for the elements.
  Task<> choose(const std::vector<Item> &items, std::vector<Cell> &told) {
    const std::vector<Bytes> texts = texts_of(items);
    const size_t columns = std::max<size_t>(sorting_.gets.size(), 1);
    told.resize(items.size() * columns);
    if (sorting_.gets.empty())
      for (size_t i = 0; i < items.size(); ++i) told[i] = {false, items[i].text};
    for (size_t column = 0; column < sorting_.gets.size(); ++column) {
      std::vector<Cell> values;
      co_await look_up(sorting_.gets[column], texts, values);
      for (size_t i = 0; i < values.size(); ++i) told[i * columns + column] = std::move(values[i]);
    }
  }

  void tell(const std::vector<Cell> &told) {
    Writer to = writer();
    to.array(told.size());
    for (const Cell &cell : told) cell.null ? to.nil() : to.bulk(cell.text);
  }

  Task<> store(const Entry &target, const std::vector<Cell> &told) {
    constexpr size_t stored_at_once = 1'000;
    use(target_open_);
    if (target.live) co_await clear(target);
    if (!told.empty()) {
      Entry list = co_await make(row_key(sorting_.target), Type::list);
      for (size_t at = 0; at < told.size(); at += stored_at_once) {
        std::vector<Bytes> texts;
        for (size_t i = at; i < std::min(at + stored_at_once, told.size()); ++i) texts.push_back(told[i].text);
        co_await push(list, texts, false);
      }
      co_await PatternWork::store(list);
    }
    writer().integer(static_cast<int64_t>(told.size()));
  }

  const Sorting sorting_;
  const Source source_;
  OpenMap &target_open_;
  bool alpha_ = false;
  bool failed_ = false;  // a weight is no number
};

/// The options after the key. Returns false after answering an error.
bool read_sorting(Call &call, bool may_store, Sorting &sorting) {
  const std::span<const Bytes> arguments = call.arguments;
  for (size_t i = 2; i < arguments.size(); ++i) {
    const size_t left = arguments.size() - i - 1;
    if (is_word(arguments[i], "asc")) {
      sorting.descends = false;
    } else if (is_word(arguments[i], "desc")) {
      sorting.descends = true;
    } else if (is_word(arguments[i], "alpha")) {
      sorting.alpha = true;
    } else if (is_word(arguments[i], "limit") && left >= 2) {
      if (!parse_integer(arguments[i + 1], sorting.offset) || !parse_integer(arguments[i + 2], sorting.count)) {
        refuse(call, not_an_integer);
        return false;
      }
      i += 2;
    } else if (may_store && is_word(arguments[i], "store") && left >= 1) {
      sorting.stores = true;
      sorting.target = arguments[++i];
    } else if (is_word(arguments[i], "by") && left >= 1) {
      sorting.by.emplace(arguments[++i]);
      sorting.sorts = sorting.sorts && sorting.by->names == Pattern::Names::key;
    } else if (is_word(arguments[i], "get") && left >= 1) {
      sorting.gets.emplace_back(arguments[++i]);
    } else {
      refuse(call, syntax_error);
      return false;
    }
  }
  return true;
}

bool open_patterns(Call &call, const Sorting &sorting) {
  if (sorting.sorts && sorting.by && !open_for(call, *sorting.by)) return false;
  return std::all_of(sorting.gets.begin(), sorting.gets.end(),
                     [&](const Pattern &pattern) { return open_for(call, pattern); });
}

Next sort_key(Call &call, bool may_store) {
  Sorting sorting;
  if (!read_sorting(call, may_store, sorting) || !open_patterns(call, sorting)) return Next::go_on;
  const Bytes key = call.arguments[1];
  if (!sorting.stores) {
    const Place place = place_of(call, key);
    return begin_reading<SortWork>(
        call, place, [](Writer &writer) { writer.array(0); }, std::move(sorting), Source{place.open, key});
  }
  std::vector<Source> sources;
  OpenMap *open = nullptr;
  OpenMap *const target = open_for_work(call, sorting.target);
  if (target == nullptr || !add_sources(call, {&key, 1}, sources, open)) return Next::go_on;
  note_fed(call, sorting.target);
  return begin_work(call, tables_of(call).keep<SortWork>(call, *target, std::move(sorting), sources.front()));
}

}  // namespace

namespace lower {

Next sort(Call &call) {
  return sort_key(call, true);
}

Next sort_ro(Call &call) {
  return sort_key(call, false);
}

}  // namespace lower
}  // namespace postern::redis
