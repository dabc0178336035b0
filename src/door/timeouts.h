// timeouts.h: a worker's connections in the order in which they time out.
//
// They are in three lists: sleeping or listening ones without unsent replies; those in the middle of a request or a
// handshake, by when that began; and all others, by their last progress. So both timeouts cost nothing to watch,
// however many connections there are. A server session has its own idle limit, which changes with its statements: these
// connections have a clock (silence_clock.h). A worker has one of these, and its thread alone touches it; it owns no
// connection.
#pragma once

#include <algorithm>
#include <cstdint>

#include "contract/server_session.h"
#include "door/connections/connection.h"
#include "door/connections/options.h"
#include "door/silence_clock.h"

namespace postern::door {

class Timeouts {
 public:
  explicit Timeouts(const Options &options) : options_(options) {}
  Timeouts(const Timeouts &) = delete;
  Timeouts &operator=(const Timeouts &) = delete;

  /// Called before add(), with the new number of connections. Throws std::bad_alloc.
  void make_room_for(const Connection &connection, size_t count) {
    if (connection.hosted() != nullptr) sessions_.make_room_for(count);
  }
  void add(Connection &connection, int64_t now_ms) {
    connection.listed.note_active(now_ms);
    link_newest(connection);
    if (const ServerSession *const session = connection.hosted(); session != nullptr && session->alive())
      sessions_.set(connection, now_ms + session->idle_limit_ms());
  }
  /// Does nothing if it is not here, for example while a statement of it waits to be served.
  void remove(Connection &connection) {
    if (connection.older != nullptr || list_of(connection).oldest == &connection) unlink(connection);
    if (connection.clock_place != 0) clock_of(connection).remove(connection);
  }
  /// Any connection, or nullptr.
  Connection *any() const {
    if (idle_.oldest != nullptr) return idle_.oldest;
    return begun_.oldest != nullptr ? begun_.oldest : never_.oldest;
  }

  /// Called before set_alarm(), with the new number of connections. Throws std::bad_alloc.
  void make_room_for_alarms(size_t count) { alarms_.make_room_for(count); }
  /// The connection sleeps, until `due_ms` at most. It has no server session.
  void set_alarm(Connection &connection, int64_t due_ms) { alarms_.set(connection, due_ms); }
  void stop_alarm(Connection &connection) { alarms_.remove(connection); }

  /// The connection has finished a request, or its client has read bytes of a reply.
  void note_progress(Connection &connection, int64_t now_ms) {
    connection.listed.note_active(now_ms);
    hasten(connection, now_ms);
    if (idle_.newest == &connection) return;
    unlink(connection);
    connection.timeout_list = TimeoutList::idle;
    link_newest(connection);
  }

  /// Moves the connection to its list when a turn ends. With unsent answers it is in the idle list: the client may be
  /// busy reading them.
  void sort_in(Connection &connection, int64_t now_ms) {
    const bool begun = connection.begins_tls() || (connection.input.unparsed_bytes() != 0 && !connection.has_work() &&
                                                   connection.output.pending_bytes() == 0);
    TimeoutList list = begun ? TimeoutList::begun : TimeoutList::idle;
    if (connection.is_asleep() || (!begun && connection.listens()))
      list = connection.output.pending_bytes() == 0 ? TimeoutList::never : TimeoutList::idle;
    if (list == connection.timeout_list) return;
    unlink(connection);
    connection.timeout_list = list;
    connection.listed.note_active(now_ms);
    link_newest(connection);
  }

  /// Milliseconds until the next one times out; INT64_MAX: never.
  int64_t left_ms(int64_t now_ms) const {
    const auto left = [now_ms](const List &list, int64_t timeout_ms) {
      return list.oldest == nullptr || timeout_ms <= 0 ? INT64_MAX
                                                       : list.oldest->listed.active_ms() + timeout_ms - now_ms;
    };
    const auto left_of = [now_ms](const SilenceClock &clock) {
      const int64_t due_ms = clock.first_due_ms();
      return due_ms == INT64_MAX ? INT64_MAX : due_ms - now_ms;
    };
    return std::min({left(idle_, options_.idle_timeout_ms), left(begun_, begun_timeout_ms()), left_of(sessions_),
                     left_of(alarms_)});
  }

  // `visit` may remove the connection it is given.

  /// Visits connections that were silent for too long.
  template <class Visit>
  void visit_silent(int64_t now_ms, Visit visit) {
    if (const int64_t timeout_ms = options_.idle_timeout_ms; timeout_ms > 0)
      visit_older(idle_, now_ms - timeout_ms, visit);
    while (Connection *const first = sessions_.first()) {
      if (sessions_.first_due_ms() > now_ms) return;
      const int64_t due_ms = first->listed.active_ms() + first->hosted()->idle_limit_ms();
      if (due_ms > now_ms && !first->is_dead()) {
        sessions_.set(*first, due_ms);
      } else {
        sessions_.remove(*first);
        visit(*first);
      }
    }
  }
  /// Visits connections with a due alarm; `visit` stops the alarm.
  template <class Visit>
  void visit_alarms(int64_t now_ms, Visit visit) {
    while (alarms_.first() != nullptr && alarms_.first_due_ms() <= now_ms) visit(*alarms_.first());
  }
  /// Visits connections that did not finish a request or a handshake in time.
  template <class Visit>
  void visit_unfinished(int64_t now_ms, Visit visit) const {
    if (const int64_t timeout_ms = begun_timeout_ms(); timeout_ms > 0) visit_older(begun_, now_ms - timeout_ms, visit);
  }
  /// Visits connections with a request or handshake that began at that time or before.
  template <class Visit>
  void visit_begun_until(int64_t until_ms, Visit visit) const {
    visit_older(begun_, until_ms, visit);
  }

 private:
  /// Shortens the clock of a server session after SET wait_timeout or the start of a transaction. A longer limit is
  /// noticed when the old one is due.
  void hasten(Connection &connection, int64_t now_ms) {
    const ServerSession *const session = connection.hosted();
    if (session == nullptr || connection.clock_place == 0) return;
    const int64_t due_ms = now_ms + session->idle_limit_ms();
    if (due_ms < sessions_.due_ms(connection)) sessions_.set(connection, due_ms);
  }

  /// In the order of Listed::active_ms().
  struct List {
    Connection *oldest = nullptr;
    Connection *newest = nullptr;
  };

  template <class Visit>
  static void visit_older(const List &list, int64_t until_ms, Visit visit) {
    for (Connection *connection = list.oldest; connection != nullptr && connection->listed.active_ms() <= until_ms;) {
      Connection &visited = *connection;
      connection = connection->newer;
      visit(visited);
    }
  }

  int64_t begun_timeout_ms() const {
    const int64_t request_ms = options_.request_timeout_ms;
    const int64_t idle_ms = options_.idle_timeout_ms;
    return request_ms <= 0 || idle_ms <= 0 ? std::max(request_ms, idle_ms) : std::min(request_ms, idle_ms);
  }

  List &list_of(const Connection &connection) {
    switch (connection.timeout_list) {
      case TimeoutList::idle: break;
      case TimeoutList::begun: return begun_;
      case TimeoutList::never: return never_;
    }
    return idle_;
  }
  SilenceClock &clock_of(const Connection &connection) { return connection.hosted() != nullptr ? sessions_ : alarms_; }

  void link_newest(Connection &connection) {
    List &list = list_of(connection);
    connection.older = list.newest;
    connection.newer = nullptr;
    (list.newest != nullptr ? list.newest->newer : list.oldest) = &connection;
    list.newest = &connection;
  }

  void unlink(Connection &connection) {
    List &list = list_of(connection);
    (connection.older != nullptr ? connection.older->newer : list.oldest) = connection.newer;
    (connection.newer != nullptr ? connection.newer->older : list.newest) = connection.older;
    connection.older = connection.newer = nullptr;
  }

  const Options &options_;
  List idle_;
  List begun_;
  List never_;
  SilenceClock sessions_;
  SilenceClock alarms_;
};

}  // namespace postern::door
