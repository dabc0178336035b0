// lower.h: requests → ops, each with its answer (answer.h, item_answer.h).
//
// Everything made lives in the batch's arena; requests do already. The container an op acts on is its session's.
#pragma once

#include "memcached/containers.h"
#include "memcached/reply_context.h"
#include "memcached/wire/request.h"

namespace postern::memcached {

/// An answer without an item: see Form::plain. `multi_get`: for an `end`, which is omitted if the get has failed.
void lower_plain(const Request &request, Bytes value, const MultiGet *multi_get, const ReplyContext &with);
/// A request that fails without a try. `message` lives as long as the batch.
void lower_failed(const Request &request, Failure failure, Bytes message, MultiGet *multi_get,
                  const ReplyContext &with);
/// A request under a disabled policy. A get misses.
void lower_disabled(const Request &request, MultiGet *multi_get, const ReplyContext &with);
/// `get @@name`: where the items of the container are. `in_table`: it fails if the table cannot be opened.
void lower_place(const Request &request, OpenContainer &target, bool in_table, MultiGet *multi_get,
                 const ReplyContext &with);
/// A command on an item with a known key and expiry. `multi_get`: for a get in the text dialect alone.
void lower_item(const Request &request, OpenContainer &target, MultiGet *multi_get, const ReplyContext &with);
/// The same for an item in memory. `target.space` is set.
void lower_item(const Request &request, OpenContainer &target, items::Cache &cache, MultiGet *multi_get,
                const ReplyContext &with);
/// Deletes an item that is still expired, if it can.
void lower_erase_expired(Bytes key, OpenContainer &target, const ReplyContext &with);
void lower_login(const Request &request, const ReplyContext &with);
void lower_statistics(const Request &request, const StatsSource &source, const ReplyContext &with);

}  // namespace postern::memcached
