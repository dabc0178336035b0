#include "engine/sql/packets/handshake.h"

#include <algorithm>
#include <cstring>

namespace postern::sql {
namespace {

constexpr size_t header_bytes = 4;
constexpr size_t scramble_bytes = 20;
constexpr size_t scramble_first_bytes = 8;
constexpr size_t nonce_bytes = 32;
/// Bounds the conversation with a server that keeps asking; methods with several questions need a few packets.
constexpr int packets_max = 16;

// The client's capabilities, include/mysql_com.h.
constexpr uint32_t long_password = 1, protocol_41 = 512, secure_connection = 32768, plugin_auth = 1U << 19,
                   plugin_auth_lenenc = 1U << 21;
constexpr char utf8mb4_general_ci = 45;

void put_number(std::string &to, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(number >> (8 * i));
}

/// `size` bytes from the front of `from`; false if it has not so many.
bool cut(Bytes &from, size_t size, Bytes &piece) {
  if (from.size() < size) return false;
  piece = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

bool cut_text(Bytes &from, Bytes &text) {
  const size_t end = from.find('\0');
  if (end == Bytes::npos) return false;
  text = from.substr(0, end);
  from.remove_prefix(end + 1);
  return true;
}

}  // namespace

Handshake::~Handshake() {
  explicit_bzero(said_.data(), said_.size());
}

size_t Handshake::say(char *to, size_t size) {
  if (taken_ == said_.size() && !answer()) return 0;
  const size_t taken = std::min(size, said_.size() - taken_);
  std::memcpy(to, said_.data() + taken_, taken);
  taken_ += taken;
  return taken;
}

/// Answers the last whole packet that was heard.
bool Handshake::answer() {
  Bytes packet;
  bool any = false;
  while (heard_.size() >= header_bytes) {
    const auto byte = [this](size_t at) { return static_cast<unsigned char>(heard_[at]); };
    const size_t size = byte(0) | byte(1) << 8 | byte(2) << 16;
    if (heard_.size() < header_bytes + size) break;
    sequence_ = byte(3);
    const bool last = heard_.size() == header_bytes + size;
    if (last) {
      packet = Bytes(heard_).substr(header_bytes);
      any = true;
      break;
    }
    heard_.erase(0, header_bytes + size);
  }
  if (!any || ++packets_ > packets_max) return false;
  bool answered;
  if (packets_ == 1) {
    answered = greet(packet);
  } else if (!packet.empty() && packet[0] == '\xfe') {
    answered = switch_method(packet.substr(1));
  } else {
    // Further data of a method; a byte 0x01 in front keeps its first byte from being misunderstood.
    if (!packet.empty() && packet[0] == '\x01') packet.remove_prefix(1);
    std::string proof;
    answered = prove(packet, proof);
    if (answered) send(proof);
    explicit_bzero(proof.data(), proof.size());
  }
  heard_.clear();
  return answered;
}

/// The server's greeting holds a challenge for its default method; the reply names the user and meets it.
bool Handshake::greet(Bytes packet) {
  Bytes version, ignored, first, second;
  if (!cut(packet, 1, version) || version[0] != 10 || !cut_text(packet, ignored) || !cut(packet, 4, ignored) ||
      !cut(packet, scramble_first_bytes, first) || !cut(packet, 19, ignored) ||
      !cut(packet, scramble_bytes - scramble_first_bytes, second))
    return false;
  // The server's default method; it asks again if the account has another.
  method_ = proofs_.native != nullptr ? "mysql_native_password" : "caching_sha2_password";
  std::string proof;
  if (!prove(std::string(first) + std::string(second), proof)) return false;
  std::string reply;
  put_number(reply, long_password | protocol_41 | secure_connection | plugin_auth | plugin_auth_lenenc, 4);
  put_number(reply, 1U << 24, 4);
  reply += utf8mb4_general_ci;
  reply.append(23, '\0');
  reply.append(user_);
  reply += '\0';
  reply += static_cast<char>(proof.size());
  reply.append(proof);
  reply.append(method_);
  reply += '\0';
  send(reply);
  return true;
}

bool Handshake::switch_method(Bytes packet) {
  Bytes method;
  if (!cut_text(packet, method)) return false;
  method_ = method;
  scramble_.clear();
  awaits_key_ = false;
  std::string proof;
  const bool proved = prove(packet, proof);
  if (proved) send(proof);
  explicit_bzero(proof.data(), proof.size());
  return proved;
}

bool Handshake::prove(Bytes challenge, std::string &proof) {
  if (method_ == "mysql_native_password" && proofs_.native != nullptr) {
    if (challenge.size() < scramble_bytes) return false;
    if (!password_.empty()) proof = proofs_.native(challenge.substr(0, scramble_bytes), password_);
    return true;
  }
  if (method_ == "client_ed25519" && proofs_.ed25519 != nullptr) {
    if (challenge.size() != nonce_bytes) return false;
    proof = proofs_.ed25519(challenge, password_);
    return true;
  }
  if (method_ == "caching_sha2_password" && proofs_.sha2 != nullptr) return prove_sha2(challenge, proof);
  if (method_ == "sha256_password" && proofs_.seal != nullptr) return prove_sha256(challenge, proof);
  // The password itself, which stays in this process. A dialog asks one question, or gets the same answer to each.
  if (method_ == "mysql_clear_password" || method_ == "dialog") {
    if (password_.find('\0') != Bytes::npos) return false;
    proof.reserve(password_.size() + 1);
    proof = password_;
    proof += '\0';
    return true;
  }
  return false;
}

/// The server knows the hash that this proves, or asks for the password: it stores another hash, and caches this one
/// only while it runs.
bool Handshake::prove_sha2(Bytes challenge, std::string &proof) {
  constexpr Bytes wants_password = "\x04";
  if (awaits_key_) return seal(challenge, proof);
  if (!scramble_.empty()) return challenge == wants_password && reveal(listeners_ != Listeners::anybody, '\x02', proof);
  if (challenge.size() < scramble_bytes) return false;
  scramble_ = challenge.substr(0, scramble_bytes);
  if (!password_.empty()) proof = proofs_.sha2(scramble_, password_);
  return true;
}

bool Handshake::prove_sha256(Bytes challenge, std::string &proof) {
  if (awaits_key_) return seal(challenge, proof);
  if (!scramble_.empty() || challenge.size() < scramble_bytes) return false;
  scramble_ = challenge.substr(0, scramble_bytes);
  if (!password_.empty()) return reveal(listeners_ == Listeners::nobody_tls, '\x01', proof);
  proof = '\0';
  return true;
}

/// Sends the password itself, or requests the key to encrypt it with.
bool Handshake::reveal(bool open, char key_request, std::string &proof) {
  if (password_.find('\0') != Bytes::npos) return false;
  awaits_key_ = !open;
  if (open) {
    proof.reserve(password_.size() + 1);
    proof = password_;
    proof += '\0';
  } else {
    proof = key_request;
  }
  return true;
}

bool Handshake::seal(Bytes key, std::string &proof) {
  awaits_key_ = false;
  std::string text;
  text.reserve(password_.size() + 1);
  text = password_;
  text += '\0';
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(text[i] ^ scramble_[i % scramble_.size()]);
  proof = proofs_.seal(key, text);
  explicit_bzero(text.data(), text.size());
  return !proof.empty();
}

void Handshake::send(Bytes payload) {
  explicit_bzero(said_.data(), said_.size());
  said_.clear();
  taken_ = 0;
  said_.reserve(header_bytes + payload.size());
  put_number(said_, payload.size(), 3);
  said_ += static_cast<char>(sequence_ + 1);
  said_.append(payload);
}

}  // namespace postern::sql
