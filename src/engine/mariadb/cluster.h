// cluster.h: what this server is as a node of a Galera cluster.
#pragma once

#include "contract/executor.h"

class THD;

namespace postern::mariadb {

/// Whether SQL would refuse to read here, with ER_UNKNOWN_COM_ERROR: the node has no quorum, is being filled, or was
/// told to reject queries, and the session does not ask for dirty reads. Where wsrep_sync_wait asks reads to wait for
/// what other nodes have committed, it waits first, once for the whole run.
bool cluster_refuses_reads(THD *thd);

/// Whether a write of the running statement has to be refused: nobody would certify it, and nodes would drift apart.
bool cluster_refuses_writes(THD *thd);

/// Has the other nodes certify what a run writes. Outside of a cluster it does nothing. The thread is a client of the
/// cluster for the time of the run alone: so the provider may come and go, wsrep_on be set, and a node that leaves
/// waits for no thread of ours.
class Certification {
 public:
  Certification() = default;
  ~Certification() { end(); }
  Certification(const Certification &) = delete;
  Certification &operator=(const Certification &) = delete;

  /// Before anything of the run but after its THD has been made ready.
  void begin(THD *thd);
  /// Before each statement of the run.
  void begin_statement();
  /// After it, with no table open and no lock held. A transaction that others had to come before, is lost: the
  /// settlement says so. One that was run again from what was certified has lasted, whatever the commit said.
  void end_statement(Settlement &settlement);
  /// What another node has committed is in the way, and so the transaction ends here, whatever it does.
  bool interrupted() const;
  void end();

 private:
  THD *thd_ = nullptr;  // only in a cluster
};

}  // namespace postern::mariadb
