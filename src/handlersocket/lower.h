// lower.h: requests → ops, each with its reply.
//
// Everything made lives in the batch's arena. The slot an op points to is its session's.
#pragma once

#include "base/output.h"
#include "contract/batch.h"
#include "handlersocket/encoder.h"
#include "handlersocket/refusal.h"
#include "handlersocket/request.h"

namespace postern::handlersocket {

/// The output for the replies of one connection, the style of its errors, and the counters of its refusals.
struct Replies {
  Output &output;
  ErrorStyle errors;
  Refusals &refusals;
};

/// Adds an op that needs no engine: an acknowledgement, or a refusal in order with other replies. With a slot it fails
/// as not_open, for any `reason`, if that slot is not open then.
void lower_answer(Reason reason, TableSlot *slot, const Replies &replies, Batch &batch);
void lower_open(const OpenRequest &request, TableSlot &slot, const Replies &replies, Batch &batch);
/// Adds a login; a `reason` other than none fails it without a try.
void lower_login(const Login &login, Reason reason, const Replies &replies, Batch &batch);
/// `request` lives in the batch's arena already.
void lower_index_request(const IndexRequest &request, TableSlot &slot, const Replies &replies, Batch &batch);

}  // namespace postern::handlersocket
