"""The locks of a session, as InnoDB's monitor shows them with innodb_status_output_locks."""
import re


def id_of(session):
    answer = session.query("SELECT CONNECTION_ID()")
    return int(re.findall(rb"\d+", bytes(answer))[-1])


def locks_of(server, connection):
    """The locks that InnoDB's monitor shows, each with its rows."""
    status = server.query("SHOW ENGINE INNODB STATUS")[0][2]
    for part in status.split("---TRANSACTION ")[1:]:
        if not re.search(rf"thread id {connection}\b", part):
            continue
        part = part.split("\n--------\n")[0]
        found, kind = set(), None
        for line in part.splitlines():
            if line.startswith("TABLE LOCK"):
                found.add(re.sub(r"trx id \d+", "", line))
            elif line.startswith("RECORD LOCKS"):
                kind = re.search(r"index (\S+ of table \S+) trx id \d+ (.*)", line).groups()
            elif (heap := re.match(r"Record lock, heap no (\d+)", line)) is not None:
                found.add((kind, int(heap[1])))
        return found
    return set()
