"""The contract of tools/sandbox, on which every other test depends."""
import os
import re
import signal
import socket
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
from support.clients import hs
from support.server import SANDBOX, parse_env, sandbox
from support.waiting import until

KEYS = (
    "PID PID_FILE SQL_SOCKET SQL_PORT HS_HOST HS_PORT HS_PORT_WR HS_SOCKET MEMC_PORT MEMC_SOCKET "
    "REDIS_PORT REDIS_SOCKET POSTERN_PORT POSTERN_SOCKET ERROR_LOG DATADIR"
).split()
PORT_KEYS = ("SQL_PORT", "HS_PORT", "HS_PORT_WR", "MEMC_PORT")
WITHOUT_PLUGIN = {**os.environ, "POSTERN_SO": "none"}


def load_sandbox():
    loader = SourceFileLoader("sandbox", str(SANDBOX))
    module = module_from_spec(spec_from_loader("sandbox", loader))
    sys.modules["sandbox"] = module  # its dataclasses look up their own module there
    loader.exec_module(module)
    return module


def test_no_port_is_taken_twice(tmp_path, monkeypatch):
    """A port that was given, or used before, is free as long as nobody listens on it."""
    module = load_sandbox()
    given, had, *others = free_ports(2 + 2 * len(module.PORT_OPTIONS))
    offered = iter([given, had, *others])
    monkeypatch.setattr(module, "hold_free_port", lambda: (next(offered), None))
    sandbox = module.Sandbox(tmp_path)
    first, second, *_ = module.PORT_OPTIONS.values()
    sandbox.state = {"given": {second: given}}
    sandbox.choose_ports({first: had})
    ports = sandbox.state["ports"].values()
    assert len(set(ports)) == len(module.PORT_OPTIONS) and {given, had} <= set(ports)


def free_ports(count):
    """Free ports, all different: the sockets are open at the same time."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def ports_of(server):
    return {key: server.env[key] for key in PORT_KEYS}


ZOMBIE = """
import ctypes, os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()
ctypes.CDLL(None).syscall(60, 0)  # exit(2): for this thread alone
"""


def test_a_process_is_there_until_its_last_thread_has_ended():
    module = load_sandbox()
    with subprocess.Popen([sys.executable, "-c", ZOMBIE], stdin=subprocess.PIPE) as process:
        birth = module.birth_of(process.pid)
        until(lambda: module.birth_of(process.pid) is None, 30)
        assert not module.wait_for_exit(process.pid, birth, 0)
        process.stdin.close()
        assert module.wait_for_exit(process.pid, birth, 30)


def process_runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def signal_is_pending(pid, number):
    pending = re.search(r"^ShdPnd:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.M).group(1)
    return bool(int(pending, 16) >> (number - 1) & 1)


def test_start_prints_what_env_prints(sandbox_factory):
    server = sandbox_factory()
    assert list(server.env) == KEYS
    assert parse_env(sandbox("env", server.dir).stdout) == server.env
    assert process_runs(server.env["PID"])
    assert Path(server.env["PID_FILE"]).read_text().strip() == server.env["PID"]
    assert Path(server.env["DATADIR"]).is_dir() and Path(server.env["ERROR_LOG"]).is_file()


def test_every_door_answers_when_start_returns(sandbox_factory):
    server = sandbox_factory()
    assert server.query("SELECT 1") == [(1,)]
    for key in ("HS_PORT", "HS_PORT_WR", "HS_SOCKET"):
        if server.env[key]:
            with hs.Client(server.env[key]) as door:
                door.send(b"\n")
                assert door.line() == b"2\t1\tcmd", key
    assert server.env["HS_PORT"] and server.env["HS_PORT_WR"]


def test_two_servers_run_side_by_side(sandbox_factory):
    one, two = sandbox_factory(), sandbox_factory()
    assert not set(ports_of(one).values()) & set(ports_of(two).values())
    one.execute("CREATE TABLE test.here (a INT)")
    assert two.query("SHOW TABLES IN test") == []
    one.stop()
    two.assert_alive()


@pytest.mark.parametrize("ending", ["stop", "kill"])
def test_data_survives(sandbox_factory, ending):
    server = sandbox_factory()
    server.execute("CREATE TABLE test.kept (a INT) ENGINE=InnoDB", "INSERT INTO test.kept VALUES (7)")
    getattr(server, ending)()
    assert not process_runs(server.env["PID"])
    server.start()
    assert server.query("SELECT a FROM test.kept") == [(7,)]


def test_restart_keeps_ports(sandbox_factory):
    server = sandbox_factory()
    before = dict(server.env)
    server.restart()
    assert server.env == {**before, "PID": server.env["PID"]}
    assert server.env["PID"] != before["PID"]


def test_given_ports_are_used_and_remembered(sandbox_factory):
    sql, read, write, memcached = free_ports(4)
    server = sandbox_factory(sql_port=sql, hs_port=read, hs_port_wr=write, memcached_port=memcached)
    given = dict(zip(PORT_KEYS, map(str, (sql, read, write, memcached))))
    assert ports_of(server) == given
    assert int(server.variable("port")) == sql
    server.stop()
    server.start()
    assert ports_of(server) == given
    server.stop()
    server.start(hs_port=0)
    assert ports_of(server) == {**given, "HS_PORT": server.env["HS_PORT"]} != given


def test_a_given_port_that_is_taken_is_an_error(sandbox_factory, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = sandbox_factory(start=False)
        done = sandbox("start", server.dir, "--hs-port", port, check=False)
    assert done.returncode == 1
    assert f"port {port} is in use" in done.stderr


def test_a_port_that_one_start_has_chosen_is_no_other_s():
    port, holder = load_sandbox().hold_free_port()
    with holder, socket.socket() as second:
        with pytest.raises(OSError):
            second.bind(("127.0.0.1", port))
        with socket.create_server(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)):
            pass  # as the server listens there


def test_a_remembered_port_that_is_taken_is_replaced(sandbox_factory):
    server = sandbox_factory()
    server.stop()
    with socket.create_server(("127.0.0.1", int(server.env["HS_PORT"]))):
        before = ports_of(server)
        server.start()
        assert ports_of(server) == {**before, "HS_PORT": server.env["HS_PORT"]} != before


def test_options_are_passed_remembered_and_replaced(sandbox_factory):
    server = sandbox_factory("--max-connections=77", "--innodb-buffer-pool-size=64M")
    assert server.variable("max_connections") == "77"
    assert server.variable("innodb_buffer_pool_size") == str(64 << 20)
    server.restart()
    assert server.variable("max_connections") == "77"
    server.stop()
    server.start()
    assert server.variable("max_connections") == "77"
    server.stop()
    server.start("--max-connections=78")
    assert server.variable("max_connections") == "78"
    assert server.variable("innodb_buffer_pool_size") == str(256 << 20)


def test_options_that_shape_the_data_files_hold_from_the_beginning(sandbox_factory):
    server = sandbox_factory("--innodb-page-size=8k")
    assert server.variable("innodb_page_size") == "8192"


def test_options_of_the_running_server_need_no_data_folder_of_their_own(sandbox_factory):
    """Both copy the folder that was made once."""
    usual, other = sandbox_factory(), sandbox_factory("--innodb-stats-auto-recalc=0", "--innodb-page-size=16k")
    passing = sandbox_factory("--innodb-stats-auto-recalc=0", "--loose-innodb_flush_log_at_trx_commit=2")

    def log_of_its_making(server):
        return (Path(server.env["DATADIR"]) / "aria_log_control").read_bytes()[:24]  # it has a random number

    assert log_of_its_making(usual) == log_of_its_making(passing) != log_of_its_making(other)


def test_start_of_a_running_server(sandbox_factory):
    server = sandbox_factory()
    assert parse_env(sandbox("start", server.dir).stdout) == server.env
    done = sandbox("start", server.dir, "--", "--max-connections=5", check=False)
    assert done.returncode == 1
    assert "is running" in done.stderr
    server.assert_alive()


def test_without_the_plugin_its_doors_are_empty(sandbox_factory):
    server = sandbox_factory(env=WITHOUT_PLUGIN)
    assert server.env["HS_PORT"] == server.env["HS_PORT_WR"] == server.env["HS_SOCKET"] == ""
    assert server.variable("handlersocket_port") is None
    server.restart()
    assert server.env["HS_PORT"] == ""


def test_listens_on_loopback_only(sandbox_factory):
    server = sandbox_factory()
    ours = {int(server.env[key]) for key in ("SQL_PORT", "HS_PORT", "HS_PORT_WR")}
    seen = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            address, port = local.split(":")
            if state == "0A" and int(port, 16) in ours:
                seen.setdefault(int(port, 16), set()).add(address)
    assert seen == {port: {"0100007F"} for port in ours}


def test_a_start_that_fails_shows_the_log_and_leaves_nothing(sandbox_factory):
    server = sandbox_factory(start=False)
    done = sandbox("start", server.dir, "--", "--no-such-option", check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "the server ended while it started" in done.stderr and "no-such-option" in done.stderr
    assert parse_env(sandbox("env", server.dir).stdout)["PID"] == ""
    assert server.start("--max-connections=5").query("SELECT 1") == [(1,)]


@pytest.mark.parametrize("name", ["with blank", "deep/" + "x" * 60 + "/" + "y" * 60])
def test_any_directory_will_do(sandbox_factory, tmp_path, name):
    server = sandbox_factory(directory=tmp_path / name)
    server.assert_alive()
    server.restart()
    server.assert_alive()
    folder = Path(server.env["SQL_SOCKET"]).parent
    server.stop()
    assert folder == server.dir or not folder.exists()


def test_a_folder_that_one_socket_fits_into_and_another_does_not(sandbox_factory, tmp_path):
    """The longest path of a socket has 107 bytes."""
    name = "x" * (107 - len(f"{tmp_path}//mysql.sock"))
    server = sandbox_factory(directory=tmp_path / name, containers=True)
    assert os.path.exists(server.env["MEMC_SOCKET"])


def test_building_anew_does_not_touch_the_plugin_in_use(sandbox_factory):
    server = sandbox_factory()
    maps = Path(f"/proc/{server.env['PID']}/maps").read_text()
    plugin = Path(os.environ.get("POSTERN_SO", "postern.so")).name
    mapped = set(re.findall(r"\S*/" + re.escape(plugin) + "$", maps, re.M))
    assert mapped == {str(server.dir / "plugin" / plugin)}
    assert not (server.dir / "plugin" / plugin).is_symlink()


def test_sql_takes_options_and_input_and_gives_its_exit_code(sandbox_factory):
    server = sandbox_factory(env=WITHOUT_PLUGIN)
    assert sandbox("sql", server.dir, "-N", "-e", "SELECT 6 * 7").stdout == "42\n"
    assert sandbox("sql", server.dir, "-N", stdin=None, input="SELECT CURRENT_USER()").stdout == "root@localhost\n"
    assert sandbox("sql", server.dir, "-e", "SELEC", check=False).returncode != 0
    server.stop()
    assert "no server is running" in sandbox("sql", server.dir, check=False).stderr


def test_stop_and_kill_of_nothing(sandbox_factory, tmp_path):
    server = sandbox_factory(env=WITHOUT_PLUGIN)
    for command in ("stop", "stop", "kill"):
        sandbox(command, server.dir)
        sandbox(command, tmp_path / "never")
    assert not (tmp_path / "never").exists()
    assert sandbox("env", server.dir).stdout.startswith("PID=\n")
    assert sandbox("env", tmp_path / "never", check=False).returncode == 1


def test_stop_reports_an_end_that_was_no_shutdown(sandbox_factory):
    server = sandbox_factory(env=WITHOUT_PLUGIN)
    pid = int(server.env["PID"])
    os.kill(pid, signal.SIGSTOP)
    with subprocess.Popen([SANDBOX, "stop", server.dir], stderr=subprocess.PIPE, text=True) as stopping:
        until(lambda: signal_is_pending(pid, signal.SIGTERM), 30)
        server.kill()
        _, told = stopping.communicate(timeout=30)
    assert stopping.returncode == 1
    assert "not by a clean shutdown" in told


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["start"],
        ["dance", "DIR"],
        ["start", "DIR", "--hs-port"],
        ["start", "DIR", "--hs-port", "x"],
        ["stop", "DIR", "more"],
    ],
)
def test_wrong_usage(arguments, tmp_path):
    done = sandbox(*arguments, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "tools/sandbox start DIR" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_root_without_names_of_hosts(tmp_path):
    """Neither localhost nor the machine's own name resolves there; an option recreates the data folder."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may have no mounts of its own")
    empty = tmp_path / "hosts"
    empty.write_text("")
    script = (
        f'mount --bind {empty} /etc/hosts && "$0" start "$1" -- --innodb-log-file-size=12M &&'
        ' "$0" sql "$1" -e "SELECT 7 * 6" && "$0" stop "$1"'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, SANDBOX, tmp_path / "server"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and "42" in done.stdout, done.stdout + done.stderr
