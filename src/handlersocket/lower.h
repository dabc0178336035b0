// lower.h: requests → ops, with the reply that each of them will be heard by.
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

/// An op that needs no engine: an acknowledgement, or a refusal in its place in line. With a slot it fails as
/// not_open, whatever `reason` is, if that slot is not open by then.
void lower_answer(Reason reason, TableSlot *slot, const Replies &replies, Batch &batch);
void lower_open(const OpenRequest &request, TableSlot &slot, const Replies &replies, Batch &batch);
/// A login that fails for `reason` without being tried, unless that is none.
void lower_login(const Login &login, Reason reason, const Replies &replies, Batch &batch);
/// `request` lives in the batch's arena already.
void lower_index_request(const IndexRequest &request, TableSlot &slot, const Replies &replies, Batch &batch);

}  // namespace postern::handlersocket
