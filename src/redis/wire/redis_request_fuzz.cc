// Any bytes, cut anywhere: the same requests, within the limits, or the same error. The first byte of an input chooses
// the cut, and whether the client has not logged in.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/wire/glob.h"
#include "redis/wire/numbers.h"
#include "redis/wire/request_parser.h"
#include "support/unit/fuzzing.h"

namespace postern::redis {
namespace {

using test::require;

constexpr Bounds known{.arguments_max = 1'000, .argument_bytes_max = 5'000, .request_bytes_max = 20'000};
constexpr Bounds unknown{
    .arguments_max = 1'000, .argument_bytes_max = 5'000, .request_bytes_max = 20'000, .stranger = true};

template <bool stranger>
class Receiver {
 public:
  void receive(std::string_view bytes) {
    received_ += bytes;
    while (error_.empty()) {
      const Bounds &bounds = stranger ? unknown : known;
      switch (parser_.take({received_.data(), received_.size()}, bounds, *arena_)) {
        case Parsed::need_more: return;
        case Parsed::broken:
          error_ = parser_.error();
          require(error_.starts_with("Protocol error: "), "a complaint says what it is", error_);
          return;
        case Parsed::nothing: break;
        case Parsed::request: take(bounds); break;
      }
      require(parser_.consumed() != 0 && parser_.consumed() <= received_.size(), "a request has bytes");
      received_.erase(0, parser_.consumed());
    }
  }
  const std::vector<std::string> &requests() const { return requests_; }
  const std::string &closed() const { return error_; }

 private:
  void take(const Bounds &bounds) {
    require(!parser_.arguments().empty(), "a request has a name");
    std::string request;
    for (const Bytes argument : parser_.arguments()) {
      request.append(argument).append("\x01");
      int64_t integer = 0;
      if (parse_integer(argument, integer)) require(std::to_string(integer) == argument, "a number has one text");
    }
    require(parser_.consumed() <= bounds.request_bytes_max + line_bytes_max, "a request is within its bounds");
    if (parser_.arguments().size() > 1)
      (void)glob_matches(parser_.arguments()[0].substr(0, 64), parser_.arguments()[1].substr(0, 64));
    requests_.push_back(request);
  }

  RequestParser parser_;
  std::unique_ptr<Arena> arena_ = std::make_unique<Arena>();
  std::string received_;
  std::vector<std::string> requests_;
  std::string error_;
};

}  // namespace
}  // namespace postern::redis

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  if (data[0] & 1) postern::test::received_in_any_pieces<postern::redis::Receiver<true>>(input);
  else postern::test::received_in_any_pieces<postern::redis::Receiver<false>>(input);
  return 0;
}
