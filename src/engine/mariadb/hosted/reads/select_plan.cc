#include "engine/mariadb/hosted/thd/session_statement.h"

#include "engine/mariadb/hosted/reads/select_plan.h"

#include <algorithm>
#include <utility>

#include "engine/mariadb/basics/cluster.h"
#include "engine/mariadb/basics/opening.h"
#include "engine/mariadb/hosted/reads/kept_table.h"
#include "engine/mariadb/hosted/reads/resolve_read.h"

namespace postern::mariadb {
namespace {

std::atomic<uint64_t> last_id{0};

/// The thread's, for the memory it keeps.
SessionReader &session_reader() {
  static thread_local SessionReader reads;
  return reads;
}

size_t columns_of(const ReadForm &plan, const ResolvedRead &read) {
  if (counts_rows(plan)) return 1;
  const auto constants = std::ranges::count_if(plan.wanted, [](const FormWanted &one) {
    return one.what == FormWanted::What::constant || one.what == FormWanted::What::null;
  });
  return read.columns.size() + static_cast<size_t>(constants);
}

}  // namespace

SelectPlan::SelectPlan(ReadForm form)
    : form_(std::move(form)),
      id_(last_id.fetch_add(1, std::memory_order_relaxed) + 1),
      is_of_time_(std::ranges::any_of(form_.conditions, [](const FormCondition &one) {
        return std::ranges::any_of(one.values, mariadb::is_of_time);
      })) {}

std::shared_ptr<const StatementPlan> SelectPlan::recognise(THD *thd, LEX &lex, ParsedText parsed,
                                                           std::optional<WhyNot> &why) {
  if (lex.sql_command != SQLCOM_SELECT) return nullptr;
  ReadForm form;
  why = mariadb::recognise(thd, lex, parsed, form);
  return why ? nullptr : std::make_shared<const SelectPlan>(std::move(form));
}

const SelectPlan::Learnt *SelectPlan::find(const AnswerShape &shape) const {
  const Learnt *known = learnt_.first();
  while (known != nullptr && !(known->shape == shape)) known = known->next;
  return known;
}

PlanFacts SelectPlan::facts() const {
  PlanFacts facts{.kind = "SELECT", .database = form_.database, .table = form_.table};
  if (const Learnt *const newest = learnt_.first(); newest != nullptr) {
    facts.index = newest->index;
    facts.answers = newest->version == version() && bad_for_.load(std::memory_order_relaxed) != version();
  }
  add_facts(facts);
  return facts;
}

bool SelectPlan::is_granted(THD *thd) const {
  const TableNames names(form_.database, form_.table);
  TABLE_LIST list;
  name_table(thd, list, *names.database, *names.table, TL_READ);
  return SessionReader::may_read(thd, list, form_);
}

std::optional<NotNow> SelectPlan::may(THD *thd) const {
  return form_.lock != FormLock::none && is_client_of_cluster(thd) ? std::optional(NotNow::galera) : std::nullopt;
}

std::optional<NotNow> SelectPlan::answer(const Asked &asked, const AnswerTools &tools, Output &output) const {
  if (!holds()) return NotNow::plan_off;
  THD *const thd = asked.thd;
  ClientMetadata *const columns = asked.columns;
  const Learnt *const known = find(AnswerShape(thd, asked.prepared, columns != nullptr && columns->holds(thd)));
  if (known == nullptr || known->version != version()) return NotNow::not_learnt;
  if (bad_for_.load(std::memory_order_relaxed) == known->version) return NotNow::given_back;
  const bool may_be_bad = known->read.way == ReadWay::walk;
  if (may_be_bad && judge_.leaves_next()) return NotNow::compared;
  const uint64_t read_before = thd->status_var.rows_read;
  const std::optional<NotNow> why = session_reader().run(thd,
                                                         {.id = id_,
                                                          .form = form_,
                                                          .read = known->read,
                                                          .table_version = known->version,
                                                          .answer = known->answer,
                                                          .values = asked.statement.values,
                                                          .prepared = asked.prepared,
                                                          .bytes_received = asked.statement.packet.size()},
                                                         known->table_may_stay ? tools.reads : nullptr, output);
  if (!why && may_be_bad &&
      judge_.note_answered(thd->status_var.rows_read - read_before) != sql::PlanJudge::Verdict::good)
    bad_for_.store(known->version, std::memory_order_relaxed);
  if (!why && columns != nullptr && !known->shape.without_metadata) {
    *columns = known->columns;
    columns->client = thd->variables.character_set_client;
  }
  return why;
}

std::optional<WhyNot> SelectPlan::look(THD *thd) const {
  std::optional<WhyNot> why;
  const TableNames names(form_.database, form_.table);
  const bool opened = look_at_table(thd, names, [&](TABLE &table) {
    ResolvedRead read;
    table.file->info(HA_STATUS_NO_LOCK | HA_STATUS_CONST);
    why = resolve(form_, table, read);
    several_.store(read.way != ReadWay::one && form_.lock == FormLock::none, std::memory_order_relaxed);
    note_version(table.s->get_table_ref_version());
  });
  return !opened && is_view(thd, names) ? WhyNot::view : why;
}

void SelectPlan::learn(const Asked &asked, Bytes packets, uint64_t before) const {
  THD *const thd = asked.thd;
  AnswerShape shape(thd, asked.prepared);
  std::optional<sql::Answer> answer = sql::Answer::of(packets, shape.form);
  shape.without_metadata = answer && answer->columns_left_out();
  if (answer) judge_.note_server(asked.rows_read);
  look_at_table(thd, {form_.database, form_.table}, [&](TABLE &table) {
    ResolvedRead read;
    const uint64_t version = table.s->get_table_ref_version();
    const std::optional<WhyNot> why = resolve(form_, table, read);
    if (why == WhyNot::other_index) return bad_for_.store(version, std::memory_order_relaxed);
    if (why) return switch_off(words(*why).data());
    note_version(version);
    if (answer && answer->columns() != columns_of(form_, read))
      return switch_off("its answer has other columns than the table");
    if (version != before || !answer) return;
    if (answer->status() & without_index) return note_unlearnt(words_of_no_index);
    if (const Learnt *const known = find(shape); known != nullptr && known->version == version) return;
    if (!may_learn()) return;
    const char *const index = table.key_info[read.index].name.str;
    learnt_.push(
        new Learnt{shape, version, std::move(read), !may_be_kept(table), std::move(*answer), index, *asked.columns});
  });
}

}  // namespace postern::mariadb
