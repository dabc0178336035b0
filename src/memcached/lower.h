// lower.h: requests → ops, each with the answer (answer.h) that will hear what became of it.
//
// Everything made lives in the batch's arena; requests do already. The container an op acts on is its session's.
#pragma once

#include "memcached/cache.h"
#include "memcached/open_container.h"
#include "memcached/wire/request.h"
#include "memcached/surroundings.h"

namespace postern::memcached {

/// An answer that needs no item: see Form::plain. `group`: of an `end`, which is left out if the group has failed.
void lower_plain(const Request &request, Bytes value, const Group *group, const Surroundings &with);
/// A request that fails without being tried. `message` lives as long as the batch.
void lower_failed(const Request &request, Failure failure, Bytes message, Group *group, const Surroundings &with);
/// A get of what is nowhere.
void lower_miss(const Request &request, Group *group, const Surroundings &with);
/// A request that a disabled policy answers.
void lower_disabled(const Request &request, Group *group, const Surroundings &with);
void lower_open(OpenContainer &target, const Surroundings &with);
/// `get @@name`: where the items of the container are. `in_table`: it fails if the table cannot be opened.
void lower_place(const Request &request, OpenContainer &target, bool in_table, Group *group, const Surroundings &with);
/// A command on the item with that key. `group` of a get in the text dialect alone.
void lower_item(const Request &request, Bytes key, OpenContainer &target, Group *group, const Surroundings &with);
/// The same where the item is in memory, or a flush of all that are. `target.space` is set.
void lower_memory(const Request &request, Bytes key, OpenContainer &target, Cache &cache, Group *group,
                  const Surroundings &with);
void lower_flush(const Request &request, OpenContainer &target, const Surroundings &with);
/// Deletes an item that is still expired, if it can.
void lower_erase_expired(Bytes key, OpenContainer &target, const Surroundings &with);
void lower_login(const Request &request, const Surroundings &with);
void lower_statistics(const Request &request, const Teller &teller, const Surroundings &with);

}  // namespace postern::memcached
