// toy_protocol.h: ToyProtocol, with requests that have a door and an engine do all they can do.
//
// Requests, one a line:   say TEXT     the engine is asked nothing; answers TEXT
//                         rows N SIZE  N rows of SIZE bytes, then `end`; a number is the first bytes of each row
//                         table        waits while ToyEngine::busy; answers `free`
//                         lone         has to run alone, and waits while ToyEngine::lone_busy; answers `free`
//                         break N      N rows, then the engine fails
//                         search       reads without finding a row until ToyEngine::found or it has to stop;
//                                      then `none`, and `?` before that if its reader was in doubt
//                         hold         waits for ToyEngine::holds; answers `held`
//                         row MS       a write that works for MS milliseconds and then waits while
//                                      ToyEngine::row_locked, in the slow lane as long as it may; answers `changed`
//                         write        a run with such requests waits for ToyEngine::commits; answers `done`
//                         as NAME      answers `ok`, after which the client is NAME; no later request is parsed before
//                         wait NAME    the same by way of the slow lane
//                         who          answers with that name
//                         tls          answers `begin`; after that the stream is TLS
//                         sleep NAME MS  sleeps until a `wake NAME`, and answers `woken`, or `late` after so
//                                      many milliseconds; 0: never late
//                         wake NAME    answers `ok`; sleepers of that name wake when that is settled
//                         listen NAME  answers `ok`; each text for NAME is sent as it comes
//                         tell NAME TEXT  answers `ok`; listeners of that name are sent TEXT when that is settled
//                         unit A;B;C   those requests as one unit
//                         bye          answers `bye`; the connection is closed after that
#pragma once

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/passage.h"
#include "contract/executor.h"
#include "contract/session.h"

namespace postern::door {

class ToyReply final : public Reply {
 public:
  ToyReply(Output &output, Bytes answer) : output_(output), passage_(output), answer_(answer) {}

  Flow row(Row row) override {
    if (!passage_.begun()) passage_.begin();
    const Bytes bytes = row[0].bytes();
    if (!output_.streaming() && output_.flow(passage_.start(), bytes.size()) == Flow::pause) return Flow::pause;
    output_.put(bytes);
    return output_.streaming() ? output_.flow(passage_.start()) : Flow::more;
  }
  Flow still_wanted(uint32_t) override {
    if (!passage_.begun() && output_.doubts_reader()) {
      passage_.begin();
      output_.put('?');
    }
    return output_.still_wanted();
  }
  void done(const Outcome &outcome) override {
    if (outcome.failure == Failure::none) return put_line(answer_);
    if (!passage_.take_back()) return;
    put_line(failure_name(outcome.failure));
  }
  void restart() override { passage_.take_back(); }

 private:
  void put_line(Bytes text) {
    output_.put(text);
    output_.put('\n');
  }

  Output &output_;
  Passage passage_;
  Bytes answer_;
};

/// What ToyEngine is asked; travels as the key of a find.
enum class ToyAsk : uint64_t { rows, table, lone, broken, search, hold, commit };

/// The sleeping sessions, by name.
struct ToySleepers {
  std::mutex mutex;
  std::multimap<std::string, Waker *> by_name;

  struct Listener {
    Waker *waker;
    std::string told{};
  };
  std::multimap<std::string, Listener> listeners;
};

class ToySession final : public Session {
 public:
  ToySession(Output &output, const Peer &peer, std::string greeting, ToySleepers &sleepers)
      : output_(output), peer_(peer), greeting_(std::move(greeting)), sleepers_(sleepers) {
    slot_.fill(&binding_);
  }
  ~ToySession() override {
    stop_sleeping();
    const std::lock_guard guard(sleepers_.mutex);
    std::erase_if(sleepers_.listeners, [this](const auto &one) { return one.second.waker == waker_; });
  }

  bool may_sleep() const override { return true; }
  void take_waker(Waker &waker) override { waker_ = &waker; }
  int64_t wake_ms() const override { return wake_ms_; }

  void open() override {
    EXPECT_FALSE(std::exchange(open_, true)) << "only once";
    output_.put(greeting_);
  }
  Collected collect(Input &input, Batch &batch, uint32_t ops_max) override {
    EXPECT_TRUE(open_ && next_name_.empty()) << "parses too early";
    if (!sleeps_as_.empty() && !end_sleep(batch)) return pauses_ ? Collected::pause : Collected::sleep;
    for (uint32_t ops = 0; ops < ops_max; ++ops) {
      const std::span<char> bytes = input.unparsed();
      const Bytes text(bytes.data(), bytes.size());
      const size_t end = text.find('\n');
      if (end == Bytes::npos) return Collected::need_more;
      input.consume(end + 1);
      const Bytes line = text.substr(0, end);
      if (!take(line, batch)) return Collected::close;
      if (line == "tls") return Collected::start_tls;
      if (!next_name_.empty() || !sleeps_as_.empty()) return Collected::wait;
    }
    return Collected::more;
  }
  void settled() override {
    if (!next_name_.empty()) name_ = std::exchange(next_name_, {});
    const std::lock_guard guard(sleepers_.mutex);
    for (const std::string &name : std::exchange(wakes_, {})) {
      const auto [first, last] = sleepers_.by_name.equal_range(name);
      for (auto one = first; one != last; ++one) one->second->wake();
      sleepers_.by_name.erase(first, last);
    }
    for (const std::string &letter : std::exchange(letters_, {})) {
      const size_t blank = letter.find(' ');
      const auto [first, last] = sleepers_.listeners.equal_range(letter.substr(0, blank));
      for (auto one = first; one != last; ++one) {
        one->second.told += letter.substr(blank + 1) + "\n";
        one->second.waker->call();
      }
    }
  }
  Delivered deliver() override {
    const std::lock_guard guard(sleepers_.mutex);
    for (auto &[name, listener] : sleepers_.listeners) {
      if (listener.waker != waker_) continue;
      if (listener.told.size() > told_bytes_max) return Delivered::close;
      if (output_.above_high_water()) return Delivered::later;
      output_.put(listener.told);
      listener.told.clear();
    }
    return Delivered::all;
  }
  bool listens() const override { return listens_; }

 private:
  void begin_sleep(Bytes line) {
    const size_t blank = line.find(' ');
    sleeps_as_ = line.substr(0, blank);
    int64_t ms = 0;
    std::from_chars(line.data() + blank + 1, line.data() + line.size(), ms);
    wake_ms_ = ms == 0 ? INT64_MAX : clock_ms() + ms;
    const std::lock_guard guard(sleepers_.mutex);
    sleepers_.by_name.emplace(sleeps_as_, waker_);
  }
  /// True: nobody had it to wake any more.
  bool stop_sleeping() {
    const std::lock_guard guard(sleepers_.mutex);
    return std::erase_if(sleepers_.by_name, [this](const auto &one) { return one.second == waker_; }) == 0;
  }
  /// False: it sleeps on.
  bool end_sleep(Batch &batch) {
    const bool late = clock_ms() >= wake_ms_ || (pauses_ && peer_.sends_no_more());
    {
      const std::lock_guard guard(sleepers_.mutex);
      const auto is_own = [this](const auto &one) { return one.second == waker_; };
      const bool waits = std::any_of(sleepers_.by_name.begin(), sleepers_.by_name.end(), is_own);
      if (waits && !late) return false;
    }
    const bool woken = stop_sleeping();
    sleeps_as_.clear();
    batch.add().reply = batch.arena().make<ToyReply>(output_, woken ? "woken" : "late");
    return true;
  }

  bool take(Bytes line, Batch &batch) {
    Op op;
    if (line == "bye") {
      op.reply = batch.arena().make<ToyReply>(output_, line);
      batch.add(op);
      return false;
    }
    if (line == "tls" || line == "who") {
      op.reply = batch.arena().make<ToyReply>(output_, line == "tls" ? Bytes("begin") : batch.arena().copy(name_));
      batch.add(op);
      return true;
    }
    if (line.starts_with("as ")) {
      next_name_ = line.substr(3);
      op.reply = batch.arena().make<ToyReply>(output_, "ok");
      batch.add(op);
      return true;
    }
    if (line.starts_with("wait ")) {
      next_name_ = line.substr(5);
      return ask(batch, ToyAsk::lone, "ok", 0, 0);
    }
    pauses_ = line.starts_with("pause ");
    if (pauses_ || line.starts_with("sleep ")) {
      begin_sleep(line.substr(6));
      return true;
    }
    if (line.starts_with("listen ")) {
      listens_ = true;
      const std::lock_guard guard(sleepers_.mutex);
      sleepers_.listeners.emplace(line.substr(7), ToySleepers::Listener{waker_});
      op.reply = batch.arena().make<ToyReply>(output_, "ok");
      batch.add(op);
      return true;
    }
    if (line.starts_with("tell ")) {
      letters_.emplace_back(line.substr(5));
      op.reply = batch.arena().make<ToyReply>(output_, "ok");
      batch.add(op);
      return true;
    }
    if (line.starts_with("wake ")) {
      wakes_.emplace_back(line.substr(5));
      op.reply = batch.arena().make<ToyReply>(output_, "ok");
      batch.add(op);
      return true;
    }
    if (line.starts_with("say ")) {
      op.reply = batch.arena().make<ToyReply>(output_, line.substr(4));
      batch.add(op);
      return true;
    }
    if (line.starts_with("unit ")) {
      batch.begin_unit(true);
      for (line.remove_prefix(5); !line.empty();) {
        const size_t size = std::min(line.find(';'), line.size());
        take(line.substr(0, size), batch);
        line.remove_prefix(std::min(size + 1, line.size()));
      }
      batch.end_unit();
      return true;
    }
    if (line == "write") {
      Op &write = batch.add();
      write.verb = Verb::edit;
      write.reply = batch.arena().make<ToyReply>(output_, "done");
      return true;
    }
    const Bytes word = line.substr(0, line.find(' '));
    if (word == "row") {
      EditRows edit;
      std::from_chars(line.data() + 4, line.data() + line.size(), edit.find.limit);
      Op &change = batch.add();
      change.verb = Verb::edit;
      change.edit = batch.arena().make<EditRows>(edit);
      change.slot = &slot_;
      change.reply = batch.arena().make<ToyReply>(output_, "changed");
      return true;
    }
    if (word == "table") return ask(batch, ToyAsk::table, "free", 0, 0);
    if (word == "lone") return ask(batch, ToyAsk::lone, "free", 0, 0);
    if (word == "commit") return ask(batch, ToyAsk::commit, "committed", 0, 0);
    if (word == "hold") return ask(batch, ToyAsk::hold, "held", 0, 0);
    if (word == "search") return ask(batch, ToyAsk::search, "none", 0, 0);
    uint64_t count = 0;
    uint64_t size = 10;
    const char *const end = line.data() + line.size();
    const char *at = std::from_chars(line.data() + word.size() + 1, end, count).ptr;
    if (at != end) std::from_chars(at + 1, end, size);
    if (word == "break") return ask(batch, ToyAsk::broken, "never", count, 1000);
    return ask(batch, ToyAsk::rows, "end", count, size);
  }

  bool ask(Batch &batch, ToyAsk what, Bytes answer, uint64_t count, uint64_t size) {
    const std::span<Value> key = batch.arena().array<Value>(2);
    key[0] = Value::of_natural(static_cast<uint64_t>(what));
    key[1] = Value::of_natural(size);
    Op op;
    op.verb = Verb::find;
    op.find = batch.arena().make<Find>(Find{.key = key, .limit = count});
    op.slot = &slot_;
    op.reply = batch.arena().make<ToyReply>(output_, answer);
    batch.add(op);
    return true;
  }

  class TheTable final : public Binding {
   public:
    void unuse() noexcept override {}
    const TableSpec &spec() const noexcept override { return spec_; }

   private:
    const TableSpec spec_{"toy", "table", "PRIMARY"};
  };

  Output &output_;
  const Peer &peer_;
  const std::string greeting_;
  bool open_ = false;
  std::string name_;
  std::string next_name_;  // once the op that gives it is settled
  ToySleepers &sleepers_;
  static constexpr size_t told_bytes_max = size_t{4} << 20;
  Waker *waker_ = nullptr;
  bool listens_ = false;
  std::vector<std::string> letters_;
  std::string sleeps_as_;
  bool pauses_ = false;
  int64_t wake_ms_ = INT64_MAX;
  std::vector<std::string> wakes_;  // when all is settled
  TheTable binding_;
  TableSlot slot_;
};

class ToyProtocol final : public Protocol {
 public:
  std::unique_ptr<Session> open_session(Output &output, const Peer &peer) override {
    return std::make_unique<ToySession>(output, peer, greeting, sleepers);
  }
  TlsBegins tls_begins() const override { return tls; }
  void refuse(Output &output, Failure why) override {
    output.put(failure_name(why));
    output.put('\n');
  }

  std::string greeting;  ///< a session's first bytes
  TlsBegins tls = TlsBegins::with_the_first_byte;
  ToySleepers sleepers;
};

}  // namespace postern::door
