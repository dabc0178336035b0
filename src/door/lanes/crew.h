// crew.h: Crew, the threads of one worker. One has the worker's loop; another stands by to take it over.
//
// The thread that has the loop may serve a statement of the server on behalf of one of its clients. If the server waits
// meanwhile, or the statement lasts and others need the loop, the loop moves to the thread that stands by: that one
// answers all other clients from then on. The thread that is left ends its statement, gives the connection back and
// stands by in turn. A statement that neither waits nor lasts costs no more than a few writes to memory.
//
//   has the loop --begin()--> serves a statement --end(): has_loop--> has the loop
//        ^                         | move(), by itself, the watch or whoever stops the worker
//        | it is called            v
//   stands by <--stand_by()-- serves on, without the loop: end() says moved, or orphaned
//
// Shared by its worker and its threads. Its worker may be deleted by a statement that one of them serves (UNINSTALL
// PLUGIN): that thread is an orphan then, and outlives the worker.
#pragma once

#include <semaphore.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/counters.h"
#include "door/lanes/crew_limits.h"
#include "contract/server_session.h"
#include "door/connections/thread.h"

namespace postern::door {

class LoopWatch;

class Crew : public std::enable_shared_from_this<Crew> {
 public:
  /// One thread. It begins with the loop, or stands by.
  class Member final : public WaitListener {
   public:
    Member();
    ~Member() override;
    Member(const Member &) = delete;
    Member &operator=(const Member &) = delete;

    void thread_waits() noexcept override;

   private:
    friend class Crew;
    Crew *crew_ = nullptr;
    bool begins_with_loop_ = false;
    Thread thread_;
    sem_t called_;                      // once for each time that it gets the loop, or is sent away
    bool has_loop_ = false;             // written before it is called, and by itself
    bool orphaned_ = false;             // guarded by the crew's mutex, as the next ones
    bool left_ = false;                 // it touches nothing of its crew any more
    ServerSession *session_ = nullptr;  // that it serves
  };
  /// Keeps the loop going on the calling thread, until it is over or end() says that the thread is an orphan, which
  /// must touch nothing of `owner` any more.
  using Body = void (*)(void *owner, Member &me);

  /// `watch` and `owner` outlive all threads but orphans.
  Crew(std::string name, Body body, void *owner, LoopWatch &watch);
  ~Crew();

  /// Starts the first thread, which has the loop.
  [[nodiscard]] bool start();

  // For the thread that has the loop.

  /// Whether a thread stands by, or could be started; to be asked before begin().
  [[nodiscard]] bool has_stand_in();
  /// Whether somebody else needs the loop while this thread serves a statement.
  enum class Others : uint8_t {
    none,  ///< there is nobody, unless somebody comes
    idle,  ///< they may ask for something
    wait,  ///< they have asked
  };
  /// This thread is going to serve a statement of `session`, from `now_us` on. False: the worker is being stopped, and
  /// no statement is to begin.
  [[nodiscard]] bool begin(Member &me, ServerSession &session, Others others, int64_t now_us);
  /// No thread will have the loop again.
  void loop_is_over();

  // For a thread that has served a statement.

  enum class Ended : uint8_t {
    has_loop,  ///< it goes on where it was
    moved,     ///< another thread has the loop, and the worker is that one's
    orphaned,  ///< the worker is gone
  };
  /// `by_server`: the client's bytes that the server has read and written. Unless the thread has the loop they are
  /// counted here.
  Ended end(Member &me, bool failed, const Traffic &by_server = {});
  /// Waits for the loop. False: it is over, and the thread has to leave.
  [[nodiscard]] bool stand_by(Member &me);

  // Any thread.

  /// The thread that serves a statement and has the loop, or nullptr.
  const Member *serving() const { return serving_.load(std::memory_order_seq_cst); }
  /// How many statements have begun.
  uint64_t begun() const { return begun_.load(std::memory_order_relaxed); }
  /// As it was when the last one began.
  Others others() const { return others_.load(std::memory_order_relaxed); }
  /// Another thread gets the loop, if `from` serves a statement and has it. Never waits.
  void move(const Member &from) noexcept;
  /// Interrupts the statements that are served, but for one of the calling thread; none begins any more.
  void stop();
  /// Waits for all threads but the calling one, which becomes an orphan.
  void join();
  /// Has join(), which another thread is in or about to call, not wait for the calling one, if that is one of these:
  /// the worker's loop moves on without it, and it becomes an orphan.
  void spare_caller();
  /// Statements that were served here to their end, and times the loop was moved.
  struct Figures {
    uint64_t in_place = 0;
    uint64_t moved = 0;
  };
  void add_figures(Figures &sum) const;
  /// Adds the counts of statements that the loop was moved away from.
  void add_counters(Counters &sum) const;

 private:
  static void work(void *member);
  bool start_member(bool with_loop);
  static void call(Member &member);

  static thread_local Member *current_;

  const std::string name_;
  const Body body_;
  void *const owner_;
  LoopWatch &watch_;
  std::atomic<const Member *> serving_{nullptr};
  std::atomic<uint64_t> begun_{0};
  std::atomic<Others> others_{Others::none};
  Member *stand_in_ = nullptr;  // touched by the thread that has the loop, or by the one that moves it

  mutable std::mutex mutex_;  // guards what follows; above those of sessions
  std::condition_variable left_or_orphaned_;
  std::array<std::unique_ptr<Member>, limits::crew_threads_max> members_;
  size_t count_ = 0;
  std::array<Member *, limits::crew_threads_max> standing_by_{};  // besides stand_in_
  size_t standing_by_count_ = 0;
  bool stopping_ = false;
  bool over_ = false;
  Counters counters_;
  Figures figures_;
};

}  // namespace postern::door
