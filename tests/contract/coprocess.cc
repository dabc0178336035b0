#include "coprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

extern char **environ;

namespace postern::contract_test {

Coprocess::Coprocess() {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
  const std::string socket = std::string("--socket=") + std::getenv("POSTERN_SQL_SOCKET");
  std::vector<std::string> words = {std::getenv("POSTERN_SQL_CLIENT"),
                                    "--no-defaults",
                                    "--user=root",
                                    socket,
                                    "--batch",
                                    "--skip-column-names",
                                    "--unbuffered"};
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  if (posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
}

Coprocess::~Coprocess() {
  close(to_);
  close(from_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

bool Coprocess::run(const std::string &statements) {
  std::string answer;
  return run(statements, answer);
}

std::string Coprocess::ask(const std::string &statements) {
  std::string answer;
  return run(statements, answer) ? answer : "failed";
}

bool Coprocess::run(const std::string &statements, std::string &answer) {
  const std::string line = statements + "; SELECT 'done';\n";
  if (write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return false;
  constexpr std::string_view end = "done\n";
  char part[256];
  while (!answer.ends_with(end)) {
    const ssize_t got = read(from_, part, sizeof part);
    if (got <= 0) return false;
    answer.append(part, static_cast<size_t>(got));
  }
  answer.resize(answer.size() - end.size());
  return true;
}

}  // namespace postern::contract_test
