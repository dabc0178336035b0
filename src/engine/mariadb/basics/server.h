// server.h: the only file that includes the server's internal headers.
//
// It must be the first include of a file, before ours: these headers define several hundred lower-case macros. Macros
// that collide with the standard library or with ours are undefined at the end. Differences between series of the
// server are in compat.h.
#pragma once

#include <my_global.h>

#include <sql_class.h>

// In this order, and without the plugin's version of the service, to get the server's own declarations.
#include <mysql/service_wsrep.h>
#undef wsrep_xid_seqno
#undef wsrep_xid_uuid
#include <wsrep_mysqld.h>

#include <hostname.h>
#include <item.h>
#include <key.h>
#include <lock.h>
#include <log.h>
#include <my_bitmap.h>
#include <mysql/service_sha1.h>
#include <mysql/service_thd_wait.h>
#include <mysqld.h>
#include <rpl_filter.h>
#include <scheduler.h>
#include <set_var.h>
#include <sql_acl.h>
#include <sql_audit.h>
#include <sql_base.h>
#include <sql_cache.h>
#include <sql_connect.h>
#include <sql_i_s.h>
#include <sql_insert.h>
#include <sql_parse.h>
#include <sql_plugin.h>
#include <sql_time.h>
#include <sql_trigger.h>
#include <sql_update.h>
#include <table_cache.h>
#include <thr_timer.h>
#include <transaction.h>
#include <violite.h>

#undef likely
#undef unlikely
#undef test
#undef array_elements
#undef swap_variables
#undef set_bits

// Names of this server's own that engine/rows uses, and the other way round.
namespace postern::mariadb {}
namespace postern::rows {
using namespace mariadb;
}
namespace postern::mariadb {
using namespace rows;
}
