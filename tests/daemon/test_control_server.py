"""How the control server takes, keeps and releases its address, and which clients it accepts. Real sockets and
processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_core.errors import DiskFull, NotAllowed, ServiceError, SystemRefused
from lifeboat_core.home.context import Context
from lifeboat_daemon.control.control_server import ControlServer
from lifeboat_daemon.control.daemon_client import connect_if_running
from support import preloaded
from support.alf.raising import raises_code
from support.daemon.control_servers import Served, as_nobody, context, open_home
from support.patience import patience
from support.preloaded import inline
from support.short_folders import short
from support.waiting import until

__all__ = ["context", "short"]

_DAEMON = """
import asyncio, sys
from lifeboat_core.home.context import Context
from lifeboat_daemon.control.control_server import ControlServer
async def main():
    context = Context.open({"LIFEBOAT_HOME": sys.argv[1], "HOME": "/"})
    async def never(parameters):
        print("begun", flush=True)
        await asyncio.Event().wait()
    server = ControlServer(context, "0.1.0", {"never": never}, loopback=sys.argv[2] == "loopback")
    await server.start()
    print("listening", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


def _daemon(context: Context, transport: str) -> subprocess.Popen[str]:
    """Start a listening server in a process of its own."""
    begun = preloaded.Popen(
        inline(_DAEMON), ("-c", str(context.home.folder), transport), stdout=subprocess.PIPE, text=True
    )
    assert begun.stdout is not None
    assert begun.stdout.readline() == "listening\n"
    return begun


def _kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(patience())
    assert process.stdout is not None
    process.stdout.close()


def _path(context: Context) -> Path:
    return context.home.run_folder / "control.sock"


# Taking the address ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["unix", "loopback"])
def test_what_a_killed_daemon_left_is_cleared_away(context: Context, transport: str) -> None:
    killed = _daemon(context, transport)
    client = connect_if_running(context.home, timeout=patience())
    assert client is not None and client.hello.pid == killed.pid
    client.close()
    _kill(killed)
    assert list(context.home.run_folder.iterdir())
    assert connect_if_running(context.home, timeout=patience()) is None
    with Served(context, loopback=transport == "loopback") as served, served.connect() as client:
        assert client.hello.pid == os.getpid()
    assert list(context.home.run_folder.iterdir()) == []


def test_a_client_that_waits_hears_of_the_death_of_its_daemon(context: Context) -> None:
    daemon = _daemon(context, "unix")
    client = connect_if_running(context.home, timeout=patience())
    assert client is not None and daemon.stdout is not None
    number, line = client._talk.request("never", {})
    client._socket.sendall(line)
    assert daemon.stdout.readline() == "begun\n"
    _kill(daemon)
    with raises_code(ServiceError.DOES_NOT_ANSWER):
        client.call("never")
    assert number == 2
    client.close()


def test_a_socket_on_which_somebody_answers_is_left_alone(context: Context) -> None:
    with Served(context) as served:
        with raises_code(ServiceError.ALREADY_RUNNING, match=r"control\.sock"):
            Served(context).__enter__()
        with served.connect() as client:
            assert client.call("echo", a=1) == {"a": 1}


def test_a_daemon_that_hangs_is_one_all_the_same(context: Context) -> None:
    hangs = _daemon(context, "unix")
    hangs.send_signal(signal.SIGSTOP)
    try:
        with raises_code(ServiceError.ALREADY_RUNNING):
            Served(context).__enter__()
    finally:
        _kill(hangs)


def test_a_socket_with_a_full_queue_is_one_on_which_somebody_answers(context: Context) -> None:
    with socket.socket(socket.AF_UNIX) as full:
        full.bind(str(_path(context)))
        full.listen(0)
        waiting = []
        while True:
            each = socket.socket(socket.AF_UNIX)
            waiting.append(each)
            each.setblocking(False)
            try:
                each.connect(str(_path(context)))
            except BlockingIOError:
                break
        with raises_code(ServiceError.ALREADY_RUNNING):
            Served(context).__enter__()
        with raises_code(ServiceError.DOES_NOT_ANSWER):
            connect_if_running(context.home)
        for each in waiting:
            each.close()


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_no_socket_is_never_removed(context: Context, short: Path, kind: str) -> None:
    path = _path(context)
    if kind == "file":
        path.write_text("mine")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(short / "elsewhere")
    with pytest.raises(NotAllowed) as caught:
        Served(context).__enter__()
    assert caught.value.fix == f"rm {path}"
    assert os.path.lexists(path)


def test_a_folder_that_cannot_be_written_is_a_refusal_of_the_system(context: Context) -> None:
    class FullDisk(SystemFiles):
        def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
            raise OSError(28, "No space left on device")

    full = Context(context.home, FullDisk(), context.clock, context.environment)
    with pytest.raises(DiskFull):
        Served(full, loopback=True).__enter__()
    assert list(context.home.run_folder.iterdir()) == []
    with Served(full) as served:  # The usual address needs no note.
        served.connect().close()


def test_a_socket_that_did_not_become_private_is_not_used(context: Context) -> None:
    """This happens on a file system without permissions."""

    class Loose(SystemFiles):
        def lstat(self, path: StrPath) -> os.stat_result:
            found = super().lstat(path)
            return os.stat_result((found.st_mode | 0o66, *found[1:])) if stat.S_ISSOCK(found.st_mode) else found

    with pytest.raises(NotAllowed, match="cannot restrict"):
        Served(Context(context.home, Loose(), context.clock, context.environment)).__enter__()
    assert not _path(context).exists()


def test_the_rights_for_new_files_are_what_they_were(context: Context) -> None:
    before = os.umask(0o027)
    try:
        with Served(context):
            assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


# Keeping and releasing it ------------------------------------------------------------------------------------------


def test_the_end_of_a_server_takes_nobody_elses_socket(context: Context) -> None:
    with Served(context) as served:
        _path(context).unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(_path(context)))
            served.do(served.server.stop())
            assert stat.S_ISSOCK(_path(context).lstat().st_mode)


@pytest.mark.parametrize("loopback", [False, True])
def test_a_server_whose_files_were_removed_can_be_found_again(context: Context, loopback: bool) -> None:
    with Served(context, loopback=loopback) as served, served.connect() as before:
        served.do(served.server.check())
        address = served.server.address
        assert before.call("echo", a=1) == {"a": 1}
        for each in context.home.run_folder.iterdir():
            each.unlink()
        context.home.run_folder.rmdir()
        assert connect_if_running(context.home) is None
        served.do(served.server.check())
        with served.connect() as after:
            assert after.call("echo", b=2) == {"b": 2}
        assert before.call("echo", c=3) == {"c": 3}
        assert (served.server.address == address) is not loopback
    assert list(context.home.run_folder.iterdir()) == []


def test_a_server_whose_place_was_taken_tries_again_at_each_look(context: Context) -> None:
    with Served(context) as served:
        _path(context).unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(_path(context)))
            other.listen()
            for _ in range(2):
                with raises_code(ServiceError.ALREADY_RUNNING):
                    served.do(served.server.check())
                assert served.server.address == ""
        served.do(served.server.check())
        served.connect().close()


def test_a_look_at_a_server_that_can_be_found_changes_nothing(context: Context) -> None:
    with Served(context) as served:
        found = _path(context).lstat()
        served.do(served.server.check())
        assert (_path(context).lstat().st_ino, served.server.address) == (found.st_ino, str(_path(context)))


def test_a_server_that_was_never_started_can_be_stopped(context: Context) -> None:
    async def stop() -> str:
        server = ControlServer(context, "0.1.0", {})
        await server.check()
        await server.stop()
        return server.address

    assert asyncio.run(stop()) == ""


# Clients -----------------------------------------------------------------------------------------------------------


_CONNECT = """
import json, socket, sys
---
connection = socket.socket(socket.AF_UNIX)
try:
    connection.connect(sys.argv[1])
    hello = {"jsonrpc": "2.0", "id": 1, "method": "hello", "params": {"protocol": 1, "app": "other"}}
    try:
        connection.sendall(json.dumps(hello).encode() + b"\\n")
    except OSError:
        pass
    print(connection.makefile().readline())
except OSError as error:
    print(json.dumps(error.__class__.__name__))
"""


def test_another_user_does_not_even_come_to_the_socket(context: Context) -> None:
    with Served(context):
        assert as_nobody(_CONNECT, str(_path(context))) == '"PermissionError"'


def test_another_user_who_comes_to_the_socket_is_sent_away(context: Context, short: Path) -> None:
    """The kernel reports the user, whatever the permissions of files have become."""
    with Served(context) as served:
        short.chmod(0o755)
        context.home.folder.chmod(0o755)
        context.home.run_folder.chmod(0o755)
        _path(context).chmod(0o666)
        said: dict[str, Any] = json.loads(as_nobody(_CONNECT, str(_path(context))))
        assert said["id"] is None
        assert said["error"]["data"]["code"] == "not_allowed"
        assert "65534" in said["error"]["data"]["message"]
        assert served.reports.events == [("control.refused", {"code": "not_allowed"})]
        until(lambda: served.server.clients == 0)
        served.connect().close()


_ASK = """
import sys
from pathlib import Path
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_daemon.control.daemon_client import DaemonClient
from lifeboat_core.home.lifeboat_home import Home
import lifeboat_daemon.control.peer_user, lifeboat_daemon.control.error_documents
---
try:
    DaemonClient.connect(Home(Path(sys.argv[1])), SystemFiles())
except LifeboatError as error:
    print(error.code)
"""


def test_a_client_of_another_user_is_told_that_it_is_not_for_him(context: Context, short: Path) -> None:
    with Served(context):
        assert as_nobody(_ASK, str(context.home.folder)) == "not_allowed"
        short.chmod(0o755)
        context.home.folder.chmod(0o755)
        assert as_nobody(_ASK, str(context.home.folder)) == "not_allowed"
        context.home.run_folder.chmod(0o755)
        assert as_nobody(_ASK, str(context.home.folder)) == "not_allowed"


_LISTEN = """
import socket, sys
---
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen(5)
print("listening", flush=True)
connection, _ = listening.accept()
print(len(connection.recv(100)), flush=True)
"""


def test_a_client_says_nothing_to_a_daemon_of_another_user(tmp_path: Path, short: Path) -> None:
    """Another user can only listen in our folder if we permit it. The client checks it nevertheless."""
    if os.geteuid() != 0:
        pytest.skip("only root can run a program as another user")
    context = open_home(short / "home")
    short.chmod(0o755)
    context.home.folder.chmod(0o755)
    context.home.run_folder.chmod(0o777)
    program = _LISTEN.replace("---\n", "import os\nos.setgroups([]); os.setgid(65534); os.setuid(65534)\n")
    other = preloaded.Popen(inline(program), ("-c", str(_path(context))), stdout=subprocess.PIPE, text=True, cwd="/")
    assert other.stdout is not None
    assert other.stdout.readline() == "listening\n"
    context.home.run_folder.chmod(0o700)
    with pytest.raises(NotAllowed, match="another user"):
        connect_if_running(context.home, timeout=patience())
    assert other.stdout.readline() == "0\n"
    other.stdout.close()
    other.wait(patience())


def test_the_refusal_of_the_system_is_one_of_our_errors(context: Context) -> None:
    class Refusing(SystemFiles):
        def make_folders(self, path: StrPath, mode: int = 0o777) -> None:
            raise PermissionError(13, "Permission denied")

    with pytest.raises(SystemRefused):
        Served(Context(context.home, Refusing(), context.clock, context.environment)).__enter__()
