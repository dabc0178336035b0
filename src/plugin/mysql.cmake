# MySQL gets a plugin for each row of doors.def that is not MariaDB's alone, from a declaration of its own.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS doors.def)
add_library(postern_plugin OBJECT mysql_plugin.cc doors.cc handlersocket_plugin.cc information_tables.cc late_door.cc live_settings.cc loaded.cc
  memcached_plugin.cc redis_plugin.cc settings.cc status.cc sweeper.cc)
target_compile_definitions(postern_plugin PRIVATE POSTERN_VERSION="${PROJECT_VERSION}")
target_link_libraries(postern_plugin PUBLIC server_plugin_api
  postern_engine postern_handlersocket postern_memcached postern_redis postern_redis_work postern_door postern_net postern_contract postern_base)
if(POSTERN_QUICK_BUILD)
  postern_compile_together(postern_plugin)
endif()

add_library(postern MODULE $<TARGET_OBJECTS:postern_plugin>)
target_link_libraries(postern PRIVATE postern_plugin postern_engine_mysql)
target_link_options(postern PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/mysql_exports.map
  -Wl,-z,relro,-z,now -Wl,-z,nodelete -static-libstdc++ -static-libgcc)
set_target_properties(postern PROPERTIES PREFIX "" LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/mysql_exports.map)
