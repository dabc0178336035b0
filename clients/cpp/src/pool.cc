#include "handlersocket/pool.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

namespace handlersocket {

struct Lease::Held {
  Connection connection;
  std::map<std::string, Index> open{};
};

struct Lease::Shared {
  Options options;
  PoolOptions limits;
  std::mutex mutex{};  ///< guards what follows
  std::condition_variable returned{};
  std::vector<std::unique_ptr<Held>> free{};
  size_t connections = 0;  ///< free, taken, or being made

  void put(std::unique_ptr<Held> held) {
    {
      const std::lock_guard lock(mutex);
      if (held) {
        free.push_back(std::move(held));
      } else {
        --connections;
      }
    }
    returned.notify_one();
  }
};

Lease::Lease(Shared &pool, std::unique_ptr<Held> held) : pool_(&pool), held_(std::move(held)) {}
Lease::Lease(Lease &&) noexcept = default;

Lease &Lease::operator=(Lease &&other) noexcept {
  if (this == &other) return *this;
  give_back();
  pool_ = other.pool_;
  held_ = std::move(other.held_);
  return *this;
}

Lease::~Lease() {
  give_back();
}

void Lease::give_back() {
  if (!held_) return;
  if (held_->connection.pending() != 0 || !held_->connection.usable()) {
    held_.reset();
    pool_->put(nullptr);
  } else {
    pool_->put(std::move(held_));
  }
}

Connection *Lease::operator->() {
  return &held_->connection;
}
Connection &Lease::operator*() {
  return held_->connection;
}

Result<Index> Lease::index(const IndexSpec &spec) {
  if (spec.id) return Error{Error::Kind::usage, 0, "a pool chooses the ids of its indexes"};
  std::string key = spec.database + '\0' + spec.table + '\0' + spec.index;
  for (const auto *names : {&spec.columns, &spec.filter_columns}) {
    key += '\1';
    for (const std::string &name : *names) key += '\0' + name;
  }
  if (const auto found = held_->open.find(key); found != held_->open.end()) return found->second;
  Result<Index> index = held_->connection.open(spec);
  if (index) held_->open.emplace(std::move(key), *index);
  return index;
}

Pool::Pool(Options options, PoolOptions pool_options)
    : shared_(new Lease::Shared{.options = std::move(options), .limits = pool_options}) {}
Pool::~Pool() = default;

Result<Lease> Pool::take() {
  const auto deadline = std::chrono::steady_clock::now() + shared_->limits.take_timeout;
  std::unique_lock lock(shared_->mutex);
  const auto something = [&] { return !shared_->free.empty() || shared_->connections < shared_->limits.size; };
  while (true) {
    if (!shared_->returned.wait_until(lock, deadline, something))
      return Error{Error::Kind::exhausted, 0, "no connection of the pool became free in time"};
    if (shared_->free.empty()) break;
    std::unique_ptr<Lease::Held> held = std::move(shared_->free.back());
    shared_->free.pop_back();
    if (held->connection.usable()) return Lease(*shared_, std::move(held));
    --shared_->connections;
  }
  ++shared_->connections;
  lock.unlock();
  Result<Connection> made = Connection::connect(shared_->options);
  if (!made) {
    shared_->put(nullptr);
    return made.error();
  }
  return Lease(*shared_, std::make_unique<Lease::Held>(Lease::Held{.connection = std::move(*made)}));
}

}  // namespace handlersocket
