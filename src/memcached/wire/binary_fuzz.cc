// Any bytes, in any pieces, become requests that keep every bound and point into the received bytes; and all answers to
// them are whole packets with the request's opaque.
//
// The first byte of an input chooses where the rest is cut.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memcached/wire/forms.h"
#include "memcached/wire/testing/packet_writer.h"
#include "memcached/wire/binary_parser.h"
#include "support/unit/fuzzing.h"

namespace postern::memcached {
namespace {

using postern::test::require;

constexpr Bounds bounds{.value_bytes_max = 300, .line_bytes_max = 2'048};
// The longest packet that may be incomplete: a login's, because the value is short here.
constexpr size_t packet_bytes_max = 24 + 250 + 8 + 5'000;

void check_answers(const Request &request) {
  constexpr BinaryForm form;
  Output output;
  const Item item{.value = "value", .flags = 1, .cas = 2};
  form.item(output, request, item);
  form.number(output, request, 3, item);
  for (const Result result :
       {Result::done, Result::not_found, Result::exists, Result::not_stored, Result::not_a_number})
    form.result(output, request, result, 4);
  for (size_t failure = 0; failure < failure_count; ++failure)
    form.failed(output, request, static_cast<Failure>(failure), "");
  form.plain(output, request, "value");
  form.statistic(output, request, "name", "value");
  output.release();
  std::string_view bytes = output.sendable();
  while (!bytes.empty()) {
    test::Answer answer;
    require(test::read_answer(bytes, answer), "answers are whole packets");
    require(answer.opaque == request.opaque && answer.opcode == request.opcode, "the opaque goes back");
  }
}

class Checked {
 public:
  void receive(std::string_view bytes) {
    received_ += bytes;
    while (!closed_) {
      // A copy of exactly its size, so that a sanitizer detects reads beyond it.
      std::vector<char> copy(received_.begin(), received_.end());
      Request request;
      size_t consumed = 0;
      const Parsed parsed = parser_.take({copy.data(), copy.size()}, bounds, consumed, request);
      require(consumed <= copy.size(), "consumes what there is");
      require((parsed == Parsed::need_more) == (consumed == 0), "goes on or waits");
      if (parsed == Parsed::need_more) {
        require(copy.size() < packet_bytes_max, "waits for no more than a packet may have");
        return;
      }
      if (parsed != Parsed::nothing) check({copy.data(), consumed}, request);
      closed_ = parsed == Parsed::close;
      received_.erase(0, consumed);
    }
  }

  const std::string &requests() const { return requests_; }
  bool closed() const { return closed_; }

 private:
  void check(std::string_view bytes, const Request &request) {
    for (const Bytes view : {request.key, request.item.value, request.detail, request.user, request.password}) {
      require(view.empty() || (view.data() >= bytes.data() && view.data() + view.size() <= bytes.data() + bytes.size()),
              "views point into the input");
      requests_.append(view) += '\n';
    }
    require(request.key.size() <= key_bytes_max, "key_bytes_max");
    require(request.action == Action::login || request.action == Action::refused ||
                request.item.value.size() <= bounds.value_bytes_max,
            "value_bytes_max");
    require(request.action != Action::refused || request.refusal != Refusal::none, "a refusal has a reason");
    for (const uint64_t number : {uint64_t(request.action), uint64_t(request.item.action), uint64_t(request.refusal),
                                  uint64_t(request.quiet), uint64_t(request.opaque), uint64_t(request.item.flags),
                                  uint64_t(request.expiry), request.item.cas, request.item.delta, request.item.initial})
      requests_ += std::to_string(number) + " ";
    check_answers(request);
  }

  BinaryParser parser_;
  std::string received_;
  std::string requests_;
  bool closed_ = false;
};

void examine(std::string_view input) {
  if (input.empty()) return;
  postern::test::received_in_any_pieces<Checked>(input);
}

}  // namespace
}  // namespace postern::memcached

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  postern::memcached::examine({reinterpret_cast<const char *>(data), size});
  return 0;
}
