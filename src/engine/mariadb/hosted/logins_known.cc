#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/logins_known.h"

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

namespace postern::mariadb {
namespace {

/// A greeting, and the settings of the server that it depends on.
struct Known {
  std::shared_ptr<const sql::Greeting> greeting{};
  CHARSET_INFO *charset = nullptr;
  bool offers_tls = false;
};

std::mutex known_mutex;  // guards what follows; a leaf
Known known;

/// By the hash of the name; a collision does no harm.
constexpr size_t names_max = 1024;
std::array<std::atomic<uint64_t>, names_max> known_names;

std::pair<std::atomic<uint64_t> &, uint64_t> place_of(Bytes name) {
  const uint64_t hash = std::hash<Bytes>()(name) | 1;
  return {known_names[(hash >> 1) % names_max], hash};
}

}  // namespace

std::shared_ptr<const sql::Greeting> known_greeting() {
  const std::lock_guard guard(known_mutex);
  if (known.greeting == nullptr || known.charset != default_charset_info ||
      known.offers_tls != (ssl_acceptor_fd != nullptr) || !known.greeting->version().ends_with(server_version))
    return nullptr;
  return known.greeting;
}

void learn_greeting(THD *thd, Bytes said, uint16_t status) {
  if (said.size() < 4) return;
  const size_t bytes = 4 + uint3korr(reinterpret_cast<const uchar *>(said.data()));
  const Bytes scramble(thd->scramble, sql::Greeting::scramble_bytes);
  const auto number = static_cast<uint32_t>(thd->thread_id);
  std::optional<sql::Greeting> read = sql::Greeting::of(said.substr(0, bytes), number, scramble, status);
  if (!read) return;
  auto made = std::make_shared<const sql::Greeting>(*std::move(read));
  const std::lock_guard guard(known_mutex);
  known = {.greeting = std::move(made), .charset = default_charset_info, .offers_tls = ssl_acceptor_fd != nullptr};
}

void forget_greeting() {
  const std::lock_guard guard(known_mutex);
  known = {};
}

bool answers_once(Bytes name) {
  const auto [place, hash] = place_of(name);
  return place.load(std::memory_order_relaxed) == hash;
}

void note_answers(Bytes name, bool once) {
  const auto [place, hash] = place_of(name);
  if (once) place.store(hash, std::memory_order_relaxed);
  else if (place.load(std::memory_order_relaxed) == hash) place.store(0, std::memory_order_relaxed);
}

}  // namespace postern::mariadb
