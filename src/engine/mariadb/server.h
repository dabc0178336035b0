// server.h: the one place where the server's internal headers come in.
//
// They must be the first include of a file, before ours: they define several hundred lower-case macros. What
// collides with the standard library or with us is undefined at the end.
#pragma once

#include <my_global.h>

#include <sql_class.h>

#include <key.h>
#include <lock.h>
#include <my_bitmap.h>
#include <mysqld.h>
#include <scheduler.h>
#include <sql_base.h>
#include <sql_parse.h>
#include <table_cache.h>
#include <transaction.h>

#undef likely
#undef unlikely
#undef test
#undef array_elements
#undef swap_variables
#undef set_bits

static_assert(MYSQL_VERSION_ID >= 101100 && MYSQL_VERSION_ID < 101200, "this engine is written for MariaDB 10.11");
