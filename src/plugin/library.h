// library.h: this library in the process: whether the server has all symbols that it needs, whether it may be unloaded,
// and whether its mapped pages still belong to its file.
//
// Called by the server's threads that load and unload plugins, one at a time.
#pragma once

#include <string>

namespace postern::plugin::library {

/// A symbol that the library needs and the server lacks, so that a call would crash; empty: none. See weaken.cc.
std::string missing_name();

/// Detaches the library's data from its file: otherwise a later write to the file would change them, even pages that
/// were written since. Called while the library is being loaded and no other thread is in it.
void keep_data();

/// Keeps the library in the process, because a thread has to return through it, or may still run in it. Its pages no
/// longer depend on the file.
void stay();

/// Whether the library's path still leads to the mapped file. False if the library has stayed and another file replaced
/// it: the loader would not load that one, because it identifies libraries by path. True if the file cannot be read.
bool is_the_file();

/// The path that it was loaded from.
std::string path();

}  // namespace postern::plugin::library
