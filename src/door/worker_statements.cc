// worker_statements.cc: ops that a turn cannot do leave for the slow lane; the server serves statements without a plan,
// on the thread that has the worker's loop or on one of the pool.
#include <sys/prctl.h>

#include <new>
#include <utility>

#include "base/log.h"
#include "base/pool.h"
#include "door/lanes/crew_limits.h"
#include "door/lanes/serve_statement.h"
#include "door/worker.h"

namespace postern::door {

/// The body of a thread that has got the loop.
void Worker::work(void *self, Crew::Member &me) {
  Worker &worker = *static_cast<Worker *>(self);
  Crew &crew = *worker.crew_;
  // Otherwise the kernel may add 50 us to each wait of the commit delay.
  if (worker.has_writers_) ::prctl(PR_SET_TIMERSLACK, 1'000);
  if (worker.executor_ == nullptr) worker.begin_loop();
  else worker.take_loop_over();
  while (std::unique_ptr<SlowJob> job = worker.run_until_statement()) {
    worker.lend_thread(*job);
    ServerSession &session = *job->connection->hosted();
    const bool others_wait = worker.connections_.any_left() || !worker.statements_here_.empty();
    const bool others = worker.connections() > 1;
    const Crew::Others who = others_wait ? Crew::Others::wait : others ? Crew::Others::idle : Crew::Others::none;
    if (!crew.begin(me, session, who, worker.statements_here_.since_us())) {
      worker.executor_->enter_thread();
      job->connection->die();
      worker.take_job_back(std::move(job));
      continue;
    }
    if (!others && worker.connections_.count_now() > 1)
      worker.context_.watch.arm(LoopWatch::Look::soon);  // a client has come meanwhile
    const bool alive = serve_next(*job, &me);
    switch (crew.end(me, alive && session.learnt().failed, job->by_server)) {
      case Crew::Ended::has_loop: worker.take_thread_back(std::move(job), alive); continue;
      case Crew::Ended::moved: break;
      case Crew::Ended::orphaned:
        job->work.reset();
        job->connection->die();
        end_session(*job->connection);
        return;
    }
    if (!alive) job->connection->die();
    worker.statements_here_.note_end_elsewhere(*job);
    send_home(std::move(job));
    if (!crew.stand_by(me)) return;
    worker.take_loop_over();
  }
  worker.end_loop();
}

void Worker::begin_loop() {
  const ThreadIdentity who{.access = context_.access,
                           .name = name_.c_str(),
                           .wake_fd = wake_.fd(),
                           .counters = &counters_,
                           .listener = this};
  try {
    executor_ = context_.engine.attach(who, stop_);
  } catch (const std::bad_alloc &) {
    log::error("%s: out of memory", name_.c_str());
  }
  if (executor_ == nullptr) return;
  tables_.rest(*executor_, now_ms_);
  context_.worker_ready(context_.door);
}

void Worker::leave_turn(Connection &connection) {
  std::unique_ptr<SlowJob> job = spare_job_ != nullptr ? std::move(spare_job_) : std::make_unique<SlowJob>();
  connections_.send(connection);  // answers must not wait for unanswered requests
  job->work = connection.take_put_off();
  if (job->op().progress == Progress::paused) counters_.add(Counter::slow_finds);
  job->home = this;
  job->began_us = runs_.began_us();
  job->connection = connections_.let_go(connection);
  job->note_doing();
  if (job->op().verb == Verb::statement) {
    const Statement &statement = *job->op().statement;
    if (!is_login(*job)) job->prospect = statement.session->prospect(statement);
    if (!statements_here_.takes(*job, connections() == 1, now_ms_)) return leave_for_pool(std::move(job));
    connections_.lend(connection);  // and the poller goes on watching it
    statements_here_.add(std::move(job));
    return;
  }
  connections_.stop_watching(connection);
  context_.slow_lane.submit(std::move(job));
}

/// Its socket stays watched where the poller reports bytes once: not again and again until they are received, nor each
/// part of a file that the client sends meanwhile. After a login it is known by another channel.
void Worker::leave_for_pool(std::unique_ptr<SlowJob> job) {
  Connection &connection = *job->connection;
  if (is_login(*job) || connection.armed != Connection::told_once || job->prospect.client_sends) {
    connection.ops_are_lent = false;
    connections_.stop_watching(connection);
  } else {
    WorkerConnections::let_be_served(connection);
  }
  context_.statements.submit(std::move(job));
}

/// From here until take_thread_back() the thread belongs to the session.
void Worker::lend_thread(SlowJob &job) {
  const Prospect &prospect = job.prospect;
  if (prospect.wants_tables) tables_.give_up(*executor_);
  else if (tables_.are_held()) tables_.rest(*executor_, now_ms_);
  statements_here_.begin(job);
  permit_.give_back();
  sibling_.pause_turn();
  executor_->leave_thread();
}

/// The statement was served, and this thread still has the loop.
void Worker::take_thread_back(std::unique_ptr<SlowJob> job, bool alive) {
  executor_->enter_thread();
  const int64_t now_us = clock_us();
  now_ms_ = now_us / 1000;
  connections_.set_time(now_ms_);
  statements_here_.end(*job, now_us);
  counters_.add(Counter::statements_served);
  counters_.add(Counter::bytes_received, job->by_server.received);
  counters_.add(Counter::bytes_sent, job->by_server.sent);
  if (!alive) job->connection->die();
  else if (job->connection->hosted()->learnt().failed) counters_.add(Counter::requests_failed);
  take_job_back(std::move(job));
}

/// Adds its connection to the worker's again.
void Worker::take_job_back(std::unique_ptr<SlowJob> job) {
  const bool all_done = job->all_done();
  finish_job(*job);
  Connection &connection = *job->connection.release();
  if (all_done) runs_.put_by(std::move(job->work));
  *job = SlowJob();
  spare_job_ = std::move(job);
  connections_.take_back(connection, all_done);
}

/// The loop has moved to this thread. The connection with the statement under way comes back by the inbox.
void Worker::take_loop_over() {
  executor_->enter_thread();
  statements_here_.note_moved(clock_us());
  // If the session has ended by now, its socket has left the poller. A new socket of the same number is not in it yet.
  poller_.remove(statements_here_.fd());
  if (tables_.look_ms() != 0) tables_.rest(*executor_, now_ms_);  // the statement may have waited for them
}

/// Closes their connections; threads of the pool end the sessions.
void Worker::forget_statements() {
  while (std::unique_ptr<SlowJob> job = statements_here_.next()) {
    job->work.reset();
    job->connection->ops_are_lent = false;
    connections_.close(*job->connection.release());
  }
}

}  // namespace postern::door
