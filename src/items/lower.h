// lower.h: ops on a container's table besides the commands of clients, which item_reply.h has.
//
// Everything made lives in the batch's arena. Containers and replies belong to the caller and outlive the batch.
#pragma once

#include <cstdint>

#include "contract/batch.h"
#include "items/item_reply.h"

namespace postern::items {

/// Opens the container's table, or sets OpenContainer::failure and ::message to the reason why it cannot. An error in
/// the mapping is also logged, once, in the name of `protocol`, which lives for ever.
void add_open(OpenContainer &target, Bytes protocol, Batch &batch);

/// Deletes the item if it is still expired; failures are ignored, because no client requested it. `now`: on the clock
/// of ItemCommand::expires_at.
void add_erase_expired(Bytes key, OpenContainer &target, ErasedReply &reply, int64_t now, Batch &batch);

}  // namespace postern::items
