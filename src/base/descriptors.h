// descriptors.h: counts the file descriptors of all doors and bounds their clients.
//
// All doors of the process share the bound, whichever plugin they belong to, because the server needs descriptors of
// the same process. Any thread.
#pragma once

#include <cstdint>
#include <utility>

namespace postern::descriptors {

/// Returns how many clients all doors may have together, given the doors' other descriptors; called for each new
/// client. nullptr: no bound.
using Bound = uint32_t (*)(uint32_t besides);
void set_bound(Bound bound);

/// Descriptors of the doors besides their clients' sockets: listening sockets, pollers.
uint32_t besides();
/// How many clients all doors may have at present.
uint32_t clients_max();

/// Descriptors that a door holds. Given back when it dies.
class Held {
 public:
  Held() = default;
  Held(Held &&other) noexcept : count_(other.count_), of_client_(other.of_client_) { other.count_ = 0; }
  Held &operator=(Held &&other) noexcept {
    const uint32_t count = count_;
    const bool of_client = of_client_;
    count_ = other.count_;
    of_client_ = other.of_client_;
    other.count_ = count;
    other.of_client_ = of_client;
    return *this;
  }
  ~Held();

  /// Counts the descriptor of one more client, if the bound allows it.
  [[nodiscard]] static Held take_for_client();
  static Held take_besides(uint32_t count);
  /// Leaves the client's descriptor to the server, which counts it among its own connections.
  void leave_to_server();
  explicit operator bool() const { return count_ != 0; }

 private:
  Held(uint32_t count, bool of_client) : count_(count), of_client_(of_client) {}

  uint32_t count_ : 31 = 0;
  bool of_client_ : 1 = false;
};

}  // namespace postern::descriptors
