#include "engine/sql/known_rights.h"

namespace postern::sql {

Rights rights_needed(const Op &op, Access access) {
  switch (op.verb) {
    case Verb::answer:
    case Verb::login:
    case Verb::script:
    case Verb::statement: return 0;
    case Verb::open: return access == Access::read ? right::see | right::filter | right::see_key : 0;
    case Verb::find:
    case Verb::lock: return right::see | right::filter | right::see_key;
    case Verb::insert:
      switch (op.insert->on_duplicate) {
        case OnDuplicate::fail:
        case OnDuplicate::ignore: return right::insert;
        case OnDuplicate::update: return right::insert | right::update;
        case OnDuplicate::decide: return right::insert | right::update | (op.insert->reads_old_values ? right::see : 0);
      }
      return 0;
    case Verb::edit: {
      const Rights change = op.edit->erases ? right::erase | (op.edit->writes_too ? right::update : 0) : right::update;
      return change | right::filter | right::see_key |
             (op.edit->rows_wanted || op.edit->reads_old_values ? right::see : 0);
    }
  }
  return 0;
}

KnownRights::Cached &KnownRights::known_of(uint64_t account, uint64_t spec, int64_t now_ms) {
  if (known_.size() >= limits::privileges_remembered_max) known_.clear();
  Cached &known = known_[account * 0x9e3779b97f4a7c15 + spec];
  const bool holds =
      known.account == account && known.spec == spec && now_ms - known.since_ms < limits::privileges_hold_ms;
  if (!holds) known = {.account = account, .spec = spec, .since_ms = now_ms};
  return known;
}

}  // namespace postern::sql
