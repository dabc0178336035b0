// text_form.h: the Form of the text dialect. Stateless.
#pragma once

#include "memcached/form.h"

namespace postern::memcached {

class TextForm final : public Form {
 public:
  void item(Output &output, const Request &request, const Item &item) const override;
  void number(Output &output, const Request &request, uint64_t number, const Item &item) const override;
  void result(Output &output, const Request &request, Result result, uint64_t cas) const override;
  void failed(Output &output, const Request &request, Failure failure, Bytes message) const override;
  void plain(Output &output, const Request &request, Bytes value) const override;
  void statistic(Output &output, const Request &request, Bytes name, Bytes value) const override;
};

}  // namespace postern::memcached
