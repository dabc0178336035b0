// finds_contract_suite.h: the part of executor_contract_suite.h that an engine keeps which finds and writes nothing.
//
//   INSTANTIATE_FINDS_CONTRACT(Mine, MyFixture);  // as executor_test_fixture.h wants it
#pragma once

#include "contract/testing/executor_find_units_suite.h"
#include "contract/testing/executor_finds_suite.h"
#include "contract/testing/executor_opens_suite.h"
#include "contract/testing/executor_ranges_suite.h"
#include "contract/testing/executor_turns_suite.h"

#define INSTANTIATE_FINDS_CONTRACT(prefix, fixture)                \
  INSTANTIATE_TYPED_TEST_SUITE_P(prefix, ExecutorOpens, fixture);  \
  INSTANTIATE_TYPED_TEST_SUITE_P(prefix, ExecutorFinds, fixture);  \
  INSTANTIATE_TYPED_TEST_SUITE_P(prefix, ExecutorRanges, fixture); \
  INSTANTIATE_TYPED_TEST_SUITE_P(prefix, ExecutorTurns, fixture);  \
  INSTANTIATE_TYPED_TEST_SUITE_P(prefix, ExecutorFindUnits, fixture)
