// functions.h: Functions, the libraries of functions of one door as they were read last, and FunctionState, one
// reading.
//
// Any thread. Libraries are rows of postern.redis_functions. A reading counts for a second; while a command of this
// door changes rows, every command reads them itself, in its own transaction, and shares nothing.
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
  /// It has been too much for a turn.
  mutable std::atomic<bool> heavy{false};

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
};

/// Immutable, but for what its functions note.
struct Library {
  uint64_t number = 0;  ///< of its text, for interpreters
  std::string name;
  std::string code;  ///< all of it
  size_t body = 0;   ///< where the first line of it ends
  std::vector<std::unique_ptr<const Function>> functions;
  /// Why it cannot be used; it has no functions then.
  std::string problem;

  Bytes text() const { return Bytes(code).substr(body); }
};
using LibraryRef = std::shared_ptr<const Library>;

/// Immutable.
class FunctionState {
 public:
  FunctionState() = default;
  /// Of two functions with one name the first library's counts. They come in the order of their names.
  explicit FunctionState(std::vector<LibraryRef> libraries);

  const std::vector<LibraryRef> &libraries() const { return libraries_; }
  /// nullptr: there is none. In any case.
  const Function *find(Bytes name) const;
  LibraryRef library(Bytes name) const;
  size_t functions() const { return functions_.size(); }
  size_t bytes() const;
  /// A function that another library than those named like `library` has, too; nullptr: none.
  const Function *collision(const Library &library) const;

 private:
  std::vector<LibraryRef> libraries_;
  std::unordered_map<std::string, const Function *> functions_;  // by the name in lower case
};
using FunctionStateRef = std::shared_ptr<const FunctionState>;

class Functions {
 public:
  static constexpr int64_t fresh_ms = 1'000;
  /// All code together.
  static constexpr size_t bytes_max = size_t{64} << 20;
  static constexpr size_t code_bytes_max = size_t{4} << 20;

  FunctionStateRef state() const;
  /// Whether the state may be used without reading the rows.
  bool fresh(int64_t now_ms) const;
  /// To be called before the rows are read, for offer().
  uint64_t begin_reading() const;
  /// The state as it was read, unless a change was or is under way.
  void offer(FunctionStateRef state, uint64_t reading, int64_t now_ms);

  /// A command is about to change rows, and they are not settled before this is destroyed.
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
