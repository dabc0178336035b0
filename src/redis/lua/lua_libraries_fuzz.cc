// Any bytes as JSON, MessagePack, packed structures, patterns and as a script: nothing is read or written beyond its
// end, and each call ends.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "redis/lua/interpreter.h"

namespace postern::redis::lua {
namespace {

constexpr Bytes program = R"(
local whole = ARGV[1]
local half = math.floor(#whole / 2)
local first, second = whole:sub(1, half), whole:sub(half + 1)
local function try(f, ...)
  local found = {pcall(f, ...)}
  return found[1] and found[2] or nil
end
local json = try(cjson.decode, whole)
if json ~= nil then cjson.decode(cjson.encode(json)) end
local pack = try(cmsgpack.unpack, whole)
if pack ~= nil then cmsgpack.unpack(cmsgpack.pack(pack)) end
try(cmsgpack.unpack_limit, whole, 3, half)
try(struct.unpack, first, second)
try(struct.pack, first, 1, 2, second, second)
try(struct.size, whole)
try(string.find, second, first)
try(string.gsub, second, first, '%1')
try(string.match, first, second, -3)
try(bit.tohex, #first, #second - 9)
return try(loadstring, whole)
)";

/// Runs it, with a time limit.
void run(Interpreter &interpreter, const Source &source, std::span<const Bytes> arguments) {
  Output result;
  interpreter.begin(source, {.arguments = arguments, .result = &result});
  interpreter.pause_after(200'000);
  while (interpreter.go_on() == Interpreter::Stopped::call) interpreter.answer("*2\r\n$1\r\na\r\n%1\r\n:1\r\n,2.5\r\n");
  interpreter.abandon();
}

}  // namespace
}  // namespace postern::redis::lua

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace postern;
  using namespace postern::redis::lua;
  static std::unique_ptr<Interpreter> interpreter = Interpreter::make(size_t{4} << 20);
  static uint64_t number = 1;
  const Bytes input(reinterpret_cast<const char *>(data), size);
  run(*interpreter, {.number = 1, .text = program}, {&input, 1});
  run(*interpreter, {.number = ++number, .text = input}, {&input, 1});
  return 0;
}
