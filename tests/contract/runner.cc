#include "runner.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace postern::contract_test {
namespace {

std::thread runner;

void run_suite() {
  std::string report = std::string("--gtest_output=json:") + std::getenv("POSTERN_CONTRACT_REPORT");
  std::string name = "contract_test";
  char *arguments[] = {name.data(), report.data(), nullptr};
  int count = 2;
  testing::InitGoogleTest(&count, arguments);
  [[maybe_unused]] const int failed = RUN_ALL_TESTS();  // the report contains it
}

}  // namespace

void start_suite() {
  runner = std::thread(run_suite);
}

void join_suite() {
  runner.join();
}

}  // namespace postern::contract_test
