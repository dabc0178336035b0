#include "engine/sql/texts/tokens.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace postern::sql {
namespace {

/// A letter for each token's kind, a capital if it is unterminated, and its text.
std::string cut(Bytes text) {
  std::string out;
  for (Token token = token_at(text, 0); token.kind != Token::Kind::end; token = token_at(text, token.to)) {
    const char kind = "ewnqlmco"[static_cast<int>(token.kind)];
    out.append(out.empty() ? "" : " ").append(1, static_cast<char>(token.closed ? kind : kind - 32));
    out.append(1, ':').append(token.text);
  }
  return out;
}

void check(std::initializer_list<std::pair<Bytes, Bytes>> examples) {
  for (const auto &[text, tokens] : examples) EXPECT_EQ(cut(text), tokens) << text;
}

TEST(Tokens, AreWordsNumbersAndMarks) {
  check({{"  SELECT\ta$1,2nd\n", "w:SELECT w:a$1 m:, w:2nd"},
         {"1 2.5 .5 1e5 1.x", "n:1 n:2.5 m:. n:5 w:1e5 w:1 m:. w:x"},
         {"caf\xc3\xa9=@a", "w:caf\xc3\xa9 m:= m:@ w:a"},
         {"", ""}});
}

TEST(Tokens, EndWithTheirQuotes) {
  check({{"'a b'`c`\"d\"", "l:a b q:c o:d"},
         {"'a\\'b' `a\\` 'a''b'", "l:a\\'b q:a\\ l:a l:b"},
         {"'a", "L:a"},
         {"'a\\", "L:a\\"},
         {"`", "Q:"}});
}

TEST(Tokens, MayBeComments) {
  check({{"a/* b */c # d\ne -- f\ng", "w:a c:/* b */ w:c c:# d\n w:e c:-- f\n w:g"},
         {"1--1", "n:1 m:- m:- n:1"},
         {"/*/", "C:/*/"},
         {"# a", "C:# a"}});
  EXPECT_TRUE(token_at("/*! a */", 0).is_executed());
  EXPECT_TRUE(token_at("/*M! a */", 0).is_executed());
  EXPECT_FALSE(token_at("/* ! */", 0).is_executed());
}

TEST(Tokens, KnowWordsInLettersOfAnyCase) {
  EXPECT_TRUE(token_at("SeLeCt", 0).is_word("select"));
  EXPECT_FALSE(token_at("`select`", 0).is_word("select"));
  EXPECT_FALSE(token_at("selects", 0).is_word("select"));
}

}  // namespace
}  // namespace postern::sql
