// copy.h: Copy, what a Cache has shown of an item, kept.
#pragma once

#include <string>

#include "items/cache/cache.h"

namespace postern::items {

class Copy final : public Cache::Reader {
 public:
  void item(const Item &item) override { keep(item); }
  const std::string &value() const { return value_; }
  const Item &item() const { return item_; }

 private:
  void keep(const Item &item) {
    value_ = item.value;
    item_ = item;
  }
  std::string value_;
  Item item_;
};

}  // namespace postern::items
