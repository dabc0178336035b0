// cluster.h: what this server is as a node of a Galera cluster.
#pragma once

class THD;

namespace postern::mariadb {

/// Whether SQL would refuse to read here, with ER_UNKNOWN_COM_ERROR: the node has no quorum, is being filled, or was
/// told to reject queries, and the session does not ask for dirty reads.
bool cluster_refuses_reads(THD *thd);
/// Whether what is written has to be certified by the other nodes.
bool cluster_certifies_writes();

}  // namespace postern::mariadb
