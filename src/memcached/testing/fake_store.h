// fake_store.h: a parser, a form and a map between them, for tests: bytes in, bytes out.
//
// A map does the table's work at once, so that tests compare requests with answers. It shares no code with items, on
// purpose: a mistake about the protocol there shows here.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "base/output.h"
#include "memcached/wire/form.h"
#include "memcached/protocol.h"
#include "memcached/wire/text_framer.h"

namespace postern::memcached {

class FakeStore {
 public:
  explicit FakeStore(Bounds bounds = {.value_bytes_max = size_t{1} << 20, .line_bytes_max = 2'048}) : bounds_(bounds) {}

  /// Receives more bytes; returns the answers to them.
  std::string receive(std::string_view bytes) {
    if (closed_) return {};
    input_ += bytes;
    while (!closed_) {
      Request request;
      size_t consumed = 0;
      // A copy of its own, so that a sanitizer sees whoever reads beyond it.
      std::string unconsumed(input_);
      const Parsed parsed = parser_.take(unconsumed, bounds_, consumed, request);
      if (parsed == Parsed::need_more) break;
      input_.erase(0, consumed);
      if (parsed == Parsed::nothing) continue;
      answer(request);
      closed_ = parsed == Parsed::close || request.action == Action::quit;
    }
    output_.release();
    std::string answered(output_.sendable());
    output_.sent(answered.size());
    return answered;
  }

  bool closed() const { return closed_; }
  void set_now(int64_t now) { now_ = now; }

 private:
  struct Stored {
    std::string value;
    uint32_t flags = 0;
    uint64_t cas = 0;
    int64_t expires_at = 0;
  };

  int64_t absolute(Expiry expiry) const {
    if (expiry < 0) return 1;
    return expiry == 0 || expiry > 60 * 60 * 24 * 30 ? expiry : now_ + expiry;
  }

  Stored *find(Bytes key) {
    const auto found = items_.find(std::string(key));
    if (found == items_.end()) return nullptr;
    if (found->second.expires_at == 0 || found->second.expires_at > now_) return &found->second;
    items_.erase(found);
    return nullptr;
  }

  Item item_of(const Stored &stored) const {
    return {
        .value = stored.value, .flags = stored.flags, .cas = stored.cas, .expires_at = stored.expires_at, .now = now_};
  }

  void answer(const Request &request) {
    const Form &form = form_of(request.dialect);
    switch (request.action) {
      case Action::item: return answer_item(form, request);
      case Action::version: return form.plain(output_, request, "1.6.18");
      case Action::statistics: return protocol_.write_statistics(request, output_);
      case Action::end:
      case Action::noop:
      case Action::verbosity:
      case Action::quit:
      case Action::login:
      case Action::mechanisms:
      case Action::refused: return form.plain(output_, request, {});
    }
  }

  void answer_item(const Form &form, const Request &request) {
    switch (request.item.action) {
      case ItemAction::get: return get(form, request);
      case ItemAction::increment:
      case ItemAction::decrement: return count(form, request);
      case ItemAction::touch:
      case ItemAction::set:
      case ItemAction::add:
      case ItemAction::replace:
      case ItemAction::append:
      case ItemAction::prepend:
      case ItemAction::erase: {
        uint64_t cas = 0;
        const Result result = write(request, cas);
        return form.result(output_, request, result, cas);
      }
      case ItemAction::flush: items_.clear(); return form.result(output_, request, Result::done, 0);
    }
  }

  void get(const Form &form, const Request &request) {
    Stored *const stored = find(request.key);
    if (stored == nullptr) return form.result(output_, request, Result::not_found, 0);
    if (request.item.touches) stored->expires_at = absolute(request.expiry);
    form.item(output_, request, item_of(*stored));
  }

  void count(const Form &form, const Request &request) {
    Stored *stored = find(request.key);
    uint64_t number = request.item.initial;
    if (stored == nullptr) {
      if (!request.item.creates) return form.result(output_, request, Result::not_found, 0);
      stored = &items_[std::string(request.key)];
      stored->expires_at = absolute(request.expiry);
    } else {
      if (differs(*stored, request)) return form.result(output_, request, Result::exists, 0);
      if (!parse_natural(stored->value, number)) return form.result(output_, request, Result::not_a_number, 0);
      if (request.item.touches) stored->expires_at = absolute(request.expiry);
      number = request.item.action == ItemAction::increment ? number + request.item.delta
                                                            : number - std::min(number, request.item.delta);
    }
    stored->value = std::to_string(number);
    stored->cas = next_cas(request);
    form.number(output_, request, number, item_of(*stored));
  }

  static bool differs(const Stored &stored, const Request &request) {
    return (request.item.compares || request.item.cas != 0) && stored.cas != request.item.cas;
  }
  uint64_t next_cas(const Request &request) { return request.item.sets_cas ? request.item.new_cas : ++cas_; }

  Result write(const Request &request, uint64_t &cas) {
    Stored *stored = find(request.key);
    const bool joins = request.item.action == ItemAction::append || request.item.action == ItemAction::prepend;
    if (stored == nullptr) {
      if (request.item.action == ItemAction::touch || request.item.action == ItemAction::erase || request.item.compares)
        return Result::not_found;
      if (request.item.action == ItemAction::replace || (joins && !request.item.creates)) return Result::not_stored;
      stored = &items_[std::string(request.key)];
      *stored = {};
    } else {
      if (request.item.action == ItemAction::add) return Result::not_stored;
      if (differs(*stored, request)) return Result::exists;
    }
    if (request.item.action == ItemAction::erase) {
      items_.erase(std::string(request.key));
      return Result::done;
    }
    if (!joins) stored->expires_at = absolute(request.expiry);
    if (request.item.action == ItemAction::touch) return Result::done;
    if (!joins) stored->flags = request.item.flags;
    if (request.item.action == ItemAction::append) {
      stored->value.append(request.item.value);
    } else if (request.item.action == ItemAction::prepend) {
      stored->value.insert(0, request.item.value);
    } else {
      stored->value = request.item.value;
    }
    cas = stored->cas = next_cas(request);
    return Result::done;
  }

  Bounds bounds_;
  Memcached protocol_{{}};
  TextFramer parser_;
  Output output_;
  std::string input_;
  std::map<std::string, Stored> items_;
  int64_t now_ = 1'000'000'000;
  uint64_t cas_ = 0;
  bool closed_ = false;
};

}  // namespace postern::memcached
