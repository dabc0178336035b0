// value_words.h: tests and values of forms, in words.
#pragma once

#include <string>
#include <vector>

#include "engine/mariadb/hosted/reads/read_form.h"

namespace postern::mariadb::test {

std::string test_word(FormTest test);
/// "?0" is the first argument.
std::string value_word(const FormValue &value);
/// With a blank before each.
std::string value_words(const std::vector<FormValue> &values);

}  // namespace postern::mariadb::test
