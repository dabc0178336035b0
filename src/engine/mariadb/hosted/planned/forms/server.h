// server.h: the server's internals, and those of its optimizer and executor, which only this folder needs.
#pragma once

#include "engine/mariadb/basics/server.h"

#include <key.h>
#include <sql_derived.h>
#include <sql_select.h>
#include <sql_view.h>
#include <table_cache.h>
