// protocol.h: the MySQL protocol: the whole server through a door. Every byte that a client gets was made by the
// server, now or earlier; this room cuts the client's bytes into commands and finds the plan of each.
#pragma once

#include <memory>
#include <vector>

#include "contract/executor.h"
#include "contract/session.h"
#include "sqldoor/plan_cache.h"

namespace postern::sqldoor {

class MySql final : public Protocol {
 public:
  /// `engine` outlives it; a session may outlive both.
  explicit MySql(Engine &engine);

  std::unique_ptr<Session> open_session(Output &output, const Peer &peer) override;
  void refuse(Output &output, Failure why) override;
  /// All known forms of statements, for INFORMATION_SCHEMA. Any thread.
  std::vector<std::shared_ptr<const KnownForm>> known() const { return cache_->all(); }
  /// Resets their counts and times.
  void reset_counts() const {
    for (const auto &form : known()) form->reset();
  }

 private:
  /// Approximate bytes of all known plans.
  static constexpr size_t plan_bytes_max = size_t{64} << 20;

  Engine &engine_;
  const std::shared_ptr<PlanCache> cache_;
};

}  // namespace postern::sqldoor
