// tls_client.h: a client that speaks TLS, and TlsDoorTest, a door over the toys with a certificate.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "door/testing/toy.h"
#include "net/tls_context.h"
#include "support/unit/tls.h"

namespace postern::door {

using test::PeerOptions;
using test::TestCertificate;
using test::TlsPeer;

inline std::string certificate_path;
inline std::atomic<uint64_t> generation{1};

inline net::TlsFiles tls_files() {
  net::TlsFiles files;
  files.certificate = certificate_path;
  return files;
}

/// A client and its TLS; blocking.
struct TlsClient {
  explicit TlsClient(uint16_t port, const PeerOptions &options = {}) : client(port), peer(client.fd(), options) {
    const timeval patience{.tv_sec = deadline_ms / 1000, .tv_usec = 0};
    setsockopt(client.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  std::string ask(std::string_view request, size_t bytes) {
    peer.send(request);
    return read(bytes);
  }
  std::string read(size_t bytes) {
    std::string got;
    while (got.size() < bytes) {
      const std::string more = peer.read(bytes - got.size());
      if (more.empty()) break;
      got += more;
    }
    return got;
  }

  Client client;
  TlsPeer peer;
};

class TlsDoorTest : public DoorTest {
 protected:
  TlsDoorTest()
      : certificate_("first"), context_({.files = tls_files, .generation = [] { return generation.load(); }}) {
    certificate_path = certificate_.path();
    std::string error;
    EXPECT_TRUE(context_.load(error)) << error;
    options_.any_port = true;
    options_.tls = &context_;
  }
  ~TlsDoorTest() override { door_.reset(); }

  TestCertificate certificate_;
  net::TlsContext context_;
};

}  // namespace postern::door
