#include "redis/scripts/function_rows.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "redis/errors.h"
#include "redis/lua/library_text.h"
#include "redis/session.h"

namespace postern::redis {
namespace {

constexpr Bytes function_columns[] = {"library", "code"};
constexpr uint64_t libraries_max = 1'000;
constexpr int64_t load_ms = 500;
constexpr uint64_t load_slice_instructions = 1'000'000;

/// A broken library is kept, so that it is not loaded again each second.
LibraryRef broken_library(const FunctionRows::Stored &row, std::string problem) {
  log::error("redis: the library '%s' of postern.redis_functions cannot be used: %s", row.library.c_str(),
             problem.c_str());
  auto library = std::make_shared<Library>();
  library->name = row.library;
  library->code = row.code;
  library->problem = std::move(problem);
  return library;
}

LibraryRef library_of(const FunctionRows::Stored &row, Scripts &scripts, lua::Interpreter &interpreter) {
  std::string wrong;
  LibraryRef library = load_library(scripts, interpreter, row.code, wrong);
  if (library == nullptr) return broken_library(row, std::move(wrong));
  if (library->name != row.library) return broken_library(row, "its code has another name");
  return library;
}

}  // namespace

Flow FunctionRows::Heard::row(Row row) {
  bytes += row[1].bytes().size();
  if (bytes <= Functions::bytes_max)
    stored.push_back({std::string(row[0].bytes()), std::string(row[1].is_null() ? Bytes{} : row[1].bytes())});
  return Flow::more;
}

void FunctionRows::Heard::done(const Outcome &what) {
  message = what.message;
  outcome = what;
  outcome.message = message;
}

void FunctionRows::Heard::restart() {
  stored.clear();
  bytes = 0;
  outcome = {};
}

Op &FunctionRows::next(Verb verb) {
  heard_.restart();
  op_ = {};
  op_.verb = verb;
  op_.slot = &slot_;
  op_.reply = &heard_;
  return op_;
}

std::span<Op> FunctionRows::open(Way way) {
  spec_ = {.database = "postern",
           .table = "redis_functions",
           .index = "PRIMARY",
           .columns = function_columns,
           .key_columns = 1};
  Op &op = next(Verb::open);
  op.internal = way == Way::reads;
  op.spec = &spec_;
  return {&op, 1};
}

std::span<Op> FunctionRows::read(Way way) {
  find_ = {.comparison = Comparison::at_least, .limit = libraries_max};
  Op &op = next(way == Way::reads ? Verb::find : Verb::lock);
  op.internal = way == Way::reads;
  op.find = &find_;
  return {&op, 1};
}

std::span<Op> FunctionRows::write(const Library &library) {
  values_ = {Value::of(library.name), Value::of(library.code)};
  insert_ = {.values = values_, .on_duplicate = OnDuplicate::update};
  Op &op = next(Verb::insert);
  op.insert = &insert_;
  return {&op, 1};
}

std::span<Op> FunctionRows::erase(Bytes library) {
  erase_all();
  values_[0] = Value::of(library);
  edit_.find.comparison = Comparison::equal;
  edit_.find.key = std::span(values_).first(1);
  return {&op_, 1};
}

std::span<Op> FunctionRows::erase_all() {
  edit_ = {.find = {.comparison = Comparison::at_least, .limit = UINT64_MAX}, .edit = &erase_, .erases = true};
  Op &op = next(Verb::edit);
  op.edit = &edit_;
  return {&op, 1};
}

void FunctionRows::tell_failure(Writer &writer) const {
  if (heard_.outcome.failure == Failure::no_table)
    return writer.error("ERR there is no table postern.redis_functions: an administrator has to run redis.sql again");
  write_failure(writer, heard_.outcome);
}

LibraryRef load_library(Scripts &scripts, lua::Interpreter &interpreter, Bytes code, std::string &wrong) {
  if (code.size() > Functions::code_bytes_max) return wrong = "ERR the library is too long", nullptr;
  LibraryText text;
  wrong = read_library_text(code, text);
  if (!wrong.empty()) return nullptr;
  auto library = std::make_shared<Library>();
  library->number = scripts.next_number();
  library->name = std::move(text.name);
  library->code = code;
  library->body = code.size() - text.body.size();
  std::vector<lua::RegisteredFunction> functions;
  interpreter.begin_load({library->number, library->text(), library->name, true}, functions);
  const int64_t until_ms = clock_ms() + load_ms;
  for (;;) {
    interpreter.pause_after(load_slice_instructions);
    if (interpreter.go_on() == lua::Interpreter::Stopped::ended) break;
    if (clock_ms() < until_ms) continue;
    interpreter.abandon();
    return wrong = "ERR Error registering functions: ERR FUNCTION LOAD timeout", nullptr;
  }
  if (interpreter.raised()) return wrong = interpreter.error(), nullptr;
  if (functions.empty()) return wrong = "ERR No functions registered", nullptr;
  for (lua::RegisteredFunction &one : functions) {
    auto function = std::make_unique<Function>();
    function->name = std::move(one.name);
    function->description = std::move(one.description);
    function->flags = one.flags;
    function->library = library.get();
    library->functions.push_back(std::move(function));
  }
  return library;
}

Task<FunctionStateRef> read_functions(Conductor &conductor, FunctionRows &rows, FunctionRows::Way way) {
  using What = Script::Step::What;
  Redis &protocol = conductor.session().protocol();
  const FunctionStateRef old = protocol.functions().state();
  const uint64_t reading = protocol.functions().begin_reading();
  const int64_t now_ms = clock_ms();
  co_await conductor.step({.what = What::run, .ops = rows.open(way)});
  const bool absent = way == FunctionRows::Way::reads && rows.failure() == Failure::no_table;
  if (rows.opened()) co_await conductor.step({.what = What::run, .ops = rows.read(way)});
  if (rows.failure() != Failure::none && !absent) co_return nullptr;
  std::vector<LibraryRef> libraries;
  std::vector<const FunctionRows::Stored *> fresh;
  for (const FunctionRows::Stored &row : rows.stored()) {
    LibraryRef known = old->library(row.library);
    if (known == nullptr || known->code != row.code) fresh.push_back(&row);
    else libraries.push_back(std::move(known));
  }
  FunctionStateRef state = old;
  if (!fresh.empty()) {
    co_await conductor.leave_turn();
    std::unique_ptr<lua::Interpreter> interpreter =
        protocol.scripts().take_interpreter(protocol.settings().script_bytes_max);
    if (interpreter == nullptr) throw std::bad_alloc();
    for (const FunctionRows::Stored *const row : fresh)
      libraries.push_back(library_of(*row, protocol.scripts(), *interpreter));
    protocol.scripts().give_back(std::move(interpreter));
  }
  if (!fresh.empty() || libraries.size() != old->libraries().size()) {
    std::sort(libraries.begin(), libraries.end(),
              [](const LibraryRef &left, const LibraryRef &right) { return left->name < right->name; });
    state = std::make_shared<FunctionState>(std::move(libraries));
  }
  protocol.functions().offer(state, reading, now_ms);
  co_return state;
}

Task<FunctionStateRef> recent_functions(Conductor &conductor, FunctionRows &rows) {
  Functions &functions = conductor.session().protocol().functions();
  if (functions.fresh(clock_ms())) co_return functions.state();
  FunctionStateRef state = co_await read_functions(conductor, rows, FunctionRows::Way::reads);
  co_return state;
}

}  // namespace postern::redis
