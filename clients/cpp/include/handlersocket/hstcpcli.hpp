// hstcpcli.hpp: the interface of the original's client library, so that programs written for it compile and run over
// this one. New programs use <handlersocket/client.h>. C++98 and later. One thread at a time for a connection.
//
//   dena::config conf;
//   conf["host"] = "localhost"; conf["port"] = "9999";
//   dena::socket_args args;
//   args.set(conf);
//   dena::hstcpcli_ptr cli = dena::hstcpcli_i::create(args);
//   cli->request_buf_open_index(0, "test", "user", "PRIMARY", "user_name");
//   if (cli->request_send() != 0) ...
//   size_t columns = 0;
//   if (cli->response_recv(columns) != 0) ...
//   cli->response_buf_remove();
#ifndef HANDLERSOCKET_HSTCPCLI_HPP
#define HANDLERSOCKET_HSTCPCLI_HPP

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <map>
#include <memory>
#include <string>

namespace dena {

/// Borrowed bytes. begin() is 0 for NULL.
struct string_ref {
  string_ref() : begin_(0), size_(0) {}
  string_ref(const char *begin, size_t size) : begin_(begin), size_(size) {}
  string_ref(const char *begin, const char *end) : begin_(begin), size_(end - begin) {}
  const char *begin() const { return begin_; }
  const char *end() const { return begin_ + size_; }
  size_t size() const { return size_; }

 private:
  const char *begin_;
  size_t size_;
};

inline bool operator==(const string_ref &a, const string_ref &b) {
  return a.size() == b.size() && (a.size() == 0 || memcmp(a.begin(), b.begin(), a.size()) == 0);
}
inline bool operator!=(const string_ref &a, const string_ref &b) {
  return !(a == b);
}

/// Settings by name: host, port, timeout (seconds); a path as port, with host "/", is a unix socket.
struct config : public std::map<std::string, std::string> {
  std::string get_str(const std::string &key, const std::string &otherwise = std::string()) const;
  long long get_int(const std::string &key, long long otherwise = 0) const;
};

struct socket_args {
  socket_args() : port(9998), timeout(600) {}
  void set(const config &conf);
  void set_unix_domain(const char *path) { unix_path = path; }

  std::string host;
  int port;
  std::string unix_path;
  int timeout;  ///< seconds, for connecting and for each reply
};

struct hstcpcli_filter {
  hstcpcli_filter() : ff_offset(0) {}
  string_ref filter_type;  ///< F or W
  string_ref op;
  size_t ff_offset;  ///< position among the filter columns
  string_ref val;
};

struct hstcpcli_i;

#if __cplusplus < 201103L
typedef std::auto_ptr<hstcpcli_i> hstcpcli_ptr;
#else
/// A unique_ptr that converts to auto_ptr for old programs, if the library still has that.
class hstcpcli_ptr;
#endif

struct hstcpcli_i {
  virtual ~hstcpcli_i() {}
  virtual void close() = 0;
  /// Returns 0 or a negative error code. Open indexes are closed.
  virtual int reconnect() = 0;
  /// True if no request is unsent or unanswered.
  virtual bool stable_point() = 0;
  virtual void request_buf_auth(const char *secret, const char *typ) = 0;
  virtual void request_buf_open_index(size_t pst_id, const char *dbn, const char *tbl, const char *idx,
                                      const char *retflds, const char *filflds = 0) = 0;
  virtual void request_buf_exec_generic(size_t pst_id, const string_ref &op, const string_ref *kvs, size_t kvslen,
                                        uint32_t limit, uint32_t skip, const string_ref &mod_op, const string_ref *mvs,
                                        size_t mvslen, const hstcpcli_filter *fils = 0, size_t filslen = 0,
                                        int invalues_keypart = -1, const string_ref *invalues = 0,
                                        size_t invalueslen = 0) = 0;
  /// Returns 0 or a negative error code.
  virtual int request_send() = 0;
  /// Returns the code of the next reply: 0, the server's code, or a negative one if there is no reply.
  virtual int response_recv(size_t &num_flds_r) = 0;
  /// The next row of the reply, or 0. Valid until response_buf_remove.
  virtual const string_ref *get_next_row() = 0;
  /// Drops the reply; the next can be received.
  virtual void response_buf_remove() = 0;
  virtual int get_error_code() = 0;
  virtual std::string get_error() = 0;

  /// Connects at once; get_error_code() returns the result.
  static hstcpcli_ptr create(const socket_args &args);

 private:
  static hstcpcli_i *make(const socket_args &args);
};

#if __cplusplus >= 201103L
class hstcpcli_ptr : public std::unique_ptr<hstcpcli_i> {
 public:
  using std::unique_ptr<hstcpcli_i>::unique_ptr;
#if defined(__GLIBCXX__) && (__cplusplus < 201703L || _GLIBCXX_USE_DEPRECATED)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  operator std::auto_ptr<hstcpcli_i>() {
    return std::auto_ptr<hstcpcli_i>(release());
  }
#pragma GCC diagnostic pop
#endif
};
#endif

inline hstcpcli_ptr hstcpcli_i::create(const socket_args &args) {
  return hstcpcli_ptr(make(args));
}

}  // namespace dena

#endif
