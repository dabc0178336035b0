// old_program: in C++98, as users wrote programs for the original's client library: old_program HOST PORT.
#include <handlersocket/hstcpcli.hpp>

#include <cstdio>
#include <memory>
#include <vector>

using namespace dena;

namespace {

string_ref ref(const char *text) {
  return string_ref(text, strlen(text));
}

int show(hstcpcli_i &cli) {
  size_t columns = 0;
  const int code = cli.response_recv(columns);
  if (code != 0) {
    printf("code %d, %s\n", code, cli.get_error().c_str());
  } else {
    printf("%u columns\n", static_cast<unsigned>(columns));
    while (const string_ref *row = cli.get_next_row()) {
      for (size_t i = 0; i < columns; ++i) {
        if (row[i].begin() == 0) {
          printf("[NULL]");
        } else {
          printf("[%.*s]", static_cast<int>(row[i].size()), row[i].begin());
        }
      }
      printf("\n");
    }
  }
  if (code >= 0) cli.response_buf_remove();
  return code;
}

}  // namespace

int main(int, char **arguments) {
  config conf;
  conf["host"] = arguments[1];
  conf["port"] = arguments[2];
  conf["timeout"] = "20";
  socket_args args;
  args.set(conf);
#ifdef KEEP_IN_AUTO_PTR
  std::auto_ptr<hstcpcli_i> cli = hstcpcli_i::create(args);
#else
  hstcpcli_ptr cli = hstcpcli_i::create(args);
#endif
  if (cli->get_error_code() != 0) printf("%s\n", cli->get_error().c_str());

  cli->request_buf_open_index(1, "cpp_old", "kv", "PRIMARY", "k,v,n", "n");
  if (cli->request_send() != 0) return 1;
  show(*cli);

  const string_ref row[] = {ref("a"), ref("A"), ref("1")}, nulls[] = {ref("b"), string_ref(), string_ref()};
  cli->request_buf_exec_generic(1, ref("+"), row, 3, 0, 0, string_ref(), 0, 0);
  cli->request_buf_exec_generic(1, ref("+"), nulls, 3, 0, 0, string_ref(), 0, 0);
  cli->request_buf_exec_generic(1, ref("+"), row, 3, 0, 0, string_ref(), 0, 0);
  if (cli->stable_point() || cli->request_send() != 0) return 1;
  for (int i = 0; i < 3; ++i) show(*cli);

  const string_ref key[] = {ref("")}, values[] = {ref("a"), ref("changed")};
  cli->request_buf_exec_generic(1, ref(">="), key, 1, 10, 0, string_ref(), 0, 0);
  cli->request_buf_exec_generic(1, ref("="), row, 1, 0, 0, string_ref(), 0, 0);
  cli->request_buf_exec_generic(1, ref("="), row, 1, 1, 0, ref("U"), values, 2);
  const string_ref in[] = {ref("b"), ref("a")};
  cli->request_buf_exec_generic(1, ref("="), key, 1, 10, 0, string_ref(), 0, 0, 0, 0, 0, in, 2);
  hstcpcli_filter filter;
  filter.filter_type = ref("F");
  filter.op = ref("=");
  filter.ff_offset = 0;
  filter.val = string_ref();
  cli->request_buf_exec_generic(1, ref(">="), key, 1, 10, 0, ref("D"), 0, 0, &filter, 1);
  if (cli->request_send() != 0) return 1;
  for (int i = 0; i < 5; ++i) show(*cli);
  if (!cli->stable_point()) return 1;

  cli->request_buf_open_index(2, "bad\tname", "kv", "PRIMARY", "k");
  int code = cli->request_send();
  printf("%d %s\n", code, cli->get_error().c_str());
  cli->close();
  code = cli->request_send();
  printf("%d %s\n", code, cli->get_error().c_str());
  if (cli->reconnect() != 0) return 1;
  cli->request_buf_auth("no secret", 0);
  if (cli->request_send() != 0) return 1;
  show(*cli);
}
