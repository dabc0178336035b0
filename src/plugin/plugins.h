// plugins.h: what each plugin of the library gives the server; plugin.cc declares them.
#pragma once

struct st_mysql_show_var;
struct st_mysql_sys_var;

namespace postern::plugin {

namespace handlersocket {
int init(void *);
int deinit(void *);
extern st_mysql_show_var status_variables[];
}  // namespace handlersocket

namespace memcached {
int init(void *);
int deinit(void *);
extern st_mysql_show_var status_variables[];
}  // namespace memcached

}  // namespace postern::plugin
