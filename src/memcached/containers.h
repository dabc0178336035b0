// containers.h: memcached's containers, in the tables of the database innodb_memcache.
#pragma once

#include "items/mappings.h"
#include "items/open_container.h"

namespace postern::memcached {

using items::Container;
using items::Mappings;
using items::OpenContainer;
using items::Refresh;

/// containers, cache_policies, config_options.
extern const items::MappingSource container_tables;

}  // namespace postern::memcached
