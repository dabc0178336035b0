// forms.h: the Form of each dialect. Lifetime, threads: see form.h.
#pragma once

#include "memcached/wire/form.h"

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

/// MetaFlags::flags has the fields that a client asks for.
class MetaForm final : public Form {
 public:
  void item(Output &output, const Request &request, const Item &item) const override;
  void number(Output &output, const Request &request, uint64_t number, const Item &item) const override;
  void result(Output &output, const Request &request, Result result, uint64_t cas) const override;
  void failed(Output &output, const Request &request, Failure failure, Bytes message) const override;
  void plain(Output &output, const Request &request, Bytes value) const override;
  void statistic(Output &output, const Request &request, Bytes name, Bytes value) const override;
};

/// Quiet commands are not answered on success, a quiet get not on a miss; failures are always answered.
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
