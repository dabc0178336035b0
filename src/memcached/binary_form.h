// binary_form.h: BinaryForm, how answers look in the binary dialect.
//
// Quiet commands are not told of success, a quiet get not of a miss; failures are always told. Lifetime, threads: see
// form.h.
#pragma once

#include "memcached/form.h"

namespace postern::memcached {

class BinaryForm final : public Form {
 public:
  void item(Output &output, const Request &request, const Item &item) const override;
  void number(Output &output, const Request &request, uint64_t number, const Item &item) const override;
  void result(Output &output, const Request &request, Result result, uint64_t cas) const override;
  void failed(Output &output, const Request &request, Failure failure, Bytes message) const override;
  void plain(Output &output, const Request &request, Bytes value) const override;
  void statistic(Output &output, const Request &request, Bytes name, Bytes value) const override;
};

}  // namespace postern::memcached
