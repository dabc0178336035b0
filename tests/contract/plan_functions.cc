// plan_functions.cc: an SQL function for tests that shows Postern's plan for a statement in the caller's session:
//
//   SELECT postern_plan('SELECT name FROM users WHERE id = 5 LIMIT 1') FROM users LIMIT 1
//   -> one PRIMARY by(id= ?0) limit ?1
//
// FROM names the statement's table, so that it is open.
#include <mysql.h>

#include <cstring>
#include <exception>
#include <string>

#include "engine/mariadb/hosted/testing/plan_words.h"
#include "sqldoor/normalise.h"

namespace {

/// A text with a ? is one to be prepared.
std::string told(postern::Bytes text) {
  if (text.find('?') != postern::Bytes::npos) return postern::mariadb::test::plan_in_words(text);
  postern::sqldoor::NormalText normal;
  if (!normal.read(text, {})) return "odd";
  return postern::mariadb::test::plan_in_words(normal.form());
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) my_bool postern_plan_init(UDF_INIT *init, UDF_ARGS *arguments, char *message) {
  if (arguments->arg_count != 1 || arguments->arg_type[0] != STRING_RESULT) {
    std::strcpy(message, "postern_plan takes a statement");
    return 1;
  }
  init->ptr = reinterpret_cast<char *>(new std::string);
  init->max_length = 10000;
  return 0;
}

__attribute__((visibility("default"))) void postern_plan_deinit(UDF_INIT *init) {
  delete reinterpret_cast<std::string *>(init->ptr);
}

__attribute__((visibility("default"))) char *postern_plan(UDF_INIT *init, UDF_ARGS *arguments, char *,
                                                          unsigned long *length, char *is_null, char *error) {
  if (arguments->args[0] == nullptr) {
    *is_null = 1;
    return nullptr;
  }
  std::string &answer = *reinterpret_cast<std::string *>(init->ptr);
  try {
    answer = told({arguments->args[0], arguments->lengths[0]});
  } catch (const std::exception &) {
    *error = 1;
    return nullptr;
  }
  *length = answer.size();
  return answer.data();
}
}
