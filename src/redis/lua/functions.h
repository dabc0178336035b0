// functions.h: Functions, one door's function libraries as last read, and FunctionState, the result of one reading.
//
// Any thread. Libraries are rows of postern.redis_functions. A reading is valid for a second; while a command of this
// door changes rows, every command reads them in its own transaction, and shares nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "redis/lua/interpreter.h"

namespace postern::redis {

struct Library;

struct Function {
  std::string name;
  std::optional<std::string> description;
  uint32_t flags = 0;
  const Library *library = nullptr;
  /// It has exceeded a turn's bounds.
  mutable std::atomic<bool> heavy{false};

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
};

/// Immutable, except for notes on its functions.
struct Library {
  uint64_t number = 0;  ///< number of its text, for interpreters
  std::string name;
  std::string code;  ///< the whole text
  size_t body = 0;   ///< end of its first line
  std::vector<std::unique_ptr<const Function>> functions;
  /// The error that makes it unusable; it has no functions then.
  std::string problem;

  Bytes text() const { return Bytes(code).substr(body); }
};
using LibraryRef = std::shared_ptr<const Library>;

/// Immutable.
class FunctionState {
 public:
  FunctionState() = default;
  /// If two libraries have a function of one name, the first counts. Sorted by name.
  explicit FunctionState(std::vector<LibraryRef> libraries);

  const std::vector<LibraryRef> &libraries() const { return libraries_; }
  /// nullptr: none. Ignores case.
  const Function *find(Bytes name) const;
  LibraryRef library(Bytes name) const;
  size_t functions() const { return functions_.size(); }
  size_t bytes() const;
  /// A function of `library` that another library, of another name, also has; nullptr: none.
  const Function *collision(const Library &library) const;

 private:
  std::vector<LibraryRef> libraries_;
  std::unordered_map<std::string, const Function *> functions_;  // by the name in lower case
};
using FunctionStateRef = std::shared_ptr<const FunctionState>;

class Functions {
 public:
  static constexpr int64_t fresh_ms = 1'000;
  /// Bytes of all code.
  static constexpr size_t bytes_max = size_t{64} << 20;
  static constexpr size_t code_bytes_max = size_t{4} << 20;

  FunctionStateRef state() const;
  /// Whether the state may be used without reading the rows.
  bool fresh(int64_t now_ms) const;
  /// Called before the rows are read, for offer().
  uint64_t begin_reading() const;
  /// Publishes the state that was read, unless a change was or is under way.
  void offer(FunctionStateRef state, uint64_t reading, int64_t now_ms);

  /// Held by a command that changes rows, until its changes are settled.
  class Change {
   public:
    explicit Change(Functions &functions);
    ~Change();
    Change(const Change &) = delete;
    Change &operator=(const Change &) = delete;

   private:
    Functions &functions_;
  };

 private:
  mutable std::mutex mutex_;  // a leaf
  FunctionStateRef state_ = std::make_shared<FunctionState>();
  int64_t read_ms_ = INT64_MIN / 2;
  uint64_t changes_ = 0;
  uint64_t under_way_ = 0;
};

}  // namespace postern::redis
