#include "items/mappings.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace postern::items {

std::shared_ptr<const Container> Snapshot::find(Bytes name) const {
  const auto at = std::lower_bound(containers.begin(), containers.end(), name,
                                   [](const auto &container, Bytes wanted) { return container->name() < wanted; });
  return at != containers.end() && (*at)->name() == name ? *at : nullptr;
}

std::shared_ptr<const Snapshot> Mappings::snapshot() const {
  const std::lock_guard guard(mutex_);
  return snapshot_;
}

void Mappings::publish(Mapping mapping, int64_t now_ms) {
  note_read(now_ms);
  const std::shared_ptr<const Snapshot> before = snapshot();
  std::vector<ContainerRow> &rows = mapping.rows;
  // They come in the order that the column's collation gives them.
  std::sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  const auto unchanged = [](const auto &container, const ContainerRow &row) { return container->row() == row; };
  if (before != nullptr && before->trouble == mapping.trouble && before->doubts == mapping.doubts &&
      before->delimiter == mapping.delimiter &&
      std::equal(before->containers.begin(), before->containers.end(), rows.begin(), rows.end(), unchanged))
    return;

  auto fresh = std::make_shared<Snapshot>();
  fresh->delimiter = std::move(mapping.delimiter);
  fresh->trouble = std::move(mapping.trouble);
  fresh->doubts = std::move(mapping.doubts);
  for (ContainerRow &row : rows) {
    std::shared_ptr<const Container> container = before != nullptr ? before->find(row.name) : nullptr;
    if (container == nullptr || !unchanged(container, row))
      container = std::make_shared<const Container>(std::move(row));
    fresh->containers.push_back(std::move(container));
  }
  fresh->standard = fresh->find("default");
  if (fresh->standard == nullptr && !fresh->containers.empty()) fresh->standard = fresh->containers.front();
  log_news(before.get(), *fresh);

  const std::lock_guard guard(mutex_);
  snapshot_ = std::move(fresh);
  next_generation();
}

void Mappings::log_news(const Snapshot *before, const Snapshot &fresh) const {
  const std::string protocol(source_.protocol);
  if (!fresh.trouble.empty() && (before == nullptr || before->trouble != fresh.trouble))
    log::note("%s: %s", protocol.c_str(), fresh.trouble.c_str());
  for (const std::string &doubt : fresh.doubts) {
    if (before == nullptr || std::find(before->doubts.begin(), before->doubts.end(), doubt) == before->doubts.end())
      log::warning("%s: %s", protocol.c_str(), doubt.c_str());
  }
  for (const auto &container : fresh.containers) {
    if (container->problem().empty() || (before != nullptr && before->find(container->name()) == container)) continue;
    log::error("%s: container '%s' cannot be used: %s", protocol.c_str(), container->name().c_str(),
               container->problem().c_str());
  }
}

}  // namespace postern::items
