// executor_contract_suite.h: the promises of executor.h as tests that run over any engine.
//
//   INSTANTIATE_EXECUTOR_CONTRACT(Mine, MyFixture);  // as executor_test_fixture.h wants it
#pragma once

#include "contract/testing/executor_scripts_suite.h"
#include "contract/testing/executor_units_suite.h"
#include "contract/testing/executor_writes_suite.h"
#include "contract/testing/finds_contract_suite.h"

#define INSTANTIATE_EXECUTOR_CONTRACT(prefix, fixture)              \
  INSTANTIATE_FINDS_CONTRACT(prefix, fixture);                      \
  INSTANTIATE_TYPED_TEST_SUITE_P(prefix, ExecutorScripts, fixture); \
  INSTANTIATE_TYPED_TEST_SUITE_P(prefix, ExecutorUnits, fixture);   \
  INSTANTIATE_TYPED_TEST_SUITE_P(prefix, ExecutorWrites, fixture)
