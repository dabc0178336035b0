#include "base/descriptors.h"

#include <atomic>

namespace postern::descriptors {
namespace {

std::atomic<Bound> bound_of_clients{nullptr};
std::atomic<uint32_t> held_by_clients{0};
std::atomic<uint32_t> held_besides{0};

}  // namespace

void set_bound(Bound bound) {
  bound_of_clients.store(bound, std::memory_order_relaxed);
}

uint32_t besides() {
  return held_besides.load(std::memory_order_relaxed);
}

uint32_t clients_max() {
  const Bound bound = bound_of_clients.load(std::memory_order_relaxed);
  return bound != nullptr ? bound(besides()) : UINT32_MAX;
}

Held Held::take_for_client() {
  const uint32_t before = held_by_clients.fetch_add(1, std::memory_order_relaxed);
  if (before < clients_max()) return {1, true};
  held_by_clients.fetch_sub(1, std::memory_order_relaxed);
  return {};
}

Held Held::take_besides(uint32_t count) {
  held_besides.fetch_add(count, std::memory_order_relaxed);
  return {count, false};
}

void Held::leave_to_server() {
  if (count_ != 0) (of_client_ ? held_by_clients : held_besides).fetch_sub(count_, std::memory_order_relaxed);
  count_ = 0;
}

Held::~Held() {
  leave_to_server();
}

}  // namespace postern::descriptors
