# The MariaDB server that Postern is built for, as CMake targets.
#
#   cmake -DPOSTERN_SERVER_DIR=build/server ...      a folder made by tools/server
#
# Defines, from that folder's server.cmake, the variables SERVER_VERSION, SERVER_VERSION_ID,
# SERVER_SOURCE, MARIADBD, PLUGIN_DIR and so on, and two interface libraries:
#
#   server_internals    everything inside the server: sql_class.h, handler.h, transaction.h ...
#                       For src/engine/mariadb alone.
#   server_plugin_api   <mysql/plugin.h> and the plugin services. For src/plugin.
#
# All include folders are SYSTEM ones, because the server's headers draw hundreds of warnings
# under -Wall -Wextra. Code that links either target must include the server's headers before
# any of its own, as they define some hundred lower-case macros. Internals bring RTTI back
# (sql/cset_narrowing.h and item_strfunc.h use dynamic_cast) and are known to work with
# -std=gnu++20 and -fvisibility=hidden.
#
# In a server's source tree it is that server. Otherwise, without POSTERN_SERVER_DIR, nothing is defined, and only the
# protocols and their tests are built.

if(POSTERN_IN_TREE)
  set(POSTERN_SERVER_DIR "${CMAKE_SOURCE_DIR}")
  set(SERVER_SOURCE "${CMAKE_SOURCE_DIR}")
  set(SERVER_INCLUDE_GENERATED "${CMAKE_BINARY_DIR}/include")
  set(SERVER_SERVICES_LIB mysqlservices)
else()
  set(POSTERN_SERVER_DIR "" CACHE PATH "Folder made by tools/server: the server to build for")
  if(NOT POSTERN_SERVER_DIR)
    return()
  endif()

  get_filename_component(postern_server_dir "${POSTERN_SERVER_DIR}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
  if(NOT EXISTS "${postern_server_dir}/server.cmake")
    message(FATAL_ERROR "There is no server to build for in ${postern_server_dir}. Run tools/server fetch.")
  endif()
  include("${postern_server_dir}/server.cmake")
  # Configures again when the folder has another server, with other headers.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${postern_server_dir}/server.cmake")
  if(SERVER_KIND STREQUAL mysql)
    include(${CMAKE_CURRENT_LIST_DIR}/mysql.cmake)
    return()
  endif()
  message(STATUS "Building for MariaDB ${SERVER_VERSION} in ${postern_server_dir}")
endif()
if(SERVER_VERSION AND NOT SERVER_VERSION MATCHES "^(10\\.11|11\\.8)\\.")
  message(WARNING "Postern is tested with MariaDB 10.11 and 11.8 alone, and may or may not build for ${SERVER_VERSION}")
endif()

# The common part of both. The server resolves a plugin's calls into it when it loads the
# plugin; only the pointers to its services come from a library.
add_library(server_headers INTERFACE)
target_include_directories(server_headers SYSTEM INTERFACE
  "${SERVER_INCLUDE_GENERATED}"
  "${SERVER_SOURCE}/include")
target_compile_definitions(server_headers INTERFACE
  MYSQL_DYNAMIC_PLUGIN   # the plugin is loaded, not linked in
  DBUG_OFF)              # as in the server's release build; it changes members of structures
target_link_libraries(server_headers INTERFACE "${SERVER_SERVICES_LIB}")

# <mysql/plugin.h> sets no visibility for the plugin's declarations, which the server
# looks up by name.
add_library(server_plugin_api INTERFACE)
target_compile_options(server_plugin_api INTERFACE -fvisibility=default)
target_link_libraries(server_plugin_api INTERFACE server_headers)

# The definitions of the server's own sql/CMakeLists.txt: some of them change members of
# structures, too (st_vio has one more with HAVE_OPENSSL).
add_library(server_internals INTERFACE)
target_include_directories(server_internals SYSTEM INTERFACE
  "${SERVER_INCLUDE_GENERATED}"
  "${SERVER_SOURCE}/include"
  "${SERVER_SOURCE}/sql"
  "${SERVER_SOURCE}/wsrep-lib/include"
  "${SERVER_SOURCE}/wsrep-lib/wsrep-API/v26")
target_compile_definitions(server_internals INTERFACE
  MYSQL_SERVER           # opens the parts of the headers that are not for clients
  HAVE_CONFIG_H
  HAVE_OPENSSL
  HAVE_EVENT_SCHEDULER
  HAVE_POOL_OF_THREADS)
target_compile_options(server_internals INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-frtti>)
target_link_libraries(server_internals INTERFACE server_headers)
