// tls_context.h: TlsContext, which holds certificates and begins TLS connections with them.
//
// Owned by the plugin and shared by its doors; any thread may call anything. Certificates are read again when the
// source's generation changes; a connection keeps those that it began with.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

struct ssl_st;
struct ssl_ctx_st;

namespace postern::net {

/// Files in PEM form, and the protocol versions and ciphers allowed. Empty: none.
struct TlsFiles {
  std::string certificate;  ///< with its chain; that of the key if empty
  std::string key;          ///< that of the certificate if empty
  std::string ca;           ///< for clients' certificates, which are requested if this or the next is set
  std::string ca_path;
  std::string crl;
  std::string crl_path;
  std::string ciphers;
  bool version_1_2 = true;
  bool version_1_3 = true;
};

struct FreeSsl {
  void operator()(ssl_st *ssl) const;
};
using Ssl = std::unique_ptr<ssl_st, FreeSsl>;

class TlsContext {
 public:
  struct Source {
    TlsFiles (*files)();
    /// Changes when the files have to be read again. 0: not known yet. Called often: must be cheap.
    uint64_t (*generation)();
  };

  explicit TlsContext(Source source) : source_(source) {}
  TlsContext(const TlsContext &) = delete;
  TlsContext &operator=(const TlsContext &) = delete;
  ~TlsContext();

  /// Reads the files; false with `error` set and the old certificates kept. Reads from disk.
  [[nodiscard]] bool load(std::string &error);
  /// Reads the files if the generation has changed, and logs the result. Reads from disk.
  void refresh();
  /// Whether it has certificates.
  bool loaded() const { return loaded_.load(std::memory_order_relaxed); }

  /// The server's side of a new connection, or nothing if there is no memory or nothing was loaded.
  Ssl begin();

 private:
  struct FreeContext {
    void operator()(ssl_ctx_st *context) const;
  };
  using Context = std::unique_ptr<ssl_ctx_st, FreeContext>;

  static Context make(const TlsFiles &files, std::string &error);

  const Source source_;
  std::mutex refresh_mutex_;  // before current_mutex_; one thread reads files at a time
  std::atomic<uint64_t> generation_{0};
  std::atomic<bool> loaded_{false};
  std::mutex current_mutex_;  // a leaf
  Context current_;
};

}  // namespace postern::net
