// Any bytes, in any pieces, become the same requests, which point into the received bytes and keep every bound, and
// each is answered with whole lines.
//
// The first byte of an input chooses where the rest is cut.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/unit/fuzzing.h"
#include "memcached/testing/fake_store.h"

namespace postern::memcached {
namespace {

using postern::test::require;

constexpr Bounds bounds{.value_bytes_max = 40, .line_bytes_max = 400};

class Checked {
 public:
  void receive(std::string_view bytes) {
    input_ += bytes;
    while (!closed_) {
      // A block of its own, so that a sanitizer detects reads beyond it.
      std::string there(input_);
      size_t consumed = 0;
      Request request;
      const Parsed parsed = parser_.take(there, bounds, consumed, request);
      require(consumed <= there.size(), "consumes what there is");
      require((parsed == Parsed::need_more) == (consumed == 0), "goes on unless it needs more");
      if (parsed == Parsed::need_more) {
        require(there == input_, "leaves alone what it does not take");
        return;
      }
      if (parsed != Parsed::nothing) note(request, std::string_view(there).substr(0, consumed));
      closed_ = parsed == Parsed::close;
      input_.erase(0, consumed);
    }
  }

  const std::string &requests() const { return requests_; }
  bool closed() const { return closed_; }
  /// Bytes that wait for more must be a request that may still be completed.
  size_t waiting_bytes() const { return closed_ ? 0 : input_.size(); }

 private:
  void note(const Request &request, std::string_view taken) {
    for (const Bytes view : {request.key, request.item.value, request.detail, request.meta.flags}) {
      require(view.empty() || (view.data() >= taken.data() && view.data() + view.size() <= taken.data() + taken.size()),
              "views point into what was taken");
    }
    if (request.action != Action::refused) {
      require(request.key.size() <= key_bytes_max, "key_bytes_max");
      require(request.item.value.size() <= bounds.value_bytes_max, "value_bytes_max");
      require(request.refusal == Refusal::none, "a refusal refuses");
    } else {
      require(request.refusal != Refusal::none, "a refused request says why");
    }
    const bool refused = request.action == Action::refused;
    for (const uint64_t number : {uint64_t(request.action),
                                  uint64_t(request.item.action),
                                  uint64_t(request.dialect),
                                  uint64_t(request.refusal),
                                  uint64_t(request.quiet),
                                  uint64_t(request.wants_cas),
                                  uint64_t(request.wants_value),
                                  uint64_t(request.item.touches),
                                  uint64_t(request.item.creates),
                                  uint64_t(request.ends),
                                  uint64_t(request.item.compares),
                                  uint64_t(request.item.sets_cas),
                                  uint64_t(request.opcode),
                                  uint64_t(request.item.flags),
                                  uint64_t(request.expiry),
                                  request.item.cas,
                                  request.item.new_cas,
                                  request.item.delta,
                                  request.item.initial,
                                  uint64_t(request.meta.base64),
                                  uint64_t(request.meta.value),
                                  uint64_t(request.meta.quiet)})
      requests_ += std::to_string(number) + ' ';
    for (const Bytes view : {refused ? Bytes{} : request.key, request.item.value, request.detail, request.meta.flags,
                             request.refusal_line}) {
      requests_ += std::to_string(view.size()) + ':';
      requests_ += view;
    }
    requests_ += '\n';
  }

  TextFramer parser_;
  std::string input_;
  std::string requests_;
  bool closed_ = false;
};

void examine(std::string_view input) {
  if (input.empty()) return;
  const std::string_view bytes = input.substr(1);
  const auto whole = postern::test::received_in_any_pieces<Checked>(input);
  require(whole.waiting_bytes() <=
              std::max(TextFramer::keys_bytes_seen, bounds.line_bytes_max + 2 + bounds.value_bytes_max + 2),
          "bounds what waits");
  Checked crumbs;
  if (bytes.size() <= 4'096) {
    for (const char &byte : bytes) crumbs.receive({&byte, 1});
    require(crumbs.requests() == whole.requests() && crumbs.closed() == whole.closed(), "the same byte by byte");
  }

  FakeStore store(bounds);
  const std::string answered = store.receive(bytes);
  require(answered.empty() || answered.ends_with("\r\n"), "answers are whole lines");
}

}  // namespace
}  // namespace postern::memcached

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  postern::memcached::examine({reinterpret_cast<const char *>(data), size});
  return 0;
}
