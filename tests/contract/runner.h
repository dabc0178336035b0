// runner.h: runs the suite on a thread of its own, which writes GoogleTest's report to the file named by
// POSTERN_CONTRACT_REPORT; the environment also says how to reach the server by SQL.
#pragma once

namespace postern::contract_test {

void start_suite();
/// Waits until the suite ends.
void join_suite();

}  // namespace postern::contract_test
