// runner.h: the suite on a thread of its own, which leaves GoogleTest's report in the file named by
// POSTERN_CONTRACT_REPORT; the environment also says how to reach the server by SQL.
#pragma once

namespace postern::contract_test {

void start_suite();
/// Waits for its end.
void join_suite();

}  // namespace postern::contract_test
