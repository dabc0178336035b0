#include "memcached/wire/form.h"

#include <gtest/gtest.h>

#include <string>

namespace postern::memcached {
namespace {

template <class Write>
std::string written(Write write) {
  Output output;
  write(output);
  output.release();
  return std::string(output.sendable());
}

std::string failed(const Request &request, Failure failure, Bytes message) {
  return written([&](Output &output) { form_of(request.dialect).failed(output, request, failure, message); });
}

TEST(McForm, AFailureIsTheClientsOrTheServers) {
  const Request request;
  EXPECT_EQ(failed(request, Failure::bad_value, "Data too long for column 'c'"),
            "CLIENT_ERROR Data too long for column 'c'\r\n");
  EXPECT_EQ(failed(request, Failure::row_locked, {}),
            "SERVER_ERROR Lock wait timeout exceeded; try restarting transaction\r\n");
  EXPECT_EQ(failed(request, Failure::unknown_command, "x"), "ERROR\r\n");
  EXPECT_EQ(failed(request, Failure::request_too_large, {}), "SERVER_ERROR object too large for cache\r\n");
  EXPECT_EQ(failed(request, Failure::not_a_number, {}),
            "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
}

TEST(McForm, EveryFailureHasALine) {
  for (size_t i = 1; i < failure_count; ++i) {
    const std::string line = failed({}, static_cast<Failure>(i), {});
    EXPECT_TRUE(line.starts_with("CLIENT_ERROR ") || line.starts_with("SERVER_ERROR ") || line == "ERROR\r\n") << line;
    EXPECT_EQ(line.find("\r\n"), line.size() - 2);
  }
}

TEST(McForm, AMessageStaysOneLineOfBoundedLength) {
  EXPECT_EQ(failed({}, Failure::engine_error, "a\r\nVALUE b\tc"), "SERVER_ERROR a  VALUE b c\r\n");
  const std::string line = failed({}, Failure::engine_error, std::string(10'000, 'x'));
  EXPECT_LT(line.size(), 500u);
  std::string umlauts;
  for (int i = 0; i < 1'000; ++i) umlauts += "\xc3\xa4";
  const std::string cut = failed({}, Failure::engine_error, "x" + umlauts);
  EXPECT_TRUE(cut.ends_with("\xc3\xa4\r\n"));
}

TEST(McForm, NoreplyIsNotAnsweredAtAll) {
  Request request;
  request.quiet = true;
  const Form &form = form_of(Dialect::text);
  for (const ItemAction action :
       {ItemAction::set, ItemAction::erase, ItemAction::touch, ItemAction::flush, ItemAction::increment}) {
    request.ask(action);
    EXPECT_EQ(failed(request, Failure::engine_error, "x"), "");
    EXPECT_EQ(written([&](Output &output) { form.result(output, request, Result::done, 1); }), "");
    EXPECT_EQ(written([&](Output &output) { form.number(output, request, 1, {}); }), "");
  }
}

TEST(McForm, QuietMetaCommandsStillAnswerErrors) {
  Request request;
  request.dialect = Dialect::meta;
  request.opcode = 's';
  request.ask(ItemAction::set);
  request.meta.quiet = true;
  EXPECT_EQ(failed(request, Failure::engine_error, "x"), "SERVER_ERROR x\r\n");
}

TEST(McForm, ItemsOfAnySizeAreWhole) {
  for (const size_t size : {size_t{0}, limits::output_piece_bytes_max - 100, limits::output_piece_bytes_max - 80,
                            limits::output_piece_bytes_max, 3 * limits::output_piece_bytes_max + 1}) {
    const std::string value(size, 'v');
    Request request;
    request.ask(ItemAction::get);
    request.key = "key";
    request.wants_cas = true;
    request.ends = true;
    const Item item{.value = value, .flags = UINT32_MAX, .cas = UINT64_MAX};
    EXPECT_EQ(written([&](Output &output) { form_of(Dialect::text).item(output, request, item); }),
              "VALUE key 4294967295 " + std::to_string(size) + " 18446744073709551615\r\n" + value + "\r\nEND\r\n");
    request.meta.value = true;
    request.meta.flags = "k  c";
    EXPECT_EQ(written([&](Output &output) { form_of(Dialect::meta).item(output, request, item); }),
              "VA " + std::to_string(size) + " kkey c18446744073709551615\r\n" + value + "\r\n");
  }
}

TEST(McForm, AnExpiredItemHasNoSecondsLeft) {
  Request request;
  request.ask(ItemAction::get);
  request.dialect = Dialect::meta;
  request.meta.flags = "t";
  const auto told = [&](int64_t expires_at) {
    return written([&](Output &output) {
      form_of(Dialect::meta).item(output, request, Item{.value = {}, .expires_at = expires_at, .now = 1'000});
    });
  };
  EXPECT_EQ(told(0), "HD t-1\r\n");
  EXPECT_EQ(told(1'001), "HD t1\r\n");
  EXPECT_EQ(told(1), "HD t0\r\n");
}

TEST(McForm, StatisticsEndWithANameThatIsEmpty) {
  const Request request;
  const Form &form = form_of(Dialect::text);
  EXPECT_EQ(written([&](Output &output) {
              form.statistic(output, request, "threads", "4");
              form.statistic(output, request, {}, {});
            }),
            "STAT threads 4\r\nEND\r\n");
}

TEST(McForm, ALoginIsAnsweredAsTheSetThatItCameAs) {
  Request request;
  request.action = Action::login;
  const Form &form = form_of(Dialect::text);
  EXPECT_EQ(written([&](Output &output) { form.plain(output, request, {}); }), "STORED\r\n");
  request.action = Action::refused;
  request.refusal = Refusal::not_logged_in;
  EXPECT_EQ(written([&](Output &output) { form.plain(output, request, {}); }), "CLIENT_ERROR unauthenticated\r\n");
}

}  // namespace
}  // namespace postern::memcached
