# The MySQL server that Postern is built for, as the CMake targets that server.cmake makes of a MariaDB server.
message(STATUS "Building for MySQL ${SERVER_VERSION} in ${postern_server_dir}")

add_library(server_headers INTERFACE)
target_include_directories(server_headers SYSTEM INTERFACE
  "${SERVER_INCLUDE_GENERATED}"
  "${SERVER_SOURCE}/include"
  "${SERVER_SOURCE}/libs"
  "${SERVER_SOURCE}")
target_compile_definitions(server_headers INTERFACE MYSQL_DYNAMIC_PLUGIN NDEBUG)
target_link_libraries(server_headers INTERFACE "${SERVER_SERVICES_LIB}")

# The server looks up the plugin's declarations by name.
add_library(server_plugin_api INTERFACE)
target_compile_options(server_plugin_api INTERFACE -fvisibility=default)
target_link_libraries(server_plugin_api INTERFACE server_headers)

# The definitions of the server's own sql/CMakeFiles/sql_main.dir/flags.make: some change members of structures.
add_library(server_internals INTERFACE)
target_include_directories(server_internals SYSTEM INTERFACE
  "${SERVER_SOURCE}/extra/unordered_dense/unordered_dense-4.4.0/include"
  "${SERVER_SOURCE}/extra/rapidjson/include")
target_compile_definitions(server_internals INTERFACE
  MYSQL_SERVER
  BOOST_NO_CXX98_FUNCTION_BASE
  HAVE_EXT_BACKTRACE
  HAVE_TLSv13
  RAPIDJSON_HAS_STDSTRING=1
  RAPIDJSON_NO_SIZETYPEDEFINE
  RAPIDJSON_SCHEMA_USE_INTERNALREGEX=0
  RAPIDJSON_SCHEMA_USE_STDREGEX=1
  WITH_HYPERGRAPH_OPTIMIZER=1
  _FILE_OFFSET_BITS=64
  _GNU_SOURCE)
target_compile_features(server_internals INTERFACE cxx_std_23)
target_compile_options(server_internals INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-frtti>)
target_link_libraries(server_internals INTERFACE server_headers)
