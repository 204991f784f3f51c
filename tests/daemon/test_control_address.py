"""The address of the control socket, and that a client finds it from the home alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.errors import NotAllowed, NotRunning, ServiceError
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_daemon.control import socket_address
from lifeboat_daemon.control.socket_address import LONGEST, LoopbackAddress, UnixAddress
from support.daemon.control_servers import Served, context, open_home
from support.short_folders import short

__all__ = ["context", "short"]
FILES = SystemFiles()


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """Make a folder whose path is too long for a socket."""
    return tmp_path / ("deep-" + "x" * LONGEST)


def _mode(path: Path | str) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def test_the_socket_lies_in_a_private_folder_of_the_home(context: Context) -> None:
    with Served(context) as served:
        path = context.home.folder / "run" / "control.sock"
        assert served.server.address == str(path)
        assert stat.S_ISSOCK(path.lstat().st_mode)
        assert (_mode(path.parent), _mode(path)) == (0o700, 0o600)
        assert not (path.parent / "control.json").exists()


def test_a_folder_that_others_could_look_into_becomes_private(context: Context) -> None:
    context.home.run_folder.chmod(0o755)
    with Served(context):
        assert _mode(context.home.run_folder) == 0o700


def test_a_path_of_a_hundred_bytes_is_used_and_one_of_a_hundred_and_one_is_not(short: Path) -> None:
    room = LONGEST - len(os.fsencode(short / "run" / "control.sock")) - 1
    (fits, too_long) = (open_home(short / ("x" * room)), open_home(short / ("x" * (room + 1))))
    usual = socket_address.choose_address(fits.home, FILES, {"TMPDIR": str(short)})
    assert (usual.path, len(usual.path)) == (str(fits.home.run_folder / "control.sock"), LONGEST)
    other = socket_address.choose_address(too_long.home, FILES, {"TMPDIR": str(short)})
    assert other.path == str(short / f"lifeboat-{os.geteuid()}" / f"{too_long.home.read_id(FILES)}.sock")


def test_letters_are_counted_as_the_bytes_that_they_are(short: Path) -> None:
    home = open_home(short / ("ä" * 40)).home
    assert len(str(home.run_folder / "control.sock")) < LONGEST
    assert socket_address.choose_address(home, FILES, {"TMPDIR": str(short)}).path.startswith(f"{short}/lifeboat-")


def test_a_client_without_the_daemons_environment_finds_a_socket_that_lies_elsewhere(
    deep: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = open_home(deep, XDG_RUNTIME_DIR=str(short))
    with Served(context) as served:
        home_id = context.home.read_id(FILES)
        assert served.server.address == str(short / "lifeboat" / f"{home_id}.sock")
        assert (_mode(short / "lifeboat"), _mode(served.server.address)) == (0o700, 0o600)
        assert _mode(context.home.run_folder / "control.json") == 0o600
        monkeypatch.setenv("TMPDIR", "/nowhere")
        with served.connect() as client:
            assert client.hello.home == str(deep)
    assert list((short / "lifeboat").iterdir()) == []
    assert list(context.home.run_folder.iterdir()) == []


def test_two_homes_with_long_paths_do_not_meet(deep: Path, short: Path) -> None:
    first, second = (open_home(deep / name, XDG_RUNTIME_DIR=str(short)) for name in ("first", "second"))
    with Served(first) as one, Served(second) as two, one.connect() as asks_one, two.connect() as asks_two:
        assert (asks_one.hello.home, asks_two.hello.home) == (str(deep / "first"), str(deep / "second"))


def test_the_runtime_folder_of_another_user_or_one_open_to_others_is_passed_over(short: Path, deep: Path) -> None:
    home = open_home(deep).home
    loose = short / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    around = {"TMPDIR": str(short), "XDG_RUNTIME_DIR": str(loose)}
    assert str(loose) not in socket_address.choose_address(home, FILES, around).path
    if os.geteuid() == 0:
        loose.chmod(0o700)
        os.chown(loose, 65534, 65534)
        assert str(loose) not in socket_address.choose_address(home, FILES, around).path
    for useless in ("relative", "/nowhere-at-all", ""):
        assert socket_address.choose_address(home, FILES, around | {"XDG_RUNTIME_DIR": useless}).path.startswith(
            f"{short}/lifeboat-"
        )


@pytest.mark.parametrize("made", ["a link", "open to others", "of another user", "a file"])
def test_the_service_starts_although_another_user_made_its_folder_for_temporary_files_first(
    short: Path, deep: Path, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = short / f"lifeboat-{os.geteuid()}"
    (short / "elsewhere").mkdir()
    if made == "a link":
        ours.symlink_to(short / "elsewhere")
    elif made == "a file":
        ours.write_text("")
    else:
        ours.mkdir()
        ours.chmod(0o777)
    if made == "of another user":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder to another user")
        ours.chmod(0o700)
        os.chown(ours, 65534, 65534)
    monkeypatch.setattr("lifeboat_daemon.control.socket_address._temporary_folders", lambda environment: [str(short)])
    before = ours.lstat()
    with Served(open_home(deep)) as served, served.connect() as client:
        assert client.hello.home == str(deep)
        folder = Path(served.server.address).parent
        assert folder.name.startswith(f"lifeboat-{os.geteuid()}-") and _mode(folder) == 0o700
    assert not folder.exists()
    assert list((short / "elsewhere").iterdir()) == []
    assert (ours.lstat().st_mode, ours.lstat().st_uid) == (before.st_mode, before.st_uid)


def test_the_next_folder_for_temporary_files_is_used_before_one_with_a_random_name(short: Path, deep: Path) -> None:
    (short / "taken").mkdir()
    (short / "taken" / f"lifeboat-{os.geteuid()}").write_text("")
    found = socket_address.choose_address(open_home(deep).home, FILES, {"TMPDIR": str(short / "taken")})
    assert Path(found.path).parent.name == f"lifeboat-{os.geteuid()}"


def test_the_folder_of_the_system_is_the_last_resort(deep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The temporary folder may have a long path too."""
    longer = deep / "temporary"
    longer.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(longer))
    found = socket_address.choose_address(open_home(deep / "home").home, FILES, {"TMPDIR": str(longer)})
    assert Path(found.path).parent == Path(f"/tmp/lifeboat-{os.geteuid()}")


def test_nothing_is_found_where_there_is_no_home_no_folder_or_no_daemon(short: Path) -> None:
    for folder in (short / "nowhere", short):
        with pytest.raises(NotRunning):
            socket_address.find_address(Home(folder), FILES)
    (short / "file").write_text("")
    with pytest.raises(NotRunning):
        socket_address.find_address(Home(short / "file"), FILES)
    home = open_home(short / "home").home
    assert socket_address.find_address(home, FILES) == UnixAddress(str(home.run_folder / "control.sock"))


def test_a_long_path_without_a_note_means_that_no_daemon_runs(deep: Path) -> None:
    with pytest.raises(NotRunning):
        socket_address.find_address(open_home(deep).home, FILES)


def test_a_client_trusts_no_folder_that_others_write_to(context: Context) -> None:
    context.home.run_folder.chmod(0o770)
    with pytest.raises(NotAllowed, match="other users can write"):
        socket_address.find_address(context.home, FILES)
    context.home.run_folder.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(context.home.run_folder, 65534, 65534)
        with pytest.raises(NotAllowed, match="another user"):
            socket_address.find_address(context.home, FILES)


def test_a_client_believes_no_note_that_others_could_have_written(context: Context, short: Path) -> None:
    (short / "private").mkdir(mode=0o700)
    elsewhere = UnixAddress(str(short / "private" / "x.sock"))
    for where in (elsewhere, LoopbackAddress(1, "a" * 64, "b" * 64)):
        context.home.run_folder.chmod(0o700)
        socket_address.write_address_note(context.home, FILES, where)
        assert socket_address.find_address(context.home, FILES) == where
        context.home.run_folder.chmod(0o777)
        with pytest.raises(NotAllowed, match="other users can write"):
            socket_address.find_address(context.home, FILES)


def test_a_client_follows_no_link_in_place_of_the_folder(context: Context, short: Path) -> None:
    context.home.run_folder.rmdir()
    (short / "elsewhere").mkdir(mode=0o700)
    context.home.run_folder.symlink_to(short / "elsewhere")
    with pytest.raises(NotAllowed, match="link"):
        socket_address.find_address(context.home, FILES)


def test_a_client_does_not_go_where_a_note_leads_if_others_write_there(context: Context, short: Path) -> None:
    loose = short / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    socket_address.write_address_note(context.home, FILES, UnixAddress(str(loose / "x.sock")))
    with pytest.raises(NotAllowed, match="other users can write"):
        socket_address.find_address(context.home, FILES)


@pytest.mark.parametrize(
    "note", [b"", b"{", b"[]", b'{"transport": "pigeon"}', b'{"transport":"unix","path":"here"}', b"\xff" * 9]
)
def test_a_damaged_note_is_an_error_with_a_way_out(context: Context, note: bytes) -> None:
    (context.home.run_folder / "control.json").write_bytes(note)
    with pytest.raises(ServiceError) as caught:
        socket_address.find_address(context.home, FILES)
    assert caught.value.fix == "lifeboat daemon restart"


def test_a_note_that_is_a_link_is_not_read(context: Context, short: Path) -> None:
    (short / "other.json").write_text('{"transport": "unix", "path": "/tmp/x.sock"}')
    (context.home.run_folder / "control.json").symlink_to(short / "other.json")
    with pytest.raises(ServiceError):
        socket_address.find_address(context.home, FILES)


def test_the_usual_place_needs_no_note_and_takes_an_old_one_away(context: Context) -> None:
    socket_address.write_address_note(context.home, FILES, LoopbackAddress(1, "a" * 64, "b" * 64))
    assert isinstance(socket_address.find_address(context.home, FILES), LoopbackAddress)
    with Served(context) as served:
        assert isinstance(socket_address.find_address(context.home, FILES), UnixAddress)
        served.connect().close()


def test_the_token_of_a_loopback_address_is_new_each_time_and_its_note_private(context: Context) -> None:
    seen = []
    for _ in range(2):
        with Served(context, loopback=True) as served:
            assert _mode(context.home.run_folder / "control.json") == 0o600
            found = socket_address.find_address(context.home, FILES)
            assert isinstance(found, LoopbackAddress)
            assert served.server.address == f"127.0.0.1:{found.port}"
            seen += [found.token, found.reply]
        assert list(context.home.run_folder.iterdir()) == []
    assert len(set(seen)) == 4
    assert all(len(bytes.fromhex(each)) == 32 for each in seen)


@pytest.mark.parametrize("given", [None, 1, "", "a" * 63, "a" * 65, "ä" * 64, "b" * 64, "\ud800"])
def test_only_the_token_is_the_token(given: object) -> None:
    where = LoopbackAddress(1, "a" * 64, "b" * 64)
    assert not where.is_token(given)
    assert where.is_token("a" * 64)
    assert where.is_reply("b" * 64) and not where.is_reply("a" * 64)
