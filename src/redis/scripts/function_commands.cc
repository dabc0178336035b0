// function_commands.cc: FUNCTION, FCALL, FCALL_RO.
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "redis/lua/function_library.h"
#include "redis/lua/library_text.h"
#include "redis/registry/handlers.h"
#include "redis/scripts/function_rows.h"
#include "redis/scripts/function_run.h"
#include "redis/session.h"
#include "redis/wire/glob.h"
#include "redis/wire/numbers.h"
#include "redis/wire/rdb.h"

namespace postern::redis {
namespace {

Next call_function(Call &call, bool reads_only) {
  const std::span<const Bytes> rest = call.arguments.subspan(3);
  int64_t keys = 0;
  Bytes wrong;
  if (!parse_integer(call.arguments[2], keys)) wrong = "ERR Bad number of keys provided";
  else if (keys > static_cast<int64_t>(rest.size())) wrong = "ERR Number of keys can't be greater than number of args";
  else if (keys < 0) wrong = "ERR Number of keys can't be negative";
  const size_t count = wrong.empty() ? static_cast<size_t>(keys) : 0;
  FunctionRun &run = call.session.tables().keep<FunctionRun>(call,
                                                             ScriptRequest{
                                                                 .script = call.arguments[1],
                                                                 .reads_only = reads_only,
                                                                 .keys = rest.first(count),
                                                                 .arguments = rest.subspan(count),
                                                             },
                                                             wrong);
  return begin_script<Conductor>(call, run);
}

/// A command on all libraries.
class LibraryCommand : public Conductor {
 public:
  explicit LibraryCommand(Call &call) : Conductor(call) {}

 protected:
  Writer writer() { return {answer(), resp()}; }
  void refuse(Bytes text, Bytes rest = {}) {
    writer().error(text, rest);
    undo_all();
  }
  /// Returns false after answering a step's failure.
  bool is_well(bool well, const FunctionRows &rows) {
    if (well) return true;
    Writer to = writer();
    rows.tell_failure(to);
    undo_all();
    return false;
  }
};

class LibraryReader : public LibraryCommand {
 public:
  using LibraryCommand::LibraryCommand;

  bool suits_turn() const override { return true; }
  bool reads_only() const override { return true; }

 protected:
  virtual void tell(const FunctionState &state) = 0;

 private:
  Task<> run() final {
    set_reads_only(true);
    FunctionRows rows;
    const FunctionStateRef state = co_await recent_functions(*this, rows);
    if (is_well(state != nullptr, rows)) tell(*state);
  }
};

void tell_flags(Writer &writer, uint32_t flags) {
  std::vector<Bytes> names;
  for (size_t i = 0; i < std::size(lua::function_flags); ++i)
    if ((flags & (1U << i)) != 0) names.push_back(lua::function_flags[i]);
  writer.set(names.size());
  for (const Bytes name : names) writer.status(name);
}

class List final : public LibraryReader {
 public:
  List(Call &call, std::optional<Bytes> pattern, bool with_code)
      : LibraryReader(call), pattern_(pattern), with_code_(with_code) {}

 private:
  void tell(const FunctionState &state) override {
    std::vector<const Library *> wanted;
    for (const LibraryRef &library : state.libraries())
      if (library->problem.empty() && (!pattern_ || glob_matches(*pattern_, library->name, true)))
        wanted.push_back(library.get());
    writer().array(wanted.size());
    for (const Library *const library : wanted) tell_library(*library);
  }

  void tell_library(const Library &library) {
    Writer to = writer();
    to.map(with_code_ ? 4 : 3);
    to.bulk("library_name");
    to.bulk(library.name);
    to.bulk("engine");
    to.bulk("LUA");
    to.bulk("functions");
    to.array(library.functions.size());
    for (const auto &function : library.functions) {
      to.map(3);
      to.bulk("name");
      to.bulk(function->name);
      to.bulk("description");
      if (function->description) to.bulk(*function->description);
      else to.nil();
      to.bulk("flags");
      tell_flags(to, function->flags);
    }
    if (!with_code_) return;
    to.bulk("library_code");
    to.bulk(library.code);
  }

  const std::optional<Bytes> pattern_;
  const bool with_code_;
};

class Stats final : public LibraryReader {
 public:
  using LibraryReader::LibraryReader;

 private:
  void tell(const FunctionState &state) override {
    Writer to = writer();
    to.map(2);
    to.bulk("running_script");
    if (const auto running = session().protocol().scripts().running_function(session().client().user())) {
      to.map(3);
      to.bulk("name");
      to.bulk(running->name);
      to.bulk("command");
      to.array(running->command.size());
      for (const std::string &argument : running->command) to.bulk(argument);
      to.bulk("duration_ms");
      to.integer(clock_ms() - running->since_ms);
    } else {
      to.nil();
    }
    to.bulk("engines");
    to.map(1);
    to.bulk("LUA");
    to.map(2);
    to.bulk("libraries_count");
    to.integer(static_cast<int64_t>(state.libraries().size()));
    to.bulk("functions_count");
    to.integer(static_cast<int64_t>(state.functions()));
  }
};

class Dump final : public LibraryReader {
 public:
  using LibraryReader::LibraryReader;

 private:
  void tell(const FunctionState &state) override {
    std::string payload;
    for (const LibraryRef &library : state.libraries()) {
      if (!library->problem.empty()) continue;
      payload += static_cast<char>(rdb::function_opcode);
      rdb::put_string(payload, library->code);
    }
    rdb::put_footer(payload);
    writer().bulk(payload);
  }
};

/// Works alone: it runs the text of libraries.
class LibraryChange : public LibraryCommand {
 public:
  using LibraryCommand::LibraryCommand;

 protected:
  virtual Task<> change(FunctionRows &rows, const FunctionState &state) = 0;

  LibraryRef load(Bytes code, std::string &wrong) {
    Scripts &scripts = session().protocol().scripts();
    auto interpreter = scripts.take_interpreter(session().protocol().settings().script_bytes_max);
    if (interpreter == nullptr) return wrong = "OOM there is no memory for another script", nullptr;
    LibraryRef library = load_library(scripts, *interpreter, code, wrong);
    scripts.give_back(std::move(interpreter));
    return library;
  }
  bool lasted(const FunctionRows &rows) { return is_well(rows.failure() == Failure::none, rows); }

 private:
  Task<> run() final {
    co_await leave_turn();
    change_.emplace(session().protocol().functions());
    FunctionRows rows;
    const FunctionStateRef state = co_await read_functions(*this, rows, FunctionRows::Way::changes);
    if (is_well(state != nullptr, rows)) co_await change(rows, *state);
  }

  // Until its batch is settled.
  std::optional<Functions::Change> change_;
};

class LoadLibrary final : public LibraryChange {
 public:
  LoadLibrary(Call &call, Bytes code, bool replaces) : LibraryChange(call), code_(code), replaces_(replaces) {}

 private:
  Task<> change(FunctionRows &rows, const FunctionState &state) override {
    std::string wrong;
    if (LibraryText text; read_library_text(code_, text).empty() && !replaces_ && state.library(text.name) != nullptr)
      wrong = "ERR Library '" + text.name + "' already exists";
    const LibraryRef library = wrong.empty() ? load(code_, wrong) : nullptr;
    if (library == nullptr) co_return refuse(wrong);
    if (const Function *const other = state.collision(*library)) {
      // As its own library spells it.
      for (const auto &function : library->functions)
        if (state.find(function->name) == other) co_return refuse("ERR Function " + function->name + " already exists");
    }
    if (state.bytes() + code_.size() > Functions::bytes_max) co_return refuse("OOM there are too many libraries");
    co_await step({.what = Step::What::run, .ops = rows.write(*library)});
    if (lasted(rows)) writer().bulk(library->name);
  }

  const Bytes code_;
  const bool replaces_;
};

class Delete final : public LibraryChange {
 public:
  explicit Delete(Call &call) : LibraryChange(call), library_(call.arguments[2]) {}

 private:
  Task<> change(FunctionRows &rows, const FunctionState &state) override {
    if (state.library(library_) == nullptr) co_return refuse("ERR Library not found");
    co_await step({.what = Step::What::run, .ops = rows.erase(library_)});
    if (lasted(rows)) writer().ok();
  }

  const Bytes library_;
};

class Flush final : public LibraryChange {
 public:
  using LibraryChange::LibraryChange;

 private:
  Task<> change(FunctionRows &rows, const FunctionState &) override {
    co_await step({.what = Step::What::run, .ops = rows.erase_all()});
    if (lasted(rows)) writer().ok();
  }
};

class Restore final : public LibraryChange {
 public:
  enum class Policy : uint8_t { append, replace, flush };

  Restore(Call &call, Policy policy) : LibraryChange(call), payload_(call.arguments[2]), policy_(policy) {}

 private:
  /// Returns an error, or an empty text.
  std::string read(std::vector<LibraryRef> &libraries) {
    rdb::Reader reader(payload_.substr(0, payload_.size() - rdb::footer_bytes));
    while (!reader.empty()) {
      uint8_t type = 0;
      std::string code;
      std::string wrong;
      if (!reader.byte(type)) return "ERR can not read data type";
      if (type != rdb::function_opcode) return "ERR given type is not a function";
      if (!reader.string(code, Functions::code_bytes_max)) return "ERR Failed loading library code";
      LibraryRef library = load(code, wrong);
      if (library == nullptr) return wrong;
      const FunctionState before{std::vector<LibraryRef>(libraries)};
      if (before.library(library->name) != nullptr) return "ERR Library '" + library->name + "' already exists";
      if (const Function *const other = before.collision(*library))
        return "ERR Function " + other->name + " already exists";
      libraries.push_back(std::move(library));
    }
    return {};
  }

  /// Adds the existing libraries that are kept; returns an error, or an empty text.
  std::string join(const FunctionState &state, const std::vector<LibraryRef> &libraries) const {
    if (policy_ == Policy::flush) return {};
    const FunctionState restored{std::vector<LibraryRef>(libraries)};
    std::vector<LibraryRef> kept;
    for (const LibraryRef &library : state.libraries()) {
      if (restored.library(library->name) == nullptr) kept.push_back(library);
      else if (policy_ == Policy::append) return "ERR Library " + library->name + " already exists";
    }
    const FunctionState others{std::move(kept)};
    if (others.bytes() + restored.bytes() > Functions::bytes_max) return "OOM there are too many libraries";
    for (const LibraryRef &library : libraries)
      for (const auto &function : library->functions)
        if (others.find(function->name) != nullptr) return "ERR Function " + function->name + " already exists";
    return {};
  }

  Task<> change(FunctionRows &rows, const FunctionState &state) override {
    std::vector<LibraryRef> libraries;
    std::string wrong = read(libraries);
    if (wrong.empty()) wrong = join(state, libraries);
    if (!wrong.empty()) co_return refuse(wrong);
    if (policy_ == Policy::flush) {
      co_await step({.what = Step::What::run, .ops = rows.erase_all()});
      if (!lasted(rows)) co_return;
    }
    for (const LibraryRef &library : libraries) {
      co_await step({.what = Step::What::run, .ops = rows.write(*library)});
      if (!lasted(rows)) co_return;
    }
    writer().ok();
  }

  const Bytes payload_;
  const Policy policy_;
};

template <class T, class... Arguments>
Next begin(Call &call, Arguments... arguments) {
  return begin_script(call, call.session.tables().keep<T>(call, arguments...));
}

Next refuse_subcommand(Call &call) {
  return refuse(call, "ERR unknown subcommand or wrong number of arguments for '" + std::string(call.arguments[1]) +
                          "'. Try FUNCTION HELP.");
}

}  // namespace

namespace lower {

Next fcall(Call &call) {
  return call_function(call, false);
}

Next fcall_ro(Call &call) {
  return call_function(call, true);
}

Next function_load(Call &call) {
  const std::span<const Bytes> options = call.arguments.subspan(2, call.arguments.size() - 3);
  for (const Bytes option : options)
    if (!is_word(option, "replace")) return refuse(call, "ERR Unknown option given: ", told_of(option));
  return begin<LoadLibrary>(call, call.arguments.back(), !options.empty());
}

Next function_delete(Call &call) {
  return begin<Delete>(call);
}

Next function_flush(Call &call) {
  if (call.arguments.size() > 3) return refuse_subcommand(call);
  if (call.arguments.size() == 3 && !is_word(call.arguments[2], "sync") && !is_word(call.arguments[2], "async"))
    return refuse(call, "ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  return begin<Flush>(call);
}

Next function_list(Call &call) {
  std::optional<Bytes> pattern;
  bool with_code = false;
  for (size_t i = 2; i < call.arguments.size(); ++i) {
    const Bytes word = call.arguments[i];
    if (!with_code && is_word(word, "withcode")) {
      with_code = true;
    } else if (!pattern && is_word(word, "libraryname")) {
      if (++i == call.arguments.size()) return refuse(call, "ERR library name argument was not given");
      pattern = call.arguments[i];
    } else {
      return refuse(call, "ERR Unknown argument ", told_of(word));
    }
  }
  return begin<List>(call, pattern, with_code);
}

Next function_stats(Call &call) {
  return begin<Stats>(call);
}

Next function_dump(Call &call) {
  return begin<Dump>(call);
}

Next function_restore(Call &call) {
  if (call.arguments.size() > 4) return refuse_subcommand(call);
  auto policy = Restore::Policy::append;
  if (call.arguments.size() == 4) {
    const Bytes word = call.arguments[3];
    if (is_word(word, "replace")) policy = Restore::Policy::replace;
    else if (is_word(word, "flush")) policy = Restore::Policy::flush;
    else if (!is_word(word, "append"))
      return refuse(call, "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.");
  }
  if (!rdb::has_valid_footer(call.arguments[2])) return refuse(call, "ERR DUMP payload version or checksum are wrong");
  return begin<Restore>(call, policy);
}

Next function_kill(Call &call) {
  switch (call.session.protocol().scripts().kill(call.session.client().user(), true)) {
    case Scripts::Kill::killed: return answer_ok(call);
    case Scripts::Kill::is_other:
      return refuse(call, "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.");
    case Scripts::Kill::none: break;
  }
  return refuse(call, "NOTBUSY No scripts in execution right now.");
}

}  // namespace lower
}  // namespace postern::redis
