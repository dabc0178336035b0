// modification.h: ModificationEdit, what U, D, + and - make of a row.
#pragma once

#include <algorithm>
#include <span>

#include "contract/edit.h"
#include "handlersocket/request.h"

namespace postern::handlersocket {

/// Columns without a value stay as they are, values without a column mean nothing. A NULL is no number to add, so its
/// column stays as it is, too. A decrement that would take a column from one side of zero to the other leaves the row.
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
