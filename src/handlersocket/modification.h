// modification.h: ModificationEdit, the edit of a row by U, D, + and -.
#pragma once

#include <algorithm>
#include <span>

#include "contract/edit.h"
#include "handlersocket/request.h"

namespace postern::handlersocket {

/// Columns without a value are unchanged, and values without a column are ignored. NULL cannot be added to, so such a
/// column is unchanged, too. A decrement that would change a column's sign leaves the row unchanged.
class ModificationEdit final : public Edit {
 public:
  ModificationEdit(Modification modification, std::span<const Value> values)
      : modification_(modification), values_(values) {}

  Decision present(Row now, Draft &next) override {
    const size_t count = std::min(now.size(), values_.size());
    for (uint32_t i = 0; i < count; ++i) {
      switch (modification_) {
        case Modification::none:
        case Modification::erase: break;
        case Modification::update: next.set(i, values_[i]); break;
        case Modification::increment: next.add(i, values_[i], false); break;
        case Modification::decrement:
          if (next.add(i, values_[i], true) == Draft::Sum::changed_sign) return Decision::keep;
          break;
      }
    }
    return modification_ == Modification::erase ? Decision::erase : Decision::write;
  }

 private:
  const Modification modification_;
  const std::span<const Value> values_;
};

}  // namespace postern::handlersocket
