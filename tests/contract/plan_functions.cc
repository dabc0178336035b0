// plan_functions.cc: SQL functions for tests that show Postern's plan for a statement in the caller's session:
//
//   SELECT postern_form('reads', 'SELECT name FROM users WHERE id = 5 LIMIT 1')
//   -> name from test.users where id= ?0 limit ?1 (2)
//   SELECT postern_plan('SELECT name FROM users WHERE id = 5 LIMIT 1') FROM users LIMIT 1
//   -> one PRIMARY by(id= ?0) limit ?1
//
// For a plan FROM names the statement's table, so that it is open.
#include <mysql.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "engine/mariadb/hosted/testing/form_words.h"
#include "engine/mariadb/hosted/testing/plan_words.h"
#include "sqldoor/normalise.h"

namespace {

using postern::Bytes;
using postern::mariadb::ParsedText;
using postern::mariadb::test::Recognises;

bool is_to_be_prepared(Bytes text) {
  return text.find('?') != Bytes::npos;
}

/// Reads a text without its literals, except one for PREPARE. Returns false if the normaliser leaves it to the server.
bool read_form(Bytes text, std::string &form) {
  postern::sqldoor::NormalText normal;
  const bool prepared = is_to_be_prepared(text);
  if (!prepared && !normal.read(text, {})) return false;
  form = prepared ? text : normal.form();
  return true;
}

std::string plan(Bytes text) {
  std::string form;
  return read_form(text, form) ? postern::mariadb::test::plan_in_words(form) : "odd";
}

std::string meaning(Bytes what, Bytes text) {
  constexpr Bytes names[] = {"reads", "changes", "planned"};
  const auto *const name = std::ranges::find(names, what);
  std::string form;
  if (name == std::end(names)) return "reads, changes or planned?";
  if (!read_form(text, form)) return "odd";
  return postern::mariadb::test::form_in_words(static_cast<Recognises>(name - names), form,
                                               is_to_be_prepared(text) ? ParsedText::own : ParsedText::form);
}

Bytes argument(const UDF_ARGS &arguments, unsigned at) {
  return {arguments.args[at], arguments.lengths[at]};
}

my_bool begin(UDF_INIT *init, const UDF_ARGS *arguments, unsigned count, char *message) {
  const bool texts = std::all_of(arguments->arg_type, arguments->arg_type + arguments->arg_count,
                                 [](Item_result type) { return type == STRING_RESULT; });
  if (arguments->arg_count != count || !texts) {
    std::strcpy(message, "it takes texts, the last one of them a statement");
    return 1;
  }
  init->ptr = reinterpret_cast<char *>(new std::string);
  init->max_length = 10000;
  return 0;
}

void end(UDF_INIT *init) {
  delete reinterpret_cast<std::string *>(init->ptr);
}

template <typename Make>
char *result(UDF_INIT *init, const UDF_ARGS &arguments, unsigned long *length, char *is_null, char *error, Make make) {
  if (std::any_of(arguments.args, arguments.args + arguments.arg_count, [](char *one) { return one == nullptr; })) {
    *is_null = 1;
    return nullptr;
  }
  std::string &answer = *reinterpret_cast<std::string *>(init->ptr);
  try {
    answer = make();
  } catch (const std::exception &) {
    *error = 1;
    return nullptr;
  }
  *length = answer.size();
  return answer.data();
}

}  // namespace

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

EXPORTED my_bool postern_plan_init(UDF_INIT *init, UDF_ARGS *arguments, char *message) {
  return begin(init, arguments, 1, message);
}

EXPORTED void postern_plan_deinit(UDF_INIT *init) {
  end(init);
}

EXPORTED char *postern_plan(UDF_INIT *init, UDF_ARGS *arguments, char *, unsigned long *length, char *is_null,
                            char *error) {
  return result(init, *arguments, length, is_null, error, [&] { return plan(argument(*arguments, 0)); });
}

EXPORTED my_bool postern_form_init(UDF_INIT *init, UDF_ARGS *arguments, char *message) {
  return begin(init, arguments, 2, message);
}

EXPORTED void postern_form_deinit(UDF_INIT *init) {
  end(init);
}

EXPORTED char *postern_form(UDF_INIT *init, UDF_ARGS *arguments, char *, unsigned long *length, char *is_null,
                            char *error) {
  return result(init, *arguments, length, is_null, error,
                [&] { return meaning(argument(*arguments, 0), argument(*arguments, 1)); });
}
}
