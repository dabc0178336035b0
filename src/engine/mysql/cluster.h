// cluster.h: Certification, of the writes of a run by other nodes. Group Replication certifies each commit by itself.
#pragma once

#include "contract/executor.h"

class THD;

namespace postern::mysqld {

/// A node of Group Replication that may not be read says so when a table is opened.
inline bool cluster_refuses_reads(THD *) {
  return false;
}

/// As MariaDB's in a Galera cluster, with nothing to do.
class Certification {
 public:
  void begin(THD *) {}
  void begin_statement() {}
  void end_statement(Settlement &) {}
  static bool interrupted() { return false; }
  void end() {}
};

}  // namespace postern::mysqld
