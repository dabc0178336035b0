// function_library.h: redis.register_function(), and the table of the functions that a library registered.
//
// Used by one thread at a time, like the Lua state.
#pragma once

#include <cstdint>

#include "redis/lua/lua.h"

namespace postern::redis::lua {

/// Flags of a function, as bits.
namespace FunctionFlag {
enum : uint32_t {
  no_writes = 1 << 0,
  allow_oom = 1 << 1,
  allow_stale = 1 << 2,
  no_cluster = 1 << 3,
  allow_cross_slot_keys = 1 << 4,
};
}

/// Their names, in the order of the bits.
inline constexpr Bytes function_flags[] = {"no-writes", "allow-oom", "allow-stale", "no-cluster",
                                           "allow-cross-slot-keys"};

/// The text of the error for a name of a library or of a function that is_function_name() refuses.
inline constexpr const char *bad_function_name =
    "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long";
bool is_function_name(Bytes name);

/// Starts a new table for functions registered from now on. May raise a Lua error.
void make_function_table(lua_State *lua);
/// Pushes a function of that table; false: it has no such function.
bool push_function(lua_State *lua, Bytes name);
/// A lua_CFunction.
int register_function(lua_State *lua);

}  // namespace postern::redis::lua
