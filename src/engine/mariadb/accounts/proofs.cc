#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/accounts/proofs.h"

extern "C" int crypto_sign(unsigned char *signed_message, const unsigned char *message, unsigned long long message_size,
                           const unsigned char *password, unsigned long long password_size);

namespace postern::mariadb {
namespace {

std::string prove_native(Bytes scramble, Bytes password) {
  uchar once[MY_SHA1_HASH_SIZE], twice[MY_SHA1_HASH_SIZE], mixed[MY_SHA1_HASH_SIZE];
  my_sha1(once, password.data(), password.size());
  my_sha1(twice, reinterpret_cast<const char *>(once), sizeof once);
  my_sha1_multi(mixed, scramble.data(), scramble.size(), twice, sizeof twice, nullptr);
  std::string proof;
  for (size_t i = 0; i < sizeof once; ++i) proof += static_cast<char>(once[i] ^ mixed[i]);
  explicit_bzero(once, sizeof once);
  explicit_bzero(twice, sizeof twice);
  return proof;
}

std::string prove_ed25519(Bytes nonce, Bytes password) {
  constexpr size_t signature_bytes = 64;
  std::string signed_nonce(signature_bytes + nonce.size(), '\0');
  crypto_sign(reinterpret_cast<unsigned char *>(signed_nonce.data()),
              reinterpret_cast<const unsigned char *>(nonce.data()), nonce.size(),
              reinterpret_cast<const unsigned char *>(password.data()), password.size());
  signed_nonce.resize(signature_bytes);
  return signed_nonce;
}

}  // namespace

const sql::Proofs proofs{.native = prove_native, .ed25519 = prove_ed25519};

}  // namespace postern::mariadb
