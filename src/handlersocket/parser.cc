#include "handlersocket/parser.h"

#include "base/limits.h"
#include "handlersocket/names.h"

namespace postern::handlersocket {
namespace {

enum class Operator : uint8_t { unknown, find, insert, reserved };

/// The meaning of the operator token, noted in the request.
Operator operator_of(Bytes token, Comparison &comparison, OnDuplicate &on_duplicate) {
  if (token.size() == 1) {
    switch (token[0]) {
      case '=': comparison = Comparison::equal; return Operator::find;
      case '>': comparison = Comparison::greater; return Operator::find;
      case '<': comparison = Comparison::less; return Operator::find;
      case '+': on_duplicate = OnDuplicate::fail; return Operator::insert;
      case 'I': on_duplicate = OnDuplicate::ignore; return Operator::insert;
      case 'U': on_duplicate = OnDuplicate::update; return Operator::insert;
      case 'S': return Operator::reserved;
    }
    return Operator::unknown;
  }
  if (token == ">=") {
    comparison = Comparison::at_least;
    return Operator::find;
  }
  if (token == "<=") {
    comparison = Comparison::at_most;
    return Operator::find;
  }
  return Operator::unknown;
}

Comparison filter_comparison_of(Bytes token) {
  if (token == "!=") return Comparison::unequal;
  Comparison comparison = Comparison::never;
  OnDuplicate ignored;
  (void)operator_of(token, comparison, ignored);
  return comparison;
}

/// U, D, + and -, each with or without `?` after it.
Modification modification_of(Bytes token, bool &rows_wanted) {
  rows_wanted = token.size() == 2 && token[1] == '?';
  if (rows_wanted) token.remove_suffix(1);
  if (token == "U") return Modification::update;
  if (token == "D") return Modification::erase;
  if (token == "+") return Modification::increment;
  if (token == "-") return Modification::decrement;
  return Modification::none;
}

/// Reads the values that `size` announces. Values after the first `kept` are skipped: a key is refused for that later,
/// and a row's surplus values are ignored.
Failure read_values(Tokens &tokens, uint64_t size, uint64_t kept, Arena &arena, std::span<const Value> &values,
                    bool &complete) {
  // The line bounds how many there can be, whatever it announces.
  const uint64_t count = std::min(size, kept);
  const uint64_t there = count > limits::key_parts_max ? std::min<uint64_t>(count, tokens.left()) : count;
  const std::span<Value> read = arena.array<Value>(there);
  for (Value &value : read) {
    complete = complete && tokens.more();
    if (!tokens.take_value(value)) return Failure::syntax;
  }
  complete = complete && there == count && tokens.skip(size - count);
  values = read;
  return Failure::none;
}

Reason read_in_list(Tokens &tokens, uint32_t values_max, Arena &arena, Find &find) {
  const uint64_t part = tokens.take_natural();
  const uint64_t size = tokens.take_natural();
  if (size == 0) return Refusal::empty_in_list;
  if (size > values_max) return Refusal::too_many_key_values;
  const std::span<Value> values = arena.array<Value>(size);
  // Values that are announced but missing are empty strings, as in the original.
  for (Value &value : values) {
    if (!tokens.take_value(value)) return Failure::syntax;
  }
  find.in_list = values;
  find.in_part = static_cast<uint32_t>(std::min<uint64_t>(part, limits::key_parts_max));
  return Failure::none;
}

/// Reads filters from `type` on, and leaves in it the first token that begins none.
Reason read_filters(Tokens &tokens, const Rules &rules, Arena &arena, Find &find, Bytes &type) {
  std::span<Filter> filters;
  size_t count = 0;
  for (; type == "F" || type == "W"; type = tokens.take()) {
    if (count == limits::filters_max) return Refusal::too_many_filters;
    // A filter is three more tokens and the type of the next one, so the line bounds how many there can be.
    if (count == 0) filters = arena.array<Filter>(std::min<size_t>(tokens.left() / 4 + 1, limits::filters_max));
    Filter &filter = filters[count++];
    filter.miss = type == "F" ? Filter::Miss::skip : Filter::Miss::stop;
    filter.comparison = filter_comparison_of(tokens.take());
    const uint64_t column = tokens.take_natural();
    if (!tokens.take_value(filter.value)) return Failure::syntax;
    if (column >= rules.filter_columns) return Failure::no_filter_column;
    filter.column = static_cast<uint32_t>(column);
  }
  find.filters = filters.first(count);
  return Failure::none;
}

}  // namespace

Command command_of(Bytes first_token) {
  if (first_token.empty()) return Command::unknown;
  if (first_token[0] >= '0' && first_token[0] <= '9') return Command::index;
  if (first_token == "P") return Command::open;
  if (first_token == "A") return Command::authenticate;
  return Command::unknown;
}

Reason parse_open(Tokens &tokens, Arena &arena, OpenRequest &request) {
  request.id = tokens.take_natural();
  TableSpec &spec = request.spec;
  spec.database = tokens.take();
  spec.table = tokens.take();
  spec.index = tokens.take();
  if (spec.index.empty()) spec.index = "PRIMARY";
  spec.index_position = index_position(spec.index);
  const Bytes columns = tokens.take();
  const Bytes filter_columns = tokens.take();
  if (request.id >= index_ids) return Failure::not_open;
  if (spec.database.empty() || spec.database.size() > limits::name_bytes_max) return Failure::no_table;
  if (spec.table.empty() || spec.table.size() > limits::name_bytes_max) return Failure::no_table;
  if (spec.index.size() > limits::name_bytes_max) return Failure::no_index;
  if (count_names(columns) > limits::columns_max) return Refusal::too_many_columns;
  if (count_names(filter_columns) > limits::columns_max) return Refusal::too_many_columns;
  spec.columns = parse_names(columns, arena);
  spec.filter_columns = parse_names(filter_columns, arena);
  return Failure::none;
}

AuthenticateRequest parse_authenticate(Tokens &tokens) {
  AuthenticateRequest request;
  request.type = tokens.take();
  request.key = tokens.take();
  return request;
}

Failure parse_login(Tokens &tokens, Login &login) {
  Value user;
  Value password;
  if (!tokens.take_value(user) || !tokens.take_value(password)) return Failure::unauthorized;
  if (!user.is_null()) login.user = user.bytes();
  if (!password.is_null()) login.password = password.bytes();
  return Failure::none;
}

Reason parse_index_request(Tokens &tokens, const Rules &rules, Arena &arena, IndexRequest &request) {
  Find &find = request.find;
  const Operator operation = operator_of(tokens.take(), find.comparison, request.on_duplicate);
  const bool inserts = operation == Operator::insert;
  const uint64_t size = tokens.take_natural();

  bool complete = true;
  std::span<const Value> values;
  // A key with too many values is refused later, after the rest of the line is parsed.
  const uint64_t kept = inserts ? limits::columns_max : size > limits::key_parts_max ? 0 : size;
  Reason reason = read_values(tokens, size, kept, arena, values, complete);
  if (!reason.is_none()) return reason;
  (inserts ? request.values : find.key) = values;
  Bytes option;
  if (tokens.more()) {
    find.limit = std::max<uint64_t>(tokens.take_natural(), 1);
    find.offset = tokens.take_natural();
    option = tokens.take();
    if (option == "@") {
      reason = read_in_list(tokens, rules.key_values_max, arena, find);
      if (!reason.is_none()) return reason;
      option = tokens.take();
    }
    reason = read_filters(tokens, rules, arena, find, option);
    if (!reason.is_none()) return reason;
  }

  if (operation == Operator::unknown) return Refusal::unknown_operator;
  if (size == 0) return Failure::no_key_values;
  if (operation == Operator::reserved) return Failure::not_implemented;
  if (inserts) {
    if (rules.access == Access::read) return Failure::read_only_door;
    request.verb = Verb::insert;
    return complete ? Failure::none : Failure::syntax;
  }
  if (!option.empty()) {
    if (rules.access == Access::read) return Failure::read_only_door;
    request.verb = Verb::edit;
    request.modification = modification_of(option, request.rows_wanted);
    if (request.modification == Modification::none) return Refusal::unknown_modification;
  }
  if (size > limits::key_parts_max) return Failure::too_many_key_parts;
  if (!complete) return Failure::syntax;
  if (!find.in_list.empty() && find.in_part >= size) return Failure::too_many_key_parts;
  if (request.verb == Verb::find) return Failure::none;
  bool any = true;
  const uint64_t given = tokens.left();
  return read_values(tokens, given, limits::columns_max, arena, request.values, any);
}

}  // namespace postern::handlersocket
