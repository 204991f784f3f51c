"""Remotes on a real OpenSSH server: two machines at once, broken connections, and what cannot be used."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_core.remotes.sealed.log_files import HeadMoved
from lifeboat_core.remotes.sftp import ssh_pipe
from lifeboat_core.remotes.sftp.sftp_address import parse_sftp_address
from lifeboat_core.remotes.sftp.sftp_kind import REMOTE_KIND
from lifeboat_vault.errors import (
    RemoteDamaged,
    RemoteDenied,
    RemoteError,
    RemoteRefused,
    RemoteUnreachable,
    RemoteUntrusted,
    UnknownAtRemote,
)
from support.core.sealed_logs import content_there
from support.core.sftp_machines import KilledSsh, SftpMachine
from support.core.ssh_server import HOST, SshServer, ssh_server, write_program
from support.patience import patience


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh_server(tmp_path_factory.mktemp("sftp") / "server") as running:
        yield running


def machine_at(server: SshServer, folder: Path, name: str = "laptop", **options: object) -> SftpMachine:
    """A machine whose remote belongs to one test."""
    return SftpMachine(folder / name, server.url(folder.name), server.programs, **options)  # type: ignore[arg-type]


def root_of(server: SshServer, folder: Path) -> Path:
    return server.root / folder.name


# Two machines -------------------------------------------------------------------------------------------------------


def test_of_two_machines_with_the_same_head_one_is_refused(server: SshServer, tmp_path: Path) -> None:
    first = machine_at(server, tmp_path)
    second = machine_at(server, tmp_path, "desktop", key=first.key)
    one, other = first.files(), second.files()
    one.add_agent(AGENT_ID)
    tag = one.set_head(AGENT_ID, b"first", None)
    assert other.head(AGENT_ID) == (b"first", tag)
    newer = one.set_head(AGENT_ID, b"second", tag)
    with pytest.raises(HeadMoved):
        other.set_head(AGENT_ID, b"another", tag)
    assert other.head(AGENT_ID) == (b"second", newer)
    one.close()
    other.close()


def test_of_many_writers_at_once_no_accepted_head_is_lost(server: SshServer, tmp_path: Path) -> None:
    """Every writer appends its name to what it read, over a connection of its own."""
    laptop = machine_at(server, tmp_path)
    laptop.files().add_agent(AGENT_ID)
    accepted: list[bytes] = []

    def write(name: str) -> None:
        files = laptop.files()
        for turn in range(6):
            known = files.head(AGENT_ID)
            word = f"{name}{turn} ".encode()
            try:
                files.set_head(AGENT_ID, (known[0] if known else b"") + word, known[1] if known else None)
            except HeadMoved:
                continue
            accepted.append(word)
        files.close()

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for each in writers:
        each.start()
    for each in writers:
        each.join(patience())
    newest = laptop.files().head(AGENT_ID)
    assert newest is not None and len(accepted) >= 6
    assert [word for word in accepted if word not in newest[0]] == []


def test_two_machines_that_push_at_the_same_time_lose_no_acknowledged_sequence(
    server: SshServer, tmp_path: Path
) -> None:
    laptop = machine_at(server, tmp_path)
    laptop.write(1)
    clones = [machine_at(server, tmp_path, name, key=laptop.key) for name in ("one", "two")]
    acknowledged: list[str] = []

    def register(machine: SftpMachine) -> None:
        for _ in range(3):
            agent_epoch = machine.log().agent(AGENT_ID).epoch
            try:
                made = machine.log().raise_epoch(AGENT_ID, agent_epoch)
            except RemoteError:
                continue
            acknowledged.append(f"{made}")

    threads = [threading.Thread(target=register, args=(each,)) for each in clones]
    for each in threads:
        each.start()
    for each in threads:
        each.join(patience())
    assert acknowledged and len(set(acknowledged)) == len(acknowledged), "one epoch was given to two machines"
    assert laptop.log().agent(AGENT_ID).epoch == 1 + len(acknowledged)
    assert content_there(laptop.log(), 0) == laptop.content(0)


# Files --------------------------------------------------------------------------------------------------------------


def test_a_large_file_comes_back_equal_and_nothing_else_stays(server: SshServer, tmp_path: Path) -> None:
    data = os.urandom(5_000_001)
    files = machine_at(server, tmp_path).files()
    files.add_agent(AGENT_ID)
    files.put(AGENT_ID, "large-1.age", io.BytesIO(data))
    with files.read(AGENT_ID, "large-1.age") as file:
        assert file.read() == data
    assert [(each.name, each.size) for each in files.names(AGENT_ID)] == [("large-1.age", len(data))]
    assert sorted(os.listdir(root_of(server, tmp_path) / "agents" / AGENT_ID)) == ["heads", "large-1.age"]
    with pytest.raises(RemoteRefused, match="exists already"):
        files.put(AGENT_ID, "large-1.age", io.BytesIO(b"other"))
    with files.read(AGENT_ID, "large-1.age") as file:
        assert file.read() == data
    with pytest.raises(UnknownAtRemote):
        files.read(AGENT_ID, "large-2.age")
    files.close()


@pytest.mark.parametrize("name", ["heads", "../other", "UPPER", "a/b", "", ".hidden"])
def test_a_name_that_is_no_name_of_a_file_is_refused(name: str, server: SshServer, tmp_path: Path) -> None:
    with pytest.raises(RemoteRefused, match="not a valid file name"):
        machine_at(server, tmp_path).files().put(AGENT_ID, name, io.BytesIO(b"x"))


def test_files_in_plain_text_are_for_their_owner_alone(server: SshServer, tmp_path: Path) -> None:
    laptop = machine_at(server, tmp_path, sealed=False)
    laptop.write(2)
    modes = {path.stat().st_mode & 0o077 for path in root_of(server, tmp_path).rglob("*")}
    assert modes == {0}


def test_leftovers_of_writers_that_died_are_removed_a_day_later(server: SshServer, tmp_path: Path) -> None:
    laptop = machine_at(server, tmp_path)
    laptop.write(1)
    folder = root_of(server, tmp_path) / "agents" / AGENT_ID
    old, young = folder / ".a.alf.0123456789ab.tmp", folder / ".b.alf.0123456789ab.tmp"
    for path in (old, young):
        path.write_bytes(b"half")
    moment = young.stat().st_mtime - 2 * 86400
    os.utime(old, (moment, moment))
    assert all(each.name[0] != "." for each in laptop.files().names(AGENT_ID))
    assert (old.exists(), young.exists()) == (False, True)


# What is there ------------------------------------------------------------------------------------------------------


def test_an_emptied_folder_is_unreachable_and_nothing_is_written(server: SshServer, tmp_path: Path) -> None:
    laptop = machine_at(server, tmp_path)
    laptop.write(1)
    laptop.remote_id = laptop.files().identity()
    root = root_of(server, tmp_path)
    root.rename(root.with_name(f"{root.name}-moved"))
    with pytest.raises(RemoteUnreachable, match="does not contain the remote"):
        laptop.push()
    assert not root.exists()


def test_another_remote_in_the_same_folder_is_unreachable(server: SshServer, tmp_path: Path) -> None:
    laptop = machine_at(server, tmp_path)
    laptop.remote_id = laptop.files().identity()
    (root_of(server, tmp_path) / "lifeboat.json").unlink()
    machine_at(server, tmp_path, "stranger").files().identity()
    with pytest.raises(RemoteUnreachable, match="another remote"):
        laptop.files().agents()


def test_a_folder_is_kept_one_way(server: SshServer, tmp_path: Path) -> None:
    laptop = machine_at(server, tmp_path)
    laptop.files().identity()
    laptop.sealed = False
    with pytest.raises(RemoteRefused, match="without --plain"):
        laptop.files().identity()


@pytest.mark.parametrize("data", [b"", b"{}", b'{"kind": "lifeboat folder"}', b"[" * 100_000])
def test_a_damaged_root_is_named(data: bytes, server: SshServer, tmp_path: Path) -> None:
    laptop = machine_at(server, tmp_path)
    laptop.files().identity()
    (root_of(server, tmp_path) / "lifeboat.json").write_bytes(data)
    with pytest.raises(RemoteDamaged, match="does not identify"):
        laptop.files().identity()


def run_fix(error: LifeboatError, server: SshServer) -> None:
    assert error.fix is not None
    environment = {**os.environ, "PATH": server.programs}
    subprocess.run(error.fix, shell=True, check=True, env=environment, stdin=subprocess.DEVNULL, timeout=patience())


def test_a_file_in_the_place_of_the_folder_is_named(server: SshServer, tmp_path: Path) -> None:
    root_of(server, tmp_path).write_text("not a folder")
    with pytest.raises(RemoteUnreachable, match="is not a folder") as raised:
        machine_at(server, tmp_path).files().identity()
    run_fix(raised.value, server)


@pytest.mark.parametrize("options", [(), ("ForceCommand internal-sftp",)])
def test_every_command_in_an_error_works_also_for_an_account_without_a_shell(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    with ssh_server(tmp_path / "server", "internal-sftp", *options) as restricted:
        url = restricted.url("a boat/in the/harbour")
        laptop = SftpMachine(tmp_path / "laptop", url.replace(" ", "%20"), restricted.programs)
        with pytest.raises(RemoteUnreachable, match="above it does not exist") as raised:
            laptop.files().identity()
        run_fix(raised.value, restricted)
        laptop.write(1)
        laptop.remote_id = laptop.files().identity()
        (restricted.root / "a boat/in the/harbour/lifeboat.json").unlink()
        with pytest.raises(RemoteUnreachable, match="does not contain the remote") as raised:
            laptop.push()
        run_fix(raised.value, restricted)


# What goes wrong ----------------------------------------------------------------------------------------------------


def test_an_unknown_host_key_is_named_with_the_command_that_learns_it(server: SshServer, tmp_path: Path) -> None:
    laptop = machine_at(server, tmp_path)
    server.known_hosts.write_text("")
    try:
        with pytest.raises(RemoteUntrusted, match="does not know the host key") as raised:
            laptop.files().identity()
    finally:
        server.trust()
    assert raised.value.fix == f"ssh {HOST}"


def test_another_host_key_is_refused_and_nothing_is_sent(server: SshServer, tmp_path: Path) -> None:
    laptop = machine_at(server, tmp_path)
    laptop.write(1)
    server.trust("other_key")
    try:
        with pytest.raises(RemoteUntrusted, match="has changed") as raised:
            laptop.push()
    finally:
        server.trust()
    assert raised.value.fix == f"ssh-keygen -R {HOST}"


def test_a_key_that_the_server_does_not_accept_is_named(server: SshServer, tmp_path: Path) -> None:
    accepted = server.folder / "authorized_keys"
    accepted.rename(server.folder / "kept")
    try:
        with pytest.raises(RemoteDenied, match="does not accept a key") as raised:
            machine_at(server, tmp_path).files().identity()
    finally:
        (server.folder / "kept").rename(accepted)
    assert raised.value.fix == f"ssh {HOST}"


def test_a_server_without_sftp_is_named(tmp_path: Path) -> None:
    with ssh_server(tmp_path / "server", "") as bare, pytest.raises(RemoteRefused, match="does not offer SFTP"):
        machine_at(bare, tmp_path).files().identity()


def test_a_server_for_reading_is_named_when_it_is_written_to(tmp_path: Path) -> None:
    with ssh_server(tmp_path / "server", "internal-sftp -R") as fixed:
        laptop = machine_at(fixed, tmp_path)
        with pytest.raises(RemoteDenied, match="no permission, probing the server"):
            laptop.log().examine_store()


def test_a_server_without_hard_links_is_refused_before_anything_is_kept(tmp_path: Path) -> None:
    with ssh_server(tmp_path / "server", "internal-sftp -P hardlink") as limited:
        laptop = machine_at(limited, tmp_path)
        with pytest.raises(RemoteRefused, match="hard"):
            laptop.log().examine_store()


def test_an_account_that_may_only_read_restores(server: SshServer, tmp_path: Path) -> None:
    laptop = machine_at(server, tmp_path)
    laptop.write(2)
    with ssh_server(tmp_path / "reading", "internal-sftp -R") as reading:
        url = server.url(tmp_path.name)
        reader = SftpMachine(tmp_path / "reader", url, reading.programs, key=laptop.key)
        assert content_there(reader.log(), 1) == laptop.content(1)


def test_a_port_on_which_nothing_listens_is_named(server: SshServer, tmp_path: Path) -> None:
    laptop = SftpMachine(tmp_path / "laptop", "sftp://127.0.0.1:1/srv/boat", server.programs)
    with pytest.raises(RemoteUnreachable, match="no SSH server listens"):
        laptop.files().identity()


def test_a_host_that_does_not_exist_is_named(server: SshServer, tmp_path: Path) -> None:
    laptop = SftpMachine(tmp_path / "laptop", "sftp://no-such-host.invalid/srv/boat", server.programs)
    with pytest.raises(RemoteUnreachable, match="no host with this name"):
        laptop.files().identity()


def test_a_machine_without_ssh_is_told_so(tmp_path: Path) -> None:
    laptop = SftpMachine(tmp_path / "laptop", "sftp://boat.example.com/srv/boat", str(tmp_path))
    with pytest.raises(RemoteRefused, match="ssh is not installed"):
        laptop.files().identity()
    found = REMOTE_KIND.find_missing_program(laptop.context)
    assert found is not None and "ssh" in found[0]


@pytest.mark.parametrize(
    ("program", "kind", "said"),
    [
        ("printf 'Welcome to the harbour!\\n'; cat > /dev/null", RemoteUnreachable, "not SFTP"),
        ("cat > /dev/null; cat /dev/zero", RemoteUnreachable, "not SFTP|ended|in time"),
        ("printf '\\000\\000\\000\\005\\002\\000\\000\\000\\001'; cat > /dev/null", RemoteUnreachable, "not SFTP"),
        ("printf '\\000\\000\\000\\005\\002\\000\\000\\000\\003'; cat > /dev/null", RemoteUnreachable, "in time"),
        ("exit 0", RemoteUnreachable, "connection ended"),
        ("echo 'ssh: something new' >&2; exit 255", RemoteUnreachable, "something new"),
        ("kill -9 $$", RemoteUnreachable, "connection ended"),
        ("sleep 600", RemoteUnreachable, "in time"),
    ],
)
def test_a_program_that_answers_rubbish_or_nothing_is_given_up(
    program: str, kind: type[LifeboatError], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CONNECTING", "ASKING", "REQUEST"):
        monkeypatch.setattr(ssh_pipe, name, 2.0)
    programs = write_program(tmp_path / "bin", program)
    laptop = SftpMachine(tmp_path / "laptop", "sftp://boat.example.com/srv/boat", programs)
    with pytest.raises(kind, match=said):
        laptop.files().identity()


_PREFIX = b"".join(
    len(name).to_bytes(4, "big") + name + b"\0\0\0\x011"
    for name in (b"hardlink@openssh.com", b"posix-rename@openssh.com", b"fsync@openssh.com", b"statvfs@openssh.com")
)
_HOSTILE = """
import struct, sys
ask, answer = sys.stdin.buffer, sys.stdout.buffer
def say(kind, data):
    answer.write(struct.pack(">IB", len(data) + 1, kind) + data)
    answer.flush()
def heard():
    size, = struct.unpack(">I", ask.read(4))
    return ask.read(size)
heard()
say(2, struct.pack(">I", 3) + EXTENSIONS)
while True:
    request = heard()
    number = request[1:5]
    ANSWER
"""


@pytest.mark.parametrize(
    "answer",
    [
        "say(104, number + b'\\xff' * 4)",
        "say(105, number + struct.pack('>II', 0x80000000, 0xffffffff))",
        "say(105, number + b'\\0\\0')",
        "say(102, number + b'\\0\\0\\0\\x01h')",
        "say(101, number + b'\\0\\0\\0\\0')",
        "say(101, number + b'\\0\\0\\0\\x04')",
        "say(101, number)",
        "say(103, number + struct.pack('>I', 1 << 31))",
        "say(103, number + struct.pack('>I', 9) + bytes(9))",
        "answer.write(b'\\xff' * 100); answer.flush()",
        "answer.write(struct.pack('>I', 0)); answer.flush()",
        "[say(101, struct.pack('>II', 10**6 + each, 0)) for each in range(10**9)]",
        "sys.exit(0)",
        "import time; time.sleep(600)",
    ],
)
def test_a_hostile_server_is_given_up_in_time_and_without_much_memory(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_pipe, "REQUEST", 2.0)
    text = _HOSTILE.replace("EXTENSIONS", repr(_PREFIX)).replace("ANSWER", answer)
    programs = write_program(tmp_path / "bin", text, sys.executable)
    laptop = SftpMachine(tmp_path / "laptop", "sftp://boat.example.com/srv/boat", programs)
    for work in (laptop.files().identity, laptop.log().examine_store, laptop.log().agents):
        with pytest.raises(RemoteError):
            work()


_ID = "019a0000-0000-7000-8000-000000000001"
_ROOT = f'{{"kind":"lifeboat sftp","version":1,"id":"{_ID}","created_at":"","sealed":true}}'.encode()


@pytest.mark.parametrize("entries", ["bytes(4)", "struct.pack('>II', 1, 9) + next(names) + bytes(8)"])
def test_a_listing_without_an_end_is_given_up(entries: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that has a valid remote, and answers every part of a listing with no entry, or with one more."""
    monkeypatch.setattr(ssh_pipe, "LISTING", 2.0)
    answers = f"""kind, offset = request[0], 0
    if kind == 4: say(101, number + bytes(4))
    elif kind in (3, 11): say(102, number + b"\\0\\0\\0\\x01h")
    elif kind in (7, 8, 17): say(105, number + struct.pack(">IQ", 1, len(ROOT)))
    elif kind == 5: say(103, number + struct.pack(">I", len(ROOT)) + ROOT)
    else: say(104, number + {entries})"""
    text = _HOSTILE.replace("EXTENSIONS", repr(_PREFIX)).replace("ANSWER", answers)
    text = f"import itertools\nROOT = {_ROOT!r}\nnames = (b'%09d' % each for each in itertools.count())\n{text}"
    laptop = SftpMachine(
        tmp_path / "laptop", "sftp://boat.example.com/srv/boat", write_program(tmp_path / "bin", text, sys.executable)
    )
    files = laptop.files()
    assert files.identity() == _ID
    with pytest.raises(RemoteUnreachable, match="not SFTP"):
        files.agents()


def test_an_ssh_that_is_killed_in_a_push_loses_nothing_and_the_next_push_mends_it(
    server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = machine_at(server, tmp_path)
    killing = KilledSsh(monkeypatch)
    laptop.write(1)
    laptop.remote_id = laptop.files().identity()
    assert sum(killing.push(laptop, moment) for moment in (5, 25, 40)) >= 2


def test_a_server_that_stops_is_noticed_and_used_again_by_the_same_log(server: SshServer, tmp_path: Path) -> None:
    laptop = machine_at(server, tmp_path)
    laptop.write(1)
    files = laptop.files()
    assert files.agents() == [AGENT_ID]
    assert files._client is not None
    os.kill(files._client._pipe.pid, signal.SIGKILL)
    with pytest.raises(RemoteUnreachable, match="connection ended"):
        files.agents()
    assert files.agents() == [AGENT_ID]
    files.close()


def test_no_process_stays_when_a_log_is_closed(server: SshServer, tmp_path: Path) -> None:
    files = machine_at(server, tmp_path).files()
    files.identity()
    assert files._client is not None
    pid = files._client._pipe.pid
    os.kill(pid, 0)
    files.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# Addresses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "normal", "words"),
    [
        ("sftp://ada@boat.example.com/srv/boat", "sftp://ada@boat.example.com/srv/boat", ["-l", "ada"]),
        ("SFTP://boat.example.com:2222//srv//boat/", "sftp://boat.example.com:2222/srv/boat", ["-p", "2222"]),
        ("sftp://nas/~/backup/boat", "sftp://nas/~/backup/boat", []),
        ("sftp://nas/srv/a%20boat", "sftp://nas/srv/a%20boat", []),
        ("sftp://ada@[2001:db8::1]:22/srv/boat", "sftp://ada@[2001:db8::1]:22/srv/boat", ["-p", "22", "-l", "ada"]),
    ],
)
def test_an_address_has_one_normal_form(url: str, normal: str, words: list[str]) -> None:
    assert REMOTE_KIND.check_url(url) == normal
    assert REMOTE_KIND.check_url(normal) == normal
    assert parse_sftp_address(url).ssh_words[:-1] == words


def test_a_path_below_the_login_folder_is_relative() -> None:
    assert parse_sftp_address("sftp://nas/~/backup/boat").path == "backup/boat"
    assert parse_sftp_address("sftp://nas/srv/a%20boat").path == "/srv/a boat"


@pytest.mark.parametrize(
    "url",
    [
        "sftp://",
        "sftp:///srv/boat",
        "sftp://boat.example.com",
        "sftp://boat.example.com/",
        "sftp://boat.example.com/~/",
        "sftp://ada:hidden@boat.example.com/srv/boat",
        "sftp://hidden@x@boat.example.com/srv/boat",
        "sftp://-oProxyCommand=hidden/srv/boat",
        "sftp://-oProxyCommand=hidden@boat.example.com/srv/boat",
        "sftp://ada@boat;hidden/srv/boat",
        "sftp://ada@$(hidden)/srv/boat",
        "sftp://`hidden`@boat/srv/boat",
        "sftp://boat.example.com:hidden/srv/boat",
        "sftp://boat.example.com:0/srv/boat",
        "sftp://boat.example.com:99999/srv/boat",
        "sftp://[hidden]/srv/boat",
        "sftp://boat.example.com/srv/../hidden",
        "sftp://boat.example.com/srv/hidden%0a",
        "sftp://boat.example.com/srv/%ffhidden",
        "sftp://boat.example.com/srv/boat?hidden",
        "sftp://boat.example.com/srv/boat#hidden",
        "https://boat.example.com/srv/boat",
    ],
)
def test_an_address_with_a_secret_an_option_or_no_folder_is_refused_and_not_repeated(url: str) -> None:
    from lifeboat_core.errors import BadSetting

    with pytest.raises(BadSetting) as raised:
        REMOTE_KIND.check_url(url)
    assert "hidden" not in raised.value.message


def test_no_word_of_an_address_is_an_option_of_ssh() -> None:
    words = ssh_pipe.ssh_words("ssh", parse_sftp_address("sftp://ada@boat.example.com:22/srv"), may_ask=False)
    assert words[-3:] == ["--", "boat.example.com", "sftp"]
    assert "BatchMode=yes" in words
    assert "BatchMode=yes" not in ssh_pipe.ssh_words("ssh", parse_sftp_address("sftp://boat/srv"), may_ask=True)
