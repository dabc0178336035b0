#include "handlersocket/hstcpcli.hpp"

#include <cstdlib>
#include <optional>
#include <vector>

#include "stream.h"
#include "wire.h"

namespace dena {
namespace {

using handlersocket::Answer;
using handlersocket::Error;
using handlersocket::Options;
using handlersocket::Reply;
using handlersocket::Result;
using handlersocket::Stream;
using handlersocket::Transport;

handlersocket::Value value_of(const string_ref &text) {
  if (text.begin() == nullptr) return nullptr;
  return std::string_view(text.begin(), text.size());
}

std::string_view view(const string_ref &text) {
  return text.begin() == nullptr ? std::string_view() : std::string_view(text.begin(), text.size());
}

std::string_view view(const char *text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

class Client final : public hstcpcli_i {
 public:
  explicit Client(const socket_args &args) : timeout_(std::chrono::seconds(args.timeout > 0 ? args.timeout : 600)) {
    if (!args.host.empty()) options_.host = args.host;
    options_.port = static_cast<uint16_t>(args.port);
    options_.unix_socket = args.unix_path;
    options_.connect_timeout = timeout_;
    connect();
  }

  void close() override {
    stream_.reset();
    request_.clear();
    waiting_ = 0;
    held_ = false;
  }

  int reconnect() override {
    close();
    return connect();
  }

  bool stable_point() override { return request_.empty() && waiting_ == 0 && !held_; }

  void request_buf_auth(const char *secret, const char *typ) override {
    request_ += "A\t";
    put_raw(typ == nullptr || *typ == '\0' ? "1" : view(typ));
    request_ += '\t';
    put_raw(view(secret));
    end_request();
  }

  void request_buf_open_index(size_t pst_id, const char *dbn, const char *tbl, const char *idx, const char *retflds,
                              const char *filflds) override {
    request_ += "P\t";
    handlersocket::put_number(request_, pst_id);
    for (const char *name : {dbn, tbl, idx, retflds}) {
      request_ += '\t';
      put_raw(view(name));
    }
    if (filflds != nullptr) {
      request_ += '\t';
      put_raw(filflds);
    }
    end_request();
  }

  void request_buf_exec_generic(size_t pst_id, const string_ref &op, const string_ref *kvs, size_t kvslen,
                                uint32_t limit, uint32_t skip, const string_ref &mod_op, const string_ref *mvs,
                                size_t mvslen, const hstcpcli_filter *fils, size_t filslen, int invalues_keypart,
                                const string_ref *invalues, size_t invalueslen) override {
    handlersocket::put_number(request_, pst_id);
    request_ += '\t';
    put_raw(view(op));
    request_ += '\t';
    handlersocket::put_number(request_, kvslen);
    put_values(kvs, kvslen);
    const bool in = invalues_keypart >= 0, modifies = mod_op.size() != 0;
    if (limit != 0 || skip != 0 || in || filslen != 0 || modifies) {
      request_ += '\t';
      handlersocket::put_number(request_, limit);
      request_ += '\t';
      handlersocket::put_number(request_, skip);
    }
    if (in) {
      request_ += "\t@\t";
      handlersocket::put_number(request_, static_cast<uint64_t>(invalues_keypart));
      request_ += '\t';
      handlersocket::put_number(request_, invalueslen);
      put_values(invalues, invalueslen);
    }
    for (size_t i = 0; i < filslen; ++i) put_filter(fils[i]);
    if (modifies) {
      request_ += '\t';
      put_raw(view(mod_op));
      put_values(mvs, mvslen);
    }
    end_request();
  }

  int request_send() override {
    if (!stream_) return fail("not connected");
    if (unsendable_) {
      unsendable_ = false;
      request_.clear();
      asked_ = 0;
      return fail("a name, an operator or a secret has a tab or a line's end");
    }
    if (waiting_ == 0 && stream_->unread()) return lose("a reply that nobody asked for");
    stream_->out() += request_;
    request_.clear();
    waiting_ += std::exchange(asked_, 0);
    const Result<void> sent = stream_->flush(timeout_);
    if (!sent) return lose(sent.error().message());
    return succeed();
  }

  int response_recv(size_t &num_flds_r) override {
    num_flds_r = 0;
    if (!stream_) return fail("not connected");
    if (held_) return fail("response_buf_remove was not called");
    if (waiting_ == 0) return fail("no reply is due");
    const Result<std::string_view> line = stream_->line(timeout_);
    if (!line) return lose(line.error().message());
    if (!handlersocket::ReplyParser::parse(*line, Answer::any, std::nullopt, reply_)) return lose("a malformed reply");
    --waiting_;
    held_ = true;
    row_ = 0;
    num_flds_r = reply_.rows.columns();
    if (!reply_.error) return succeed();
    error_code_ = static_cast<int>(reply_.error->code);
    error_ = reply_.error->text;
    return error_code_;
  }

  const string_ref *get_next_row() override {
    const size_t columns = reply_.rows.columns();
    if (!held_ || row_ >= reply_.rows.size()) return nullptr;
    const handlersocket::Row row = reply_.rows[row_++];
    cells_.clear();
    for (size_t i = 0; i < columns; ++i) {
      const handlersocket::Cell cell = row[i];
      cells_.push_back(cell.is_null() ? string_ref() : string_ref(cell.bytes().data(), cell.bytes().size()));
    }
    return cells_.data();
  }

  void response_buf_remove() override { held_ = false; }
  int get_error_code() override { return error_code_; }
  std::string get_error() override { return error_; }

 private:
  int connect() {
    Result<std::unique_ptr<Transport>> transport =
        handlersocket::open_transport(options_, handlersocket::Clock::now() + options_.connect_timeout);
    if (!transport) return fail(transport.error().message());
    stream_.emplace(std::move(*transport), options_.reply_bytes_max);
    return succeed();
  }

  void put_raw(std::string_view token) {
    if (!handlersocket::sendable(token)) unsendable_ = true;
    request_ += token;
  }

  void put_values(const string_ref *values, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      request_ += '\t';
      handlersocket::put_value(request_, value_of(values[i]));
    }
  }

  void put_filter(const hstcpcli_filter &filter) {
    request_ += '\t';
    put_raw(view(filter.filter_type));
    request_ += '\t';
    put_raw(view(filter.op));
    request_ += '\t';
    handlersocket::put_number(request_, filter.ff_offset);
    request_ += '\t';
    handlersocket::put_value(request_, value_of(filter.val));
  }

  void end_request() {
    request_ += '\n';
    ++asked_;
  }

  int succeed() {
    error_code_ = 0;
    error_.clear();
    return 0;
  }
  int fail(std::string text) {
    error_code_ = -1;
    error_ = std::move(text);
    return error_code_;
  }
  int lose(std::string text) {
    close();
    return fail(std::move(text));
  }

  Options options_{};
  std::chrono::milliseconds timeout_;
  std::optional<Stream> stream_{};
  std::string request_{};    ///< buffered, not handed to the stream
  size_t asked_ = 0;         ///< requests in it
  bool unsendable_ = false;  ///< one of them cannot be sent
  size_t waiting_ = 0;       ///< requests sent and not answered
  bool held_ = false;        ///< a reply is being read
  Reply reply_{};
  size_t row_ = 0;
  std::vector<string_ref> cells_{};
  int error_code_ = 0;
  std::string error_{};
};

}  // namespace

std::string config::get_str(const std::string &key, const std::string &otherwise) const {
  const const_iterator found = find(key);
  return found == end() ? otherwise : found->second;
}

long long config::get_int(const std::string &key, long long otherwise) const {
  const const_iterator found = find(key);
  return found == end() ? otherwise : std::strtoll(found->second.c_str(), nullptr, 10);
}

void socket_args::set(const config &conf) {
  host = conf.get_str("host", host);
  timeout = static_cast<int>(conf.get_int("timeout", timeout));
  if (host == "/") {
    unix_path = conf.get_str("port");
  } else {
    port = static_cast<int>(conf.get_int("port", port));
  }
}

hstcpcli_i *hstcpcli_i::make(const socket_args &args) {
  return new Client(args);
}

}  // namespace dena
