// home.h: Home, the worker of a connection as lanes see it: where the connection returns to.
//
// Implemented by the worker; outlives the lanes' jobs. Any thread may call it.
#pragma once

#include <memory>

#include "door/connections/connection.h"

namespace postern::door {

struct WriteJob;

class Home {
 public:
  /// Takes back a connection, its ops done unless it is dead.
  virtual void return_connection(std::unique_ptr<Connection> connection) noexcept = 0;
  /// Takes back a turn from the write lane.
  virtual void return_writes(std::unique_ptr<WriteJob> job) noexcept = 0;

 protected:
  ~Home() = default;
};

}  // namespace postern::door
