// cluster.h: what this server is as a node of a Galera cluster.
#pragma once

#include "contract/executor.h"

class THD;

namespace postern::mariadb {

/// Whether SQL would refuse to read here, with ER_UNKNOWN_COM_ERROR: the node has no quorum, is being filled, or is set
/// to reject queries, and the session does not ask for dirty reads. Where wsrep_sync_wait asks reads to wait for
/// commits of other nodes, it waits first, once for the whole run.
bool cluster_refuses_reads(THD *thd);

/// Whether a write of the running statement has to be refused: nobody would certify it, and nodes would drift apart.
bool cluster_refuses_writes(THD *thd);

/// Whether the cluster knows the session as one of its clients. Another node's write may then end the session's
/// transaction while it rests, and a thread of this node rolls it back.
bool is_client_of_cluster(THD *thd);

/// Whether that thread does so now: taking the session would wait for it. Any thread.
bool is_being_rolled_back(THD *thd);

/// Whether the server would refuse the session's reads, or have them wait, as the node and the session are: those it
/// tells of itself. For the session's owner.
bool cluster_keeps_from_reading(THD *thd);

/// Waits until nobody rolls the transaction of a resting session back. The caller has the session from then on.
void wait_for_rollback(THD *thd);

/// While one lives the calling thread has a session that the server has served a command for and has left. The client's
/// next command reports the fate of its transaction, also after a command that is dispatched while one lives. Outside
/// of a cluster it does nothing.
class HeldForCluster {
 public:
  explicit HeldForCluster(THD *thd);
  ~HeldForCluster();
  HeldForCluster(const HeldForCluster &) = delete;
  HeldForCluster &operator=(const HeldForCluster &) = delete;

  /// The node has rolled the session's transaction back: the THD no longer shows the command that was served.
  bool was_rolled_back() const;

 private:
  THD *const thd_;
};

/// Has the other nodes certify the writes of a run. Outside of a cluster it does nothing. The thread is a client of the
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
  /// After it, with no table open and no lock held. A transaction that others had to come before is lost: the
  /// settlement says so. One that was run again from its certified writes has lasted, whatever the commit returned. One
  /// that the node was cut off with fails with SQL's error, and is not run again: other nodes may have it.
  void end_statement(Settlement &settlement);
  /// What another node has committed is in the way, and so the transaction ends here, whatever it does.
  bool interrupted() const;
  void end();

 private:
  THD *thd_ = nullptr;  // only in a cluster
};

}  // namespace postern::mariadb
