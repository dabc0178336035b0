// form.h: Form, the encoding of answers in one dialect of the protocol.
//
// Forms have no state: the Request has everything that they need. They are called in the order of requests, on the
// thread that runs the batch, and write to the connection's output; they omit answers that a quiet request suppresses.
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
  /// The item of a get. The answer has the requested key.
  virtual void item(Output &output, const Request &request, const Item &item) const = 0;
  /// The outcome of a successful increment or decrement.
  virtual void number(Output &output, const Request &request, uint64_t number, const Item &item) const = 0;
  /// Every other outcome of a command on an item, or of a flush. `cas`: the item's new one, if it was written.
  virtual void result(Output &output, const Request &request, Result result, uint64_t cas) const = 0;
  /// The request failed for a reason other than its item. `message` may be empty; it is cut, and line ends are removed,
  /// to fit.
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
