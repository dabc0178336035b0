"""Logins to accounts of the server, and the expected answers."""

UNAUTHORIZED = ["3", "1", "unauth"]
GOOD = ["0", "1"]


def login(client, name, password="pw"):
    return client.request("A", 2, name, password)


def denied(command, name, table="t", column=None):
    what = f"column '{column}' in table '{table}'" if column else f"table `test`.`{table}`"
    return ["3", "1", f"{command} command denied to user '{name}'@'localhost' for {what}"]
