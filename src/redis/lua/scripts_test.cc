#include "redis/lua/scripts.h"

#include <gtest/gtest.h>

#include <string>

namespace postern::redis {
namespace {

CachedScriptRef make(Scripts &scripts, Bytes text) {
  const std::array<char, lua::sha1_digits> name = lua::sha1_of(text);
  auto script = std::make_shared<CachedScript>();
  script->number = scripts.next_number();
  script->name.assign(name.data(), name.size());
  script->whole = text;
  script->text = script->whole;
  return scripts.add(std::move(script));
}

TEST(Scripts, AreFoundByTextAndByName) {
  Scripts scripts;
  const CachedScriptRef one = make(scripts, "return 1");
  const CachedScriptRef two = make(scripts, "return 2");
  EXPECT_EQ(scripts.find_text("return 1"), one);
  EXPECT_EQ(scripts.find_text("return 2"), two);
  EXPECT_EQ(scripts.find_text("return 3"), nullptr);
  EXPECT_EQ(scripts.find("e0e1f9fabfc9d4800c877a703b823ac0578ff8db"), one);
  EXPECT_EQ(make(scripts, "return 1"), one) << "the one that is there stays";
  scripts.flush();
  EXPECT_EQ(scripts.find_text("return 1"), nullptr);
  EXPECT_EQ(scripts.find(one->name), nullptr);
}

TEST(Scripts, LeaveWhenThereAreTooMany) {
  Scripts scripts;
  const CachedScriptRef oldest = make(scripts, "return 'oldest'");
  const CachedScriptRef used = make(scripts, "return 'used'");
  const std::string padding(size_t{3} << 20, ' ');
  for (int i = 0; i < 30; ++i) {
    make(scripts, "return " + std::to_string(i) + padding);
    EXPECT_EQ(scripts.find_text("return 'used'"), used) << "it was used lately";
  }
  EXPECT_EQ(scripts.find_text("return 'oldest'"), nullptr);
  EXPECT_EQ(scripts.find(oldest->name), nullptr);
  EXPECT_LE(scripts.figures().script_bytes, Scripts::cache_bytes_max);
}

TEST(Scripts, LongOnesAreFoundByNameAlone) {
  Scripts scripts;
  const std::string text = "return 1" + std::string(10'000, ' ');
  const CachedScriptRef script = make(scripts, text);
  EXPECT_EQ(scripts.find_text(text), nullptr);
  EXPECT_EQ(scripts.find(script->name), script);
}

}  // namespace
}  // namespace postern::redis
