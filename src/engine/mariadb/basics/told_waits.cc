#include "engine/mariadb/basics/told_waits.h"

#include <utility>

namespace postern::mariadb {
namespace {

thread_local WaitListener *hears = nullptr;

}  // namespace

ToldWaits::ToldWaits(WaitListener *listener) : before_(std::exchange(hears, listener)) {}

ToldWaits::~ToldWaits() {
  hears = before_;
}

void ToldWaits::tell(WaitListener *listener) {
  hears = listener;
}

void ToldWaits::begin() noexcept {
  if (hears != nullptr) hears->thread_waits();
}

}  // namespace postern::mariadb
