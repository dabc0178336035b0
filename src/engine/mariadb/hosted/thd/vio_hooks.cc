#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/thd/vio_hooks.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

#include "engine/mariadb/hosted/thd/command.h"

namespace postern::mariadb {
namespace {

thread_local Conversation *conversation = nullptr;
thread_local Traffic traffic;

/// Adds the bytes that a Vio's function returned to the count, unless the function failed. Returns them.
size_t counted(size_t bytes, uint64_t &count) {
  if (bytes != static_cast<size_t>(-1)) count += bytes;
  return bytes;
}

/// The functions that a Vio of either kind has.
struct Own {
  std::atomic<decltype(Vio::read)> read{nullptr};
  std::atomic<decltype(Vio::write)> write{nullptr};
  std::atomic<decltype(Vio::has_data)> has_data{nullptr};
};
Own plain;
Own tls;

Own &own(const Vio *vio) {
  return vio->type == VIO_TYPE_SSL ? tls : plain;
}

Conversation *conversation_of(const Vio *vio) {
  return conversation != nullptr && conversation->vio() == vio ? conversation : nullptr;
}

size_t read_hook(Vio *vio, uchar *to, size_t size) {
  if (Conversation *const held = conversation_of(vio); held != nullptr) {
    if (held->has_data()) return held->take(reinterpret_cast<char *>(to), size);
    if (!held->may_wait()) return held->fail_read();
  }
  return counted(own(vio).read.load(std::memory_order_relaxed)(vio, to, size), traffic.received);
}

size_t write_hook(Vio *vio, const uchar *from, size_t size) {
  std::string renumbered;
  if (Conversation *const held = conversation_of(vio); held != nullptr) {
    const Bytes bytes(reinterpret_cast<const char *>(from), size);
    if (held->write(bytes)) return size;
    try {
      renumbered = held->take_renumbered(bytes);
    } catch (const std::bad_alloc &) {
      return static_cast<size_t>(-1);
    }
    if (!renumbered.empty()) from = reinterpret_cast<const uchar *>(renumbered.data());
  }
  return counted(own(vio).write.load(std::memory_order_relaxed)(vio, from, size), traffic.sent);
}

my_bool has_data_hook(Vio *vio) {
  const Conversation *const held = conversation_of(vio);
  return (held != nullptr && held->has_data()) || own(vio).has_data.load(std::memory_order_relaxed)(vio);
}

}  // namespace

Conversation::Conversation(st_vio *vio, Bytes packet, Input *rest, std::string *answer, size_t answer_bytes_max)
    : vio_(vio), packet_(packet), rest_(rest), answer_(answer), answer_bytes_max_(answer_bytes_max) {
  conversation = this;
}

Conversation::Conversation(st_vio *vio, Bytes packet, Output &output)
    : vio_(vio), packet_(packet), rest_(nullptr), answer_(nullptr), answer_bytes_max_(0), output_(&output) {
  conversation = this;
}

Conversation::Conversation(st_vio *vio, Bytes packet, Input *rest, Output *output, GreetedLogin &login)
    : vio_(vio), packet_(packet), rest_(rest), answer_(nullptr), answer_bytes_max_(0), output_(output), login_(&login) {
  conversation = this;
}

Conversation::~Conversation() {
  conversation = nullptr;
}

bool Conversation::may_wait() const {
  if (login_ == nullptr) return true;
  login_->asks_on = true;
  return login_->may_wait;
}

size_t Conversation::fail_read() const {
  errno = login_->timed_out ? SOCKET_ETIMEDOUT : 0;
  return login_->timed_out ? static_cast<size_t>(-1) : 0;
}

size_t Conversation::take(char *to, size_t size) {
  if (!packet_.empty()) {
    const size_t taken = packet_.copy(to, size);
    packet_.remove_prefix(taken);
    return taken;
  }
  if (login_ != nullptr) login_->asks_on = true;
  const std::span<char> bytes = rest_->unparsed();
  const size_t taken = std::min(size, bytes.size());
  std::copy_n(bytes.data(), taken, to);
  rest_->consume(taken);
  return taken;
}

bool Conversation::write(Bytes bytes) noexcept {
  if (login_ != nullptr && !std::exchange(greeted_, true)) {  // it comes as a whole
    login_->greets_otherwise = bytes != login_->greeting;
    renumbers_ = login_->greets_otherwise && login_->net != nullptr;
    return !renumbers_;
  }
  if (output_ != nullptr) {
    output_->put(bytes);
    return true;
  }
  if (answer_ == nullptr) return false;
  try {
    if (answer_->size() + bytes.size() <= answer_bytes_max_) {
      answer_->append(bytes);
      return false;
    }
  } catch (const std::bad_alloc &) {
  }
  std::exchange(answer_, nullptr)->clear();
  return false;
}

/// Adds 2 to each packet's sequence number: the client has received one packet already, and sent one.
std::string Conversation::take_renumbered(Bytes bytes) {
  if (!std::exchange(renumbers_, false)) return {};
  constexpr unsigned had = 2;
  packet_ = {};
  login_->net->pkt_nr += had;
  std::string made(bytes);
  for (size_t at = 0; at + header_bytes <= made.size();) {
    made[at + 3] = static_cast<char>(made[at + 3] + had);
    at += header_bytes + uint3korr(reinterpret_cast<const uchar *>(made.data() + at));
  }
  return made;
}

Traffic take_traffic() {
  return std::exchange(traffic, {});
}

void hook(st_vio *vio) {
  Own &functions = own(vio);
  if (vio->read == read_hook) return;
  functions.read.store(vio->read, std::memory_order_relaxed);
  functions.write.store(vio->write, std::memory_order_relaxed);
  functions.has_data.store(vio->has_data, std::memory_order_relaxed);
  vio->read = read_hook;
  vio->write = write_hook;
  vio->has_data = has_data_hook;
}

}  // namespace postern::mariadb
