// form.h: Form, how answers look in one dialect of the protocol.
//
// Forms have no state: the Request has everything they need to know of the client. They are called in the order of
// requests, on the thread that runs the batch, and write to the connection's output; they leave out the answers that a
// quiet request suppresses.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/failure.h"
#include "base/output.h"
#include "items/item.h"
#include "memcached/wire/request.h"

namespace postern::memcached {

using items::Item;
using items::Result;

class Form {
 public:
  /// The item of a get. The key in the answer is the one that was asked for.
  virtual void item(Output &output, const Request &request, const Item &item) const = 0;
  /// The outcome of an increment or decrement that was done.
  virtual void number(Output &output, const Request &request, uint64_t number, const Item &item) const = 0;
  /// Every other outcome of a command on an item, or of a flush. `cas`: the item's new one, if it was written.
  virtual void result(Output &output, const Request &request, Result result, uint64_t cas) const = 0;
  /// The request was not carried out, through no fault of an item's. `message` is for people and may be empty; it is
  /// cut, and freed of line ends, to fit.
  virtual void failed(Output &output, const Request &request, Failure failure, Bytes message) const = 0;
  /// Answers that need no item: end, noop, version (text `value`), verbosity, mechanisms (`value`), a login that was
  /// accepted, a refused request.
  virtual void plain(Output &output, const Request &request, Bytes value) const = 0;
  /// One line of statistics; an empty name ends them.
  virtual void statistic(Output &output, const Request &request, Bytes name, Bytes value) const = 0;

 protected:
  ~Form() = default;
};

/// The form of a dialect. Lives as long as the program.
const Form &form_of(Dialect dialect);

}  // namespace postern::memcached
