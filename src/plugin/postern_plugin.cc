// postern_plugin.cc: the plugin `postern`: the MySQL protocol, the whole server through a port and a socket of its own.
#include "server_plugin.h"

#include <climits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sqldoor/protocol.h"
#include "library.h"
#include "live_settings.h"
#include "running.h"
#include "settings.h"

namespace postern::plugin::postern {

#define PREFIX "postern_"
#define OWN_SETTINGS "sqldoor/settings.def"
#include "plugin_settings.inc"

namespace {

class PosternRunning final : public Running {
 public:
  ~PosternRunning() override {
    if (!settings.main_port) return;
    engine::take_main_port(nullptr, nullptr);
    library::stay();  // the server's acceptor may still be in our scheduler
  }
  bool open() override;
  const Doors &doors() const override { return doors_; }
  void apply_settings() override;
  void add_own(StatusPage &page, const Counters &counters) const override;
  void add_plans(std::vector<PlanNotes> &rows) const override;
  void reset_plans() const override { protocol_->reset_counts(); }

 private:
  door::Options door_options() const;

  // In the order of their dependencies.
  std::unique_ptr<sqldoor::MySql> protocol_;
  Doors doors_{"postern", settings};
};

bool PosternRunning::open() {
  engine::verify_statements(settings.verify);
  engine::plan_statements_once(settings.plan_once != 0);
  protocol_ = std::make_unique<sqldoor::MySql>(doors_.engine());
  if (!doors_.open({.options = door_options(),
                    .protocol = protocol_.get(),
                    .access = Access::read,
                    .usual_port = 3307,
                    .asks = true,
                    .remedy = "accounts"}))
    return false;
  const auto take = [](void *self, int fd, bool local) {
    (void)static_cast<PosternRunning *>(self)->doors_.take(Access::read, fd, local);
  };
  if (settings.main_port) engine::take_main_port(take, this);
  return true;
}

door::Options PosternRunning::door_options() const {
  door::Options chosen = doors_.common("postern", settings);
  chosen.lets_in = "accounts";
  chosen.takes_others = settings.main_port != 0;
  chosen.statements_write = true;
  // One worker serves while the other waits for the disk; without readers nothing goes to the write lane.
  chosen.threads_per_processor = 2;
  return chosen;
}

void PosternRunning::apply_settings() {
  engine::verify_statements(settings.verify);
  engine::plan_statements_once(settings.plan_once != 0);
  doors_.apply(Access::read, door_options());
}

void PosternRunning::add_own(StatusPage &page, const Counters &) const {
  page.add_switch("listening", doors_.listening(Access::read));
  page.add("spared_processor_us", FormTimes::spared_us());
  engine::visit_statement_figures(
      [](void *to, const char *name, uint64_t figure) { static_cast<StatusPage *>(to)->add(name, figure); }, &page);
}

void PosternRunning::add_plans(std::vector<PlanNotes> &rows) const {
  for (const auto &known : protocol_->known()) {
    const FormTimes &times = *known->times();
    PlanNotes row{.form = known->shown(),
                  .used_in = known->database(),
                  .hits = known->hits(),
                  .worker_runs = times.workers().runs(),
                  .worker_us = times.workers().us(),
                  .server_runs = times.server().runs(),
                  .server_us = times.server().us(),
                  .seen_ms = known->seen_ms()};
    if (const Plan *const plan = known->plan(); plan != nullptr) {
      PlanFacts facts = plan->facts();
      row.kind = facts.kind;
      row.database = std::move(facts.database);
      row.table = std::move(facts.table);
      row.index = std::move(facts.index);
      row.state = !facts.off.empty() || facts.rests ? "retired" : facts.answers ? "served" : "learning";
      row.reason = facts.off.empty() ? facts.left_for : facts.off;
      if (facts.off.empty() && facts.rests) row.reason = "begun too often in vain, for now: " + row.reason;
      row.left = facts.left;
    } else {
      row.state = "not served";
      row.reason = known->why_not();
    }
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::unique_ptr<Running> make_running() {
  return std::make_unique<PosternRunning>();
}

}  // namespace postern::plugin::postern
