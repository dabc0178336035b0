// cluster.h: Certification, by which other nodes certify a run's writes. Group Replication certifies each commit by
// itself.
#pragma once

#include "contract/executor.h"

class THD;

namespace postern::mysqld {

/// A node of Group Replication that may not be read reports that when a table is opened.
inline bool cluster_refuses_reads(THD *) {
  return false;
}

/// The interface of MariaDB's Galera class, with nothing to do.
class Certification {
 public:
  void begin(THD *) {}
  void begin_statement() {}
  void end_statement(Settlement &) {}
  static bool interrupted() { return false; }
  void end() {}
};

}  // namespace postern::mysqld
