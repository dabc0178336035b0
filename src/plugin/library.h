// library.h: this library as the loader has it: whether the server has all that it needs, whether it may leave the
// process, and whether its mapped pages are the file's.
//
// Called by the server's threads that load and unload plugins, one at a time.
#pragma once

#include <string>

namespace postern::plugin::library {

/// A name that the library needs and the server has not, so that a call would end the process; empty: none. See
/// weaken.cc.
std::string missing_name();

/// To be called while the library is being loaded and no other thread is in it: its data no longer depends on the file,
/// whose next content would come in their place, written pages included, when somebody writes into it.
void keep_data();

/// From here on the library stays in the process: a thread has to return through it, or may be in it yet. Its pages no
/// longer depend on the file either.
void stay();

/// Whether the file at the path that the library was loaded from is the mapped one. Not, where the library has stayed
/// and another was put there: the loader does not load that one, for it knows libraries by their path. True if the file
/// cannot be read.
bool is_the_file();

/// Where it was loaded from.
std::string path();

}  // namespace postern::plugin::library
