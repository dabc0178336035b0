// open_container.h: OpenContainer, a container that one session has open.
//
// Owned by its session. Ops and replies point to it, so one that is replaced lives on until they are settled.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contract/reply.h"
#include "contract/table.h"
#include "items/cache/cache.h"
#include "items/container.h"

namespace postern::items {

/// The reason of a failure, for messages; borrowed.
struct Reason {
  Failure failure;
  Bytes message;
};

struct OpenContainer {
  /// Keys of expired items to be deleted, as the client sent them.
  static constexpr size_t expired_max = 8;

  explicit OpenContainer(std::shared_ptr<const Container> what, std::unique_ptr<OpenContainer> before = nullptr)
      : container(std::move(what)), retired(std::move(before)) {}

  /// Why an op on it failed; if it is not open, why it could not be opened.
  Reason reason(const Outcome &outcome) const {
    if (outcome.failure == Failure::not_open && failure != Failure::none) return {failure, message};
    return {outcome.failure, outcome.message};
  }

  const std::shared_ptr<const Container> container;
  TableSlot slot;
  Cache::Space *space = nullptr;    ///< set once an item of it was looked up in memory
  Failure failure = Failure::none;  ///< why it could not be opened
  std::string message;
  std::vector<std::string> expired;
  bool may_erase = true;  ///< false once an expired item could not be deleted
  std::unique_ptr<OpenContainer> retired;
};

}  // namespace postern::items
