// coprocess.h: an SQL client in a process of its own, so that a test inside the server can act as another client.
#pragma once

#include <sys/types.h>

#include <string>

namespace postern::contract_test {

/// Runs the program named by POSTERN_SQL_CLIENT, with the socket of POSTERN_SQL_SOCKET. One thread.
class Coprocess {
 public:
  Coprocess();
  ~Coprocess();
  Coprocess(const Coprocess &) = delete;
  Coprocess &operator=(const Coprocess &) = delete;

  /// Runs statements and waits for the last; returns false if one failed, which ends the client.
  bool run(const std::string &statements);
  /// Runs statements; returns their answers, columns separated by tabs, rows ended by newlines.
  std::string ask(const std::string &statements);

 private:
  bool run(const std::string &statements, std::string &answer);

  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace postern::contract_test
