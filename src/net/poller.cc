#include "net/poller.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <ctime>

namespace postern::net {

Poller::Poller() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {}

bool Poller::add(int fd, uint32_t events, void *tag) {
  epoll_event event{.events = events, .data = {.ptr = tag}};
  return ::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

bool Poller::change(int fd, uint32_t events, void *tag) {
  epoll_event event{.events = events, .data = {.ptr = tag}};
  return ::epoll_ctl(fd_.get(), EPOLL_CTL_MOD, fd, &event) == 0;
}

void Poller::remove(int fd) {
  ::epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

size_t Poller::wait(std::span<epoll_event> events, int timeout_ms) {
  const int count = ::epoll_wait(fd_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  // A signal only shortens the wait: callers loop.
  return count < 0 ? 0 : static_cast<size_t>(count);
}

size_t Poller::wait_briefly(std::span<epoll_event> events, int64_t timeout_us) {
  const timespec timeout{.tv_sec = timeout_us / 1'000'000, .tv_nsec = timeout_us % 1'000'000 * 1000};
  const int count = ::epoll_pwait2(fd_.get(), events.data(), static_cast<int>(events.size()), &timeout, nullptr);
  return count < 0 ? 0 : static_cast<size_t>(count);
}

WakeFd::WakeFd() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
void WakeFd::wake() const {
  ::eventfd_write(fd_.get(), 1);
}
void WakeFd::drain() const {
  eventfd_t value;
  ::eventfd_read(fd_.get(), &value);
}

}  // namespace postern::net
