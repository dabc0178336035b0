// Any bytes, in any pieces, become ops that keep every limit and point into the received bytes; the fast tokenizer sees
// the same tokens as the plain one.
//
// The first byte of an input chooses the port and where the rest is cut.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "handlersocket/testing/op_text.h"
#include "handlersocket/protocol.h"
#include "handlersocket/testing/same_tokens.h"
#include "support/unit/fuzzing.h"

namespace postern::handlersocket {
namespace {

using test::require;

class Checked {
 public:
  explicit Checked(Access access) : protocol_(Settings{.access = access, .request_bytes_max = 2'000}) {
    session_ = protocol_.open_session(output_, peer_);
  }

  void receive(std::string_view bytes) {
    if (closed_) return;
    const std::span<char> room = input_.room(bytes.size() + 1);
    std::copy(bytes.begin(), bytes.end(), room.begin());
    input_.received(bytes.size());
    while (!closed_) {
      const std::span<char> unparsed = input_.unparsed();
      const uint32_t ops_max = 5;
      const Collected collected = session_->collect(input_, batch_, ops_max);
      require(batch_.size() <= ops_max, "ops_max");
      require(input_.unparsed_bytes() <= unparsed.size(), "consumes what there is");
      const std::string_view parsed(unparsed.data(), unparsed.size() - input_.unparsed_bytes());
      for (const Op &op : batch_.ops()) {
        check(op, parsed);
        ops_ += op_text(op) + "\n";
        ++count_;
      }
      batch_.clear();
      input_.settle();
      if (collected == Collected::close) closed_ = true;
      if (collected != Collected::more) return;
    }
  }

  const std::string &ops() const { return ops_; }
  size_t count() const { return count_; }
  bool closed() const { return closed_; }

 private:
  static void within(Bytes view, std::string_view parsed) {
    require(view.empty() || view == "PRIMARY" ||
                (view.data() >= parsed.data() && view.data() + view.size() <= parsed.data() + parsed.size()),
            "views point into the input");
  }
  static void within(const Value &value, std::string_view parsed) {
    require(value.is_null() || value.kind() == Value::Kind::bytes, "values are bytes or NULL");
    if (!value.is_null()) within(value.bytes(), parsed);
  }

  static void check(const Op &op, std::string_view parsed) {
    require(op.reply != nullptr, "every op has a reply");
    if (op.verb == Verb::open) {
      require(op.slot != nullptr, "an open has a slot");
      for (const Bytes name : {op.spec->database, op.spec->table, op.spec->index}) within(name, parsed);
      for (const std::span<const Bytes> list : {op.spec->columns, op.spec->filter_columns}) {
        require(list.size() <= limits::columns_max, "columns_max");
        for (const Bytes name : list) {
          // A name with doubled backquotes is a copy.
          if (name.find('`') == Bytes::npos) within(name, parsed);
        }
      }
    }
    if (op.verb != Verb::find) return;
    const Find &find = *op.find;
    require(op.slot != nullptr, "a find has a slot");
    require(!find.key.empty() && find.key.size() <= limits::key_parts_max, "key_parts_max");
    require(find.in_list.size() <= limits::key_values_max, "key_values_max");
    require(find.in_list.empty() || find.in_part < find.key.size(), "in_part");
    require(find.filters.size() <= limits::filters_max, "filters_max");
    require(find.limit >= 1, "limit");
    for (const Value &value : find.key) within(value, parsed);
    for (const Value &value : find.in_list) within(value, parsed);
    for (const Filter &filter : find.filters) within(filter.value, parsed);
  }

  HandlerSocket protocol_;
  const Peer peer_{};
  Input input_;
  Output output_;
  Batch batch_;
  std::unique_ptr<Session> session_;
  std::string ops_;
  size_t count_ = 0;
  bool closed_ = false;
};

void examine(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input[0]);
  const std::string_view bytes = input.substr(1);
  for (size_t start = 0; start < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', start), bytes.size());
    require(plain::same_tokens(bytes.substr(start, end - start)), "the tokenizers agree");
    start = end + 1;
  }

  const Access access = choice % 2 == 0 ? Access::read : Access::write;
  Checked whole(access);
  whole.receive(bytes);
  const auto lines = static_cast<size_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  require(whole.closed() || whole.count() == lines, "one op a line");

  Checked cut(access);
  const size_t at = bytes.empty() ? 0 : (choice / 2) * bytes.size() / 128;
  cut.receive(bytes.substr(0, at));
  cut.receive(bytes.substr(at));
  require(cut.ops() == whole.ops() && cut.closed() == whole.closed(), "the same ops however the bytes are cut");
}

}  // namespace
}  // namespace postern::handlersocket

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  postern::handlersocket::examine({reinterpret_cast<const char *>(data), size});
  return 0;
}
