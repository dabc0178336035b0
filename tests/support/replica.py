"""A server that replicates another, and a comparison of both."""
import contextlib

WAIT_SECONDS = 60


def follow(primary, replica):
    """Makes an empty server a replica, which also gets the primary's earlier log."""
    primary.execute(
        "CREATE USER IF NOT EXISTS copy@'127.0.0.1' IDENTIFIED BY 'copy'",
        "GRANT REPLICATION SLAVE ON *.* TO copy@'127.0.0.1'",
    )
    replica.execute(
        "CHANGE MASTER TO master_host='127.0.0.1', master_user='copy', master_password='copy', "
        f"master_port={primary.env['SQL_PORT']}, master_connect_retry=1, master_use_gtid=slave_pos",
        "START SLAVE",
    )


def catch_up(primary, replica):
    ((position,),) = primary.query("SELECT @@gtid_binlog_pos")
    ((waited,),) = replica.query("SELECT MASTER_GTID_WAIT(%s, %s)", (position, WAIT_SECONDS))
    if waited != 0:
        with contextlib.closing(replica.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW SLAVE STATUS")
            names = [column[0] for column in cursor.description]
            status = dict(zip(names, cursor.fetchone()))
        raise AssertionError(
            f"the replica did not come to {position}: {status['Last_SQL_Error'] or status['Last_IO_Error']} "
            f"at {status['Gtid_IO_Pos']}"
        )


def same(one, other, database, may_be_empty=()):
    """Both servers have the same rows, history and index entries included. An empty table proves nothing."""
    tables = [name for name, in one.query("SHOW TABLES", database=database)]
    for server in (one, other):
        for table in tables:
            assert server.query(f"CHECK TABLE {table} EXTENDED", database=database)[-1][3] == "OK"
    steady = []
    for table in tables:
        definition = one.query(f"SHOW CREATE TABLE {table}", database=database)[0][1]
        versioned = "SYSTEM VERSIONING" in definition
        if " VIRTUAL" not in definition:  # CHECKSUM TABLE of those differs from run to run on one server
            steady.append(table)
        select = f"SELECT * FROM {table}" + (" FOR SYSTEM_TIME ALL" if versioned else "")
        rows = [sorted(server.query(select, database=database), key=repr) for server in (one, other)]
        assert rows[0] == rows[1], table
        assert rows[0] or table in may_be_empty, f"{table} is empty and shows nothing"
    checksums = [
        server.query(f"CHECKSUM TABLE {', '.join(steady)} EXTENDED", database=database) for server in (one, other)
    ]
    assert checksums[0] == checksums[1]
