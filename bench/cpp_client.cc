// One connection of bench/cpp: reads rows by key through the C++ client, DEPTH requests in flight, compares each
// answer with the row that its key determines, and prints a line of JSON.
//
//   cpp_client PORT SECONDS DEPTH KEY_MAX SEED
#include <handlersocket/client.h>
#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

using handlersocket::Connection;
using handlersocket::Index;
using handlersocket::Reply;
using Clock = std::chrono::steady_clock;

double processor_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

bool is_answer(const Reply &reply, uint32_t key, std::string &name, std::string &email) {
  if (reply.error || reply.rows.size() != 1 || reply.rows.columns() != 3) return false;
  const std::string digits = std::to_string(key);
  name.replace(4, std::string::npos, digits);
  email.replace(4, std::string::npos, digits).append("@example.org");
  const handlersocket::Row row = reply.rows.front();
  return row[0].bytes() == name && row[1].bytes() == email && row[2].bytes() == "2010-02-03 11:22:33";
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  const auto port = static_cast<uint16_t>(std::atoi(argv[1]));
  const std::chrono::duration<double> lasts(std::atof(argv[2]));
  const auto depth = static_cast<size_t>(std::atoi(argv[3]));
  std::minstd_rand random(static_cast<unsigned>(std::atoi(argv[5])));
  std::uniform_int_distribution<uint32_t> keys(1, static_cast<uint32_t>(std::atoi(argv[4])));

  Connection connection = Connection::connect({.host = "127.0.0.1", .port = port}).value();
  const Index user =
      connection.open({.database = "test", .table = "user", .columns = {"user_name", "user_email", "created"}}).value();
  std::vector<uint32_t> asked(depth);
  const auto ask = [&](size_t at) { connection.queue().find(user, {asked[at] = keys(random)}); };
  for (size_t i = 0; i < depth; ++i) ask(i);

  std::string name = "name", email = "user";
  uint64_t answers = 0;
  Reply reply;
  const double used = processor_seconds();
  const Clock::time_point begin = Clock::now(), end = begin + std::chrono::duration_cast<Clock::duration>(lasts);
  // Sends as many new requests together as were answered.
  size_t at = 0;
  while (Clock::now() < end) {
    connection.flush().value();
    do {
      connection.receive(reply).value();
      if (!is_answer(reply, asked[at], name, email)) {
        std::fprintf(stderr, "a wrong answer for key %u\n", asked[at]);
        return 1;
      }
      ++answers;
      ask(at);
      if (++at == depth) at = 0;
    } while (connection.arrived());
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf("{\"answers_per_second\": %.1f, \"client_cpu_us\": %.4f}\n", static_cast<double>(answers) / seconds,
              (processor_seconds() - used) * 1e6 / static_cast<double>(answers));
}
