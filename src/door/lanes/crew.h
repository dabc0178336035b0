// crew.h: Crew, the threads of one worker. One has the worker's loop; another stands by to take it over.
//
// The thread that has the loop may serve a statement of the server on behalf of one of its clients. If the server waits
// meanwhile, or the statement lasts and others need the loop, the loop moves to the thread that stands by, which then
// answers all other clients. The first thread ends its statement, gives the connection back and stands by in turn. A
// statement that neither waits nor lasts costs no more than a few writes to memory.
//
//   has the loop --begin()--> serves a statement --end(): has_loop--> has the loop
//        ^                         | move(), by itself, the watch or whoever stops the worker
//        | it is called            v
//   stands by <--stand_by()-- serves on, without the loop: end() says moved, or orphaned
//
// Shared by its worker and its threads. A statement that one of them serves may delete the worker (UNINSTALL PLUGIN):
// that thread becomes an orphan, which outlives the worker.
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
  /// One thread of the crew. It begins with the loop, or stands by.
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
    sem_t called_;                      // posted each time that it gets the loop, or is sent away
    bool has_loop_ = false;             // written before called_ is posted, and by the thread itself
    bool orphaned_ = false;             // guarded by the crew's mutex, as are the next
    bool left_ = false;                 // it does not touch its crew any more
    ServerSession *session_ = nullptr;  // that it serves
  };
  /// Runs the loop on the calling thread, until it is over or end() says that the thread is an orphan, which must not
  /// touch `owner` any more.
  using Body = void (*)(void *owner, Member &me);

  /// `watch` and `owner` outlive all threads but orphans.
  Crew(std::string name, Body body, void *owner, LoopWatch &watch);
  ~Crew();

  /// Starts the first thread, which has the loop.
  [[nodiscard]] bool start();

  // For the thread that has the loop.

  /// Whether a thread stands by, or could be started; to be asked before begin().
  [[nodiscard]] bool has_stand_in();
  /// The need of other clients for the loop while this thread serves a statement.
  enum class Others : uint8_t {
    none,  ///< no other client, unless one connects
    idle,  ///< other clients, which may send a request
    wait,  ///< other clients have sent requests
  };
  /// Called before this thread serves a statement of `session`, which begins at `now_us`. False: the worker is being
  /// stopped, and no statement may begin.
  [[nodiscard]] bool begin(Member &me, ServerSession &session, Others others, int64_t now_us);
  /// The loop has ended for good.
  void loop_is_over();

  // For a thread that has served a statement.

  enum class Ended : uint8_t {
    has_loop,  ///< it continues the loop
    moved,     ///< another thread has the loop, and the worker
    orphaned,  ///< the worker is gone
  };
  /// `by_server`: bytes of the client that the server read and wrote. If the thread has lost the loop they are counted
  /// here.
  Ended end(Member &me, bool failed, const Traffic &by_server = {});
  /// Waits for the loop. False: the loop has ended, and the thread has to end, too.
  [[nodiscard]] bool stand_by(Member &me);

  // Any thread.

  /// The thread that serves a statement and has the loop, or nullptr.
  const Member *serving() const { return serving_.load(std::memory_order_seq_cst); }
  /// How many statements have begun.
  uint64_t begun() const { return begun_.load(std::memory_order_relaxed); }
  /// The value when the last one began.
  Others others() const { return others_.load(std::memory_order_relaxed); }
  /// Moves the loop to another thread, if `from` has it and serves a statement. Never waits.
  void move(const Member &from) noexcept;
  /// Interrupts all statements except the calling thread's own; no other begins.
  void stop();
  /// Waits for all threads but the calling one, which becomes an orphan.
  void join();
  /// Makes another thread's join(), running or to come, not wait for the calling thread, if that is one of the crew:
  /// the loop goes on without it, and it becomes an orphan.
  void spare_caller();
  /// Numbers of statements that ended here, and of moves of the loop.
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
  Member *stand_in_ = nullptr;  // used by the thread that has the loop, or by the one that moves it

  mutable std::mutex mutex_;  // guards the members below; taken before sessions' mutexes
  std::condition_variable left_or_orphaned_;
  std::array<std::unique_ptr<Member>, limits::crew_threads_max> members_;
  size_t count_ = 0;
  std::array<Member *, limits::crew_threads_max> standing_by_{};  // in addition to stand_in_
  size_t standing_by_count_ = 0;
  bool stopping_ = false;
  bool over_ = false;
  Counters counters_;
  Figures figures_;
};

}  // namespace postern::door
