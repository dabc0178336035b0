// cluster.h: this server as a node of a Galera cluster.
#pragma once

#include "contract/executor.h"

class THD;

namespace postern::mariadb {

/// Whether SQL would refuse to read here, with ER_UNKNOWN_COM_ERROR: the node has no quorum, is joining, or is set to
/// reject queries, and the session does not allow dirty reads. If wsrep_sync_wait makes reads wait for commits of other
/// nodes, it waits first, once for the whole run.
bool cluster_refuses_reads(THD *thd);

/// Whether a write of the running statement has to be refused because it would not be certified, and nodes would
/// diverge.
bool cluster_refuses_writes(THD *thd);

/// Whether the session is a client of the cluster. Another node's write may then end the session's transaction while
/// the session is idle, and a thread of this node rolls it back.
bool is_client_of_cluster(THD *thd);

/// Whether that rollback is under way: attaching to the session would wait for it. Any thread.
bool is_being_rolled_back(THD *thd);

/// Whether the server would refuse the session's reads or make them wait, in the present state of node and session; the
/// server answers such reads. For the session's owner.
bool cluster_keeps_from_reading(THD *thd);

/// Waits until no rollback of an idle session's transaction is under way. The caller has the session from then on.
void wait_for_rollback(THD *thd);

/// While one lives, the calling thread uses an idle session between two commands, in which it may dispatch another. If
/// its transaction is rolled back, the client's next command reports that. Does nothing outside of a cluster.
class HeldForCluster {
 public:
  explicit HeldForCluster(THD *thd);
  ~HeldForCluster();
  HeldForCluster(const HeldForCluster &) = delete;
  HeldForCluster &operator=(const HeldForCluster &) = delete;

  /// Called when the node has rolled back the session's transaction: the THD no longer shows the served command.
  bool was_rolled_back() const;

 private:
  THD *const thd_;
};

/// Lets the other nodes certify the writes of a run. Does nothing outside of a cluster. The thread is a client of the
/// cluster only during the run, so the provider may be loaded and unloaded, wsrep_on may change, and a leaving node
/// waits for no door's thread.
class Certification {
 public:
  Certification() = default;
  ~Certification() { end(); }
  Certification(const Certification &) = delete;
  Certification &operator=(const Certification &) = delete;

  /// Called first in a run, after its THD has been prepared.
  void begin(THD *thd);
  /// Called before each statement of the run.
  void begin_statement();
  /// Called after the run, with no table open and no lock held. A transaction that lost certification is lost, by the
  /// settlement. One that was replayed from its certified writes has lasted, whatever the commit returned. If the node
  /// lost its cluster the transaction fails with SQL's error and is not run again, because other nodes may have it.
  void end_statement(Settlement &settlement);
  /// Whether a commit of another node conflicts with the transaction, which is aborted.
  bool interrupted() const;
  void end();

 private:
  THD *thd_ = nullptr;  // only in a cluster
};

}  // namespace postern::mariadb
