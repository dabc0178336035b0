#include "engine/mariadb/basics/server.h"

#include "engine/engine.h"
#include "engine/mariadb/hosted/planned/planned_form.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/verification.h"

namespace postern::engine {

void verify_statements(uint64_t one_in) {
  mariadb::verify_one_in(one_in);
}

void plan_statements_once(bool on) {
  mariadb::plan_once(on);
}

void visit_statement_figures(void (*visit)(void *to, const char *name, uint64_t figure), void *to) {
  const mariadb::Verified verified = mariadb::verified();
  visit(to, "verified_same", verified.same);
  visit(to, "verified_different", verified.different);
  visit(to, "verified_overtaken", verified.overtaken);
  static constexpr const char *names[] = {
#define NOT_NOW(name, words) "not_now_" #name,
#include "engine/mariadb/hosted/thd/not_now.def"
#undef NOT_NOW
  };
  const auto counted = mariadb::counted_reasons();
  for (size_t i = 0; i < counted.size(); ++i) visit(to, names[i], counted[i]);
}

}  // namespace postern::engine
