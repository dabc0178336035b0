// client.h: the whole library. C++20; errors are values (result.h); one thread at a time for a connection
// (connection.h), any number for a pool (pool.h).
#pragma once

#include "handlersocket/connection.h"
#include "handlersocket/options.h"
#include "handlersocket/pool.h"
#include "handlersocket/reply.h"
#include "handlersocket/result.h"
#include "handlersocket/value.h"
