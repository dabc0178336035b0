#include "engine/sql/packets/handshake.h"

#include <gtest/gtest.h>

#include <string>

namespace postern::sql {
namespace {

using namespace std::string_literals;

std::string as_text(Bytes what, Bytes challenge, Bytes password) {
  return std::string(what) + "(" + std::string(challenge) + "," + std::string(password) + ")";
}

/// Proofs that contain their arguments.
constexpr Proofs telling{
    .native = [](Bytes scramble, Bytes password) { return as_text("native", scramble, password); },
    .ed25519 = [](Bytes nonce, Bytes password) { return as_text("ed25519", nonce, password); },
};

/// The proofs of MySQL 9, which has no mysql_native_password.
constexpr Proofs of_mysql{
    .sha2 = [](Bytes scramble, Bytes password) { return as_text("sha2", scramble, password); },
    .seal = [](Bytes key, Bytes text) { return key == "a key" ? as_text("sealed", key, text) : std::string(); },
};

constexpr Bytes scramble = "abcdefghijklmnopqrst";
constexpr Bytes nonce = "0123456789abcdefghijklmnopqrstuv";

std::string packet(int sequence, Bytes payload) {
  const size_t size = payload.size();
  std::string made{static_cast<char>(size), static_cast<char>(size >> 8), static_cast<char>(size >> 16),
                   static_cast<char>(sequence)};
  return made.append(payload);
}

/// MariaDB's greeting: protocol, version, thread, half of the scramble, capabilities, charset and status, the other
/// half.
std::string greeting() {
  return packet(0, "\x0a"s + "10.11.6-MariaDB\0"s + "\x07\0\0\0"s + std::string(scramble.substr(0, 8)) + "\0"s +
                       std::string(18, 'x') + std::string(scramble.substr(8)) + "\0mysql_native_password\0"s);
}

std::string switch_to(int sequence, const std::string &method, Bytes challenge) {
  return packet(sequence, "\xfe" + method + "\0"s + std::string(challenge));
}

std::string said(Handshake &handshake) {
  std::string all;
  char some[7];
  while (const size_t size = handshake.say(some, sizeof some)) all.append(some, size);
  return all;
}

std::string answer_to(Handshake &handshake, const std::string &bytes) {
  handshake.hear(bytes);
  return said(handshake);
}

/// A client's answer, with this password, to a switch of methods.
std::string answer_to_switch(const std::string &method, Bytes challenge, Bytes password = "secret") {
  Handshake handshake("ann", password, telling);
  answer_to(handshake, greeting());
  return answer_to(handshake, switch_to(2, method, challenge));
}

TEST(Handshake, NamesTheUserAndMeetsTheChallengeOfTheGreeting) {
  Handshake handshake("ann", "secret", telling);
  const std::string proof = as_text("native", scramble, "secret");
  const std::string abilities("\x01\x82\x28\x00", 4), packet_bytes_max("\0\0\0\x01", 4);
  const std::string payload = abilities + packet_bytes_max + "\x2d" + std::string(23, '\0') + "ann\0"s +
                              static_cast<char>(proof.size()) + proof + "mysql_native_password\0"s;
  EXPECT_EQ(answer_to(handshake, greeting()), packet(1, payload));
}

TEST(Handshake, ComesAsAnotherUserOnRequest) {
  Handshake handshake("ann", "secret", telling);
  handshake.come_as("nobody");
  const std::string answer = answer_to(handshake, greeting());
  EXPECT_NE(answer.find("nobody\0"s), std::string::npos);
  EXPECT_EQ(answer.find("ann\0"s), std::string::npos);
}

TEST(Handshake, ProvesNothingWithoutAPassword) {
  Handshake handshake("ann", "", telling);
  const std::string answer = answer_to(handshake, greeting());
  EXPECT_EQ(answer.substr(4 + 32), "ann\0\0mysql_native_password\0"s);
  EXPECT_EQ(answer_to(handshake, switch_to(2, "mysql_native_password", scramble)), packet(3, ""));
}

TEST(Handshake, SwitchesTheMethod) {
  EXPECT_EQ(answer_to_switch("mysql_native_password", std::string(scramble) + "\0"s),
            packet(3, as_text("native", scramble, "secret")));
  EXPECT_EQ(answer_to_switch("client_ed25519", nonce), packet(3, as_text("ed25519", nonce, "secret")));
  EXPECT_EQ(answer_to_switch("mysql_clear_password", ""), packet(3, "secret\0"s));
  EXPECT_EQ(answer_to_switch("dialog", "\2Password: "), packet(3, "secret\0"s));
}

TEST(Handshake, AnswersEveryQuestionOfADialog) {
  Handshake handshake("ann", "secret", telling);
  answer_to(handshake, greeting());
  answer_to(handshake, switch_to(2, "dialog", "\2First: "));
  EXPECT_EQ(answer_to(handshake, packet(4, "\2Second: ")), packet(5, "secret\0"s));
  EXPECT_EQ(answer_to(handshake, packet(6, "\1\xfeThird: ")), packet(7, "secret\0"s));
}

TEST(Handshake, StaysSilentOnUnknownPackets) {
  EXPECT_EQ(answer_to_switch("caching_sha2_password", scramble), "");
  EXPECT_EQ(answer_to_switch("mysql_native_password", "short"), "");
  EXPECT_EQ(answer_to_switch("client_ed25519", std::string(nonce) + "x"), "");
  EXPECT_EQ(answer_to_switch("mysql_clear_password", "", "with a\0NUL"s), "");
  Handshake handshake("ann", "secret", telling);
  EXPECT_EQ(answer_to(handshake, packet(2,
                                        "\xfe"
                                        "dialog without an end")),
            "");
}

TEST(Handshake, HasNothingToSayToAGreetingThatIsNone) {
  const std::string good = greeting().substr(4);
  for (size_t size = 0; size < 1 + 16 + 4 + 8 + 19 + 12; ++size) {
    Handshake handshake("ann", "secret", telling);
    EXPECT_EQ(answer_to(handshake, packet(0, Bytes(good).substr(0, size))), "") << size;
  }
  Handshake handshake("ann", "secret", telling);
  EXPECT_EQ(answer_to(handshake, packet(0, "\x09" + good.substr(1))), "");
}

TEST(Handshake, WaitsForAWholePacket) {
  const std::string bytes = greeting();
  Handshake handshake("ann", "secret", telling), other("ann", "secret", telling);
  std::string answer;
  for (const char byte : bytes) {
    EXPECT_EQ(answer, "");
    answer = answer_to(handshake, std::string(1, byte));
  }
  EXPECT_EQ(answer, answer_to(other, bytes));
}

TEST(Handshake, AnswersTheLastOfSeveralPackets) {
  Handshake handshake("ann", "secret", telling);
  answer_to(handshake, greeting());
  const std::string both = packet(2, "\1a question") + switch_to(3, "client_ed25519", nonce);
  EXPECT_EQ(answer_to(handshake, both), packet(4, as_text("ed25519", nonce, "secret")));
}

TEST(Handshake, TiresOfAServerThatAsksOnAndOn) {
  Handshake handshake("ann", "secret", telling);
  answer_to(handshake, greeting());
  answer_to(handshake, switch_to(2, "dialog", "\2First: "));
  int answers = 0;
  while (answers < 1000 && !answer_to(handshake, packet(4, "\2More: ")).empty()) ++answers;
  EXPECT_GT(answers, 4);
  EXPECT_LT(answers, 100);
}

/// A secret as MySQL's methods obscure it: with its final NUL, XORed with the scramble.
std::string mixed(std::string text) {
  text += '\0';
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(text[i] ^ scramble[i % scramble.size()]);
  return text;
}

TEST(Handshake, BeginsWithTheMethodThatTheServerHas) {
  Handshake handshake("ann", "secret", of_mysql);
  const std::string answer = answer_to(handshake, greeting());
  const std::string proof = as_text("sha2", scramble, "secret");
  EXPECT_EQ(answer.substr(4 + 32), "ann\0"s + static_cast<char>(proof.size()) + proof + "caching_sha2_password\0"s);
}

TEST(Handshake, SendsThePasswordWhereNobodyListens) {
  for (const auto nobody : {Handshake::Listeners::nobody_local, Handshake::Listeners::nobody_tls}) {
    Handshake handshake("ann", "secret", of_mysql, nobody);
    answer_to(handshake, greeting());
    EXPECT_EQ(answer_to(handshake, packet(2, "\1\4")), packet(3, "secret\0"s));
  }
}

TEST(Handshake, SealsThePasswordWithTheServersKey) {
  Handshake handshake("ann", "secret", of_mysql);
  answer_to(handshake, greeting());
  EXPECT_EQ(answer_to(handshake, packet(2, "\1\4")), packet(3, "\2"));
  EXPECT_EQ(answer_to(handshake, packet(4, "\1a key")), packet(5, as_text("sealed", "a key", mixed("secret"))));
  EXPECT_EQ(answer_to(handshake, packet(6, "\1more?")), "");
}

TEST(Handshake, MeetsTheOlderMethodOfMysql) {
  const std::string asked = switch_to(2, "sha256_password", std::string(scramble) + "\0"s);
  const auto first = [&](Bytes password, Handshake::Listeners listeners) {
    Handshake handshake("ann", password, of_mysql, listeners);
    answer_to(handshake, greeting());
    return answer_to(handshake, asked);
  };
  EXPECT_EQ(first("secret", Handshake::Listeners::nobody_tls), packet(3, "secret\0"s));
  EXPECT_EQ(first("secret", Handshake::Listeners::nobody_local), packet(3, "\1"));
  EXPECT_EQ(first("", Handshake::Listeners::anybody), packet(3, "\0"s));
  Handshake handshake("ann", "secret", of_mysql);
  answer_to(handshake, greeting());
  EXPECT_EQ(answer_to(handshake, asked), packet(3, "\1"));
  EXPECT_EQ(answer_to(handshake, packet(4, "\1a key")), packet(5, as_text("sealed", "a key", mixed("secret"))));
}

TEST(Handshake, KeepsThePasswordFromAKeyThatIsNone) {
  Handshake handshake("ann", "secret", of_mysql);
  answer_to(handshake, greeting());
  answer_to(handshake, packet(2, "\1\4"));
  EXPECT_EQ(answer_to(handshake, packet(4, "\1no key")), "");
}

TEST(Handshake, HasNoMethodsButThoseOfItsServer) {
  Handshake handshake("ann", "secret", of_mysql);
  answer_to(handshake, greeting());
  EXPECT_EQ(answer_to(handshake, switch_to(2, "mysql_native_password", std::string(scramble) + "\0"s)), "");
  EXPECT_EQ(answer_to_switch("sha256_password", std::string(scramble) + "\0"s), "");
}

}  // namespace
}  // namespace postern::sql
