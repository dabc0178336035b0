// server.h: the only file that includes MySQL's internal headers.
//
// It must be the first include of a file, before ours: these headers define some hundred lower-case macros.
#pragma once

#include <my_config.h>

#include <my_base.h>
#include <my_bitmap.h>
#include <my_sys.h>
#include <my_thread.h>
#include <mutex_lock.h>
#include <myisampack.h>
#include <mysql/strings/m_ctype.h>
#include <m_string.h>
#include <mysqld_error.h>
#include <sql-common/my_decimal.h>
#include <sql/auth/auth_acls.h>
#include <sql/auth/auth_common.h>
#include <sql/conn_handler/init_net_server_extension.h>
#include <sql/dd/types/abstract_table.h>
#include <sql/derror.h>
#include <sql/field.h>
#include <sql/handler.h>
#include <sql/hostname_cache.h>
#include <sql/error_handler.h>
#include <sql/key.h>
#include <sql/lock.h>
#include <sql/log.h>
#include <sql/mdl.h>
#include <sql/mysqld.h>
#include <sql/mysqld_thd_manager.h>
#include <sql/protocol_classic.h>
#include <sql/rpl_mi.h>
#include <sql/rpl_msr.h>
#include <sql/set_var.h>
#include <sql/sql_audit.h>
#include <sql/sql_base.h>
#include <sql/sql_class.h>
#include <sql/sql_connect.h>
#include <sql/sql_foreign_key_constraint.h>
#include <sql/sql_insert.h>
#include <sql/sql_lex.h>
#include <sql/sql_plugin.h>
#include <sql/sql_show.h>
#include <sql/ssl_acceptor_context_operator.h>
#include <sql/table.h>
#include <sql/sql_update.h>
#include <sql/transaction.h>
#include <sql/trigger_chain.h>
#include <sql/trigger_def.h>
#include <sql/table_trigger_dispatcher.h>
#include <violite.h>

// Its macros take names of sql/log.h.
#include <mysql/components/services/log_builtins.h>

#undef likely
#undef unlikely

// Names of this server's own that engine/rows uses, and the other way round.
namespace postern::mysqld {}
namespace postern::rows {
using namespace mysqld;
}
namespace postern::mysqld {
using namespace rows;
}
