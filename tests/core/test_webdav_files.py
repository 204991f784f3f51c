"""WebDAV folders as remotes: lost answers, two machines at once, servers without conditions, and what goes wrong."""

from __future__ import annotations

import io
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_core.errors import BadSetting
from lifeboat_core.network import http_requests
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.probed_store.store_client import make_part_name
from lifeboat_core.remotes.sealed.log_files import HeadMoved
from lifeboat_core.remotes.webdav import webdav_client
from lifeboat_core.remotes.webdav.webdav_address import parse_webdav_address
from lifeboat_core.remotes.webdav.webdav_credentials import parse_token, read_credentials
from lifeboat_core.remotes.webdav.webdav_kind import REMOTE_KIND
from lifeboat_vault.errors import (
    RemoteBusy,
    RemoteDamaged,
    RemoteDenied,
    RemoteFull,
    RemoteRefused,
    RemoteTooLarge,
    RemoteUnreachable,
    RemoteUntrusted,
    UnknownAtRemote,
)
from support.core.authorities import Authority
from support.core.object_store import Conditions, Kept
from support.core.sealed_logs import content_there
from support.core.webdav_machines import TOKEN, WebdavMachine, shorten_waits, webdav_files
from support.core.webdav_servers import PASSWORD, ROOT, SmallServer, small_server, wsgidav_server
from support.scale import object_faults
from support.scale.object_faults import Answer, done_but, in_front_of, status

HEAD_PATH = f"{ROOT}/agents/{AGENT_ID}/head.json"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)


@pytest.fixture
def server() -> Iterator[SmallServer]:
    with small_server() as running:
        yield running


@pytest.fixture
def blind() -> Iterator[SmallServer]:
    """A server that ignores conditions, so that machines take turns and heads are renamed."""
    with small_server(Conditions.IGNORED) as running:
        yield running


def laptop_at(server: SmallServer, tmp_path: Path, address: str = "") -> WebdavMachine:
    return WebdavMachine(tmp_path / "laptop", server.url(address))


# Two machines that replace the same head ----------------------------------------------------------------------------


@pytest.mark.parametrize("conditions", Conditions)
def test_of_two_machines_with_the_same_head_one_is_refused(conditions: Conditions, tmp_path: Path) -> None:
    with small_server(conditions) as server:
        first = laptop_at(server, tmp_path)
        second = WebdavMachine(tmp_path / "desktop", server.url(), key=first.key)
        one, other = first.files(), second.files()
        tag = one.set_head(AGENT_ID, b"first", None)
        assert other.head(AGENT_ID) == (b"first", tag)
        newer = one.set_head(AGENT_ID, b"second", tag)
        with pytest.raises(HeadMoved):
            other.set_head(AGENT_ID, b"another", tag)
        assert first.files().head(AGENT_ID) == (b"second", newer)


@pytest.mark.parametrize("conditions", [Conditions.COMPARED, Conditions.IGNORED])
def test_of_many_writers_at_once_each_accepted_head_follows_the_one_it_replaced(
    conditions: Conditions, tmp_path: Path
) -> None:
    """Every writer appends its name to what it read. No accepted name is lost."""
    with small_server(conditions) as server:
        first = laptop_at(server, tmp_path)
        first.files().set_head(AGENT_ID, b"", None)
        accepted: list[bytes] = []

        def write(number: int) -> None:
            files = first.files()
            for turn in range(5):
                found = files.head(AGENT_ID)
                assert found is not None
                name = b"%d-%d " % (number, turn)
                try:
                    files.set_head(AGENT_ID, found[0] + name, found[1])
                except (HeadMoved, RemoteBusy):
                    continue
                accepted.append(name)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = first.files().head(AGENT_ID)
        assert found is not None and accepted
        assert sorted(found[0].split()) == sorted(name.strip() for name in accepted)


def test_a_lost_answer_to_the_replaced_head_is_no_error_when_the_retry_meets_it(
    server: SmallServer, tmp_path: Path
) -> None:
    with in_front_of(server.address) as faults:
        laptop = laptop_at(server, tmp_path, faults.address)
        laptop.write(1)
        faults.plan(done_but(status(500)), methods=["PUT"], key="head.json", times=1)
        laptop.put(b"later")
        assert laptop.push() == 1
        assert content_there(laptop.log(), 1) == laptop.content(1)


def test_a_lost_answer_to_a_rename_is_no_error(blind: SmallServer, tmp_path: Path) -> None:
    with in_front_of(blind.address) as faults:
        laptop = laptop_at(blind, tmp_path, faults.address)
        laptop.write(1)
        faults.plan(done_but(object_faults.reset), methods=["MOVE"], key="000000000001", times=1)
        laptop.put(b"later")
        assert laptop.push() == 1
        assert content_there(laptop.log(), 1) == laptop.content(1)


def test_a_server_that_does_not_tell_the_version_of_what_was_written_is_asked_again(
    server: SmallServer, tmp_path: Path
) -> None:
    def hide_version(handler: object, asked: object) -> Answer:
        answer = object_faults.hand_on(handler, asked)  # type: ignore[arg-type]
        assert answer is not None
        return answer._replace(headers=[pair for pair in answer.headers if pair[0].lower() != "etag"])

    with in_front_of(server.address) as faults:
        faults.plan(hide_version, methods=["PUT"])
        files = laptop_at(server, tmp_path, faults.address).files()
        tag = files.set_head(AGENT_ID, b"first", None)
        newer = files.set_head(AGENT_ID, b"second", tag)
        assert files.writers == "several"
        assert files.head(AGENT_ID) == (b"second", newer)


# Documents that were renamed half -----------------------------------------------------------------------------------


def test_a_head_whose_renaming_was_interrupted_is_read_under_its_other_name(blind: SmallServer, tmp_path: Path) -> None:
    """Some servers delete the old file before they rename the new one."""
    laptop = laptop_at(blind, tmp_path)
    laptop.write(1)
    part = make_part_name(HEAD_PATH, is_shared=True)
    blind.files[part] = blind.files.pop(HEAD_PATH)
    head = laptop.log().agent(AGENT_ID).head
    assert head is not None and head.number == 0
    laptop.put(b"later")
    assert laptop.push() == 1
    assert part not in blind.files and HEAD_PATH in blind.files


def test_a_document_that_was_written_half_counts_as_missing(blind: SmallServer, tmp_path: Path) -> None:
    laptop = laptop_at(blind, tmp_path)
    laptop.write(1)
    kept = blind.files.pop(HEAD_PATH)
    blind.files[make_part_name(HEAD_PATH, is_shared=True)] = Kept(kept.data[:-5], kept.modified)
    assert laptop.files().head(AGENT_ID) is None


def test_files_of_interrupted_writes_are_not_listed_and_removed_when_they_are_a_day_old(
    server: SmallServer, tmp_path: Path
) -> None:
    from datetime import timedelta

    laptop = laptop_at(server, tmp_path)
    laptop.write(1)
    moment = server.files[HEAD_PATH].modified
    folder = f"{ROOT}/agents/{AGENT_ID}"
    old, new = f"{folder}/a.age.0123456789ab.part", f"{folder}/b.age.0123456789ab.part"
    server.files[old] = Kept(b"x", moment - timedelta(days=2))
    server.files[new] = Kept(b"x", moment)
    assert not [each for each in laptop.files().names(AGENT_ID) if "part" in each.name]
    assert old not in server.files and new in server.files
    laptop.files().remove_unfinished(AGENT_ID, lambda name: name == "b.age")
    assert new not in server.files


def test_a_file_arrives_under_its_name_only_when_it_is_whole(server: SmallServer, tmp_path: Path) -> None:
    with in_front_of(server.address) as faults:
        files = laptop_at(server, tmp_path, faults.address).files()
        files.identity()
        faults.plan(status(507), methods=["MOVE"])
        with pytest.raises(RemoteFull):
            files.put(AGENT_ID, "a.age", io.BytesIO(b"content"))
        assert [path for path in server.contents() if "a.age" in path] == []
        faults.heal()
        files.put(AGENT_ID, "a.age", io.BytesIO(b"content"))
        assert server.contents()[f"agents/{AGENT_ID}/a.age"] == b"content"


# What goes wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (status(401), RemoteDenied, "user name or password"),
        (status(403), RemoteDenied, "permission"),
        (status(405), RemoteRefused, "WebDAV may change"),
        (status(412), RemoteRefused, "same time"),
        (status(413), RemoteTooLarge, "larger than the server accepts"),
        (status(423), RemoteBusy, "locked"),
        (status(429), RemoteBusy, "too many requests"),
        (status(503), RemoteBusy, "maintenance"),
        (status(500), RemoteUnreachable, "500"),
        (status(507), RemoteFull, "quota"),
        (status(301), RemoteRefused, "redirect"),
        (object_faults.reset, RemoteUnreachable, "connection"),
    ],
)
def test_what_goes_wrong_in_the_middle_is_named_and_the_next_push_mends_it(
    fault: object_faults.Fault,
    kind: type[Exception],
    said: str,
    server: SmallServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lifeboat_core.remotes.request_retries.TRIES", 2)
    with in_front_of(server.address) as faults:
        laptop = laptop_at(server, tmp_path, faults.address)
        laptop.write(1)
        laptop.put(b"later")
        faults.plan(fault, methods=["PUT"], key="000000000001")
        with pytest.raises(kind, match=said) as raised:
            laptop.push()
        assert PASSWORD not in str(raised.value)
        assert content_there(laptop.log(), 0) == laptop.content(0)
        faults.heal()
        assert laptop.push() == 1
        assert content_there(laptop.log(), 1) == laptop.content(1)


def busy_for(code: int, seconds: str) -> object_faults.Fault:
    return lambda handler, asked: Answer(code, [("Retry-After", seconds)], b"")


@pytest.mark.parametrize("code", [429, 503])
def test_a_busy_server_is_asked_again_after_the_time_that_it_names(
    code: int, server: SmallServer, tmp_path: Path
) -> None:
    with in_front_of(server.address) as faults:
        laptop = laptop_at(server, tmp_path, faults.address)
        laptop.write(1)
        pauses: list[float] = []
        files = webdav_files(laptop.context, laptop.config, pauses=pauses)
        faults.plan(busy_for(code, "7"), methods=["GET"], key="head.json", times=2)
        assert files.head(AGENT_ID) is not None
        assert pauses == [7.0, 7.0]
        faults.plan(busy_for(code, "3600"), methods=["GET"], key="head.json", times=1)
        with pytest.raises(RemoteBusy) as raised:
            files.head(AGENT_ID)
        assert raised.value.retry_after == 3600.0


@pytest.mark.parametrize("fault", [object_faults.shorten, object_faults.flip, object_faults.truncate])
def test_damage_on_the_way_is_never_restored(fault: object_faults.Fault, server: SmallServer, tmp_path: Path) -> None:
    with in_front_of(server.address) as faults:
        laptop = laptop_at(server, tmp_path, faults.address)
        laptop.write(1)
        faults.plan(fault, methods=["GET"], key="000000000000-")
        with pytest.raises((RemoteDamaged, RemoteUnreachable)):
            content_there(laptop.log(), 0)
        faults.heal()
        assert content_there(laptop.log(), 0) == laptop.content(0)


def test_a_document_beyond_any_size_is_damage(
    server: SmallServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = laptop_at(server, tmp_path)
    laptop.write(1)
    monkeypatch.setattr(webdav_client, "LARGEST_DOCUMENT", 1000)
    server.files[HEAD_PATH] = Kept(b"x" * 100_000, server.files[HEAD_PATH].modified)
    with pytest.raises(RemoteDamaged, match="more bytes than Lifeboat ever writes"):
        laptop.files().head(AGENT_ID)


def test_a_redirect_is_not_followed_and_the_password_stays_here(server: SmallServer, tmp_path: Path) -> None:
    with small_server() as other, in_front_of(server.address) as faults:
        faults.plan(lambda handler, asked: Answer(302, [("Location", other.url())], b""))
        with pytest.raises(RemoteRefused, match="redirect"):
            laptop_at(server, tmp_path, faults.address).files().identity()
        assert other.asked == []


def test_a_server_with_another_certificate_learns_nothing(server: SmallServer, tmp_path: Path) -> None:
    with in_front_of(server.address, tls=Authority().serving()) as faults:
        with pytest.raises(RemoteUntrusted, match="certificate authority"):
            laptop_at(server, tmp_path, faults.address).files().identity()
        assert faults.asked == [] and server.asked == []


def test_a_server_with_an_older_tls_and_a_valid_certificate_is_used(
    server: SmallServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority()

    def trust() -> ssl.SSLContext:
        return ssl.create_default_context(cadata=authority.pem.decode())

    monkeypatch.setattr(http_requests, "load_system_certificates", trust)
    with in_front_of(server.address, tls=authority.serving(least=ssl.TLSVersion.TLSv1_2)) as faults:
        assert laptop_at(server, tmp_path, faults.address).files().identity()


def test_the_one_write_under_a_lease_ends_in_time(
    blind: SmallServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later one could replace the head of a machine that took over."""
    with in_front_of(blind.address) as faults:
        laptop = laptop_at(blind, tmp_path, faults.address)
        laptop.write(1)
        before = blind.files[HEAD_PATH]
        faults.asked.clear()
        monkeypatch.setattr(webdav_client, "ONE_TRY", 1.0)
        faults.plan(object_faults.stall, methods=["PUT"], key="head.json")
        laptop.put(b"later")
        with pytest.raises(RemoteUnreachable, match="did not end within 1 seconds"):
            laptop.push()
        assert [each.method for each in faults.asked if "head.json" in each.key].count("PUT") == 1
        assert blind.files[HEAD_PATH] == before and faults.outwaited == 0
        faults.heal()
        monkeypatch.undo()
        shorten_waits(monkeypatch)
        assert laptop.push() == 1


def test_a_server_without_basic_authentication_is_named(server: SmallServer, tmp_path: Path) -> None:
    server.challenge = 'Digest realm="boat", nonce="1"'
    laptop = laptop_at(server, tmp_path)
    log = REMOTE_KIND.open(laptop.context, laptop.config, read_credentials("ada\nanother-fake-password"))
    with pytest.raises(RemoteDenied, match="does not offer Basic"):
        log.about()


def test_a_missing_file_is_unknown_and_names_are_checked(server: SmallServer, tmp_path: Path) -> None:
    files = laptop_at(server, tmp_path).files()
    with pytest.raises(UnknownAtRemote):
        files.read(AGENT_ID, "none.alf")
    for name in ("head.json", "writer.json", "../other", "UPPER", "a/b", ""):
        with pytest.raises(RemoteRefused, match="not a valid file name"):
            files.put(AGENT_ID, name, io.BytesIO(b"x"))


def test_a_large_file_comes_back_equal_from_a_real_server(tmp_path: Path) -> None:
    data = bytes(range(256)) * (12 << 12)
    with wsgidav_server(tmp_path / "dav") as server:
        files = WebdavMachine(tmp_path / "laptop", server.url()).files()
        files.put(AGENT_ID, "large-1.age", io.BytesIO(data))
        with files.read(AGENT_ID, "large-1.age") as file:
            assert file.read() == data
        assert [(each.name, each.size) for each in files.names(AGENT_ID)] == [("large-1.age", len(data))]


def test_an_agent_that_is_removed_leaves_no_folder_and_other_files_stay(server: SmallServer, tmp_path: Path) -> None:
    laptop = laptop_at(server, tmp_path)
    laptop.write(1)
    files = laptop.files()
    files.remove_agent(AGENT_ID)
    assert not [path for path in server.folders if AGENT_ID in path]
    files.put(AGENT_ID, "a.age", io.BytesIO(b"x"))
    server.folders.add(f"{ROOT}/agents/{AGENT_ID}/kept")
    files.remove_agent(AGENT_ID)
    assert f"{ROOT}/agents/{AGENT_ID}/kept" in server.folders


# Addresses and credentials ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("webdav+https://Cloud.example.com/dav/ada/", "webdav+https://cloud.example.com/dav/ada"),
        ("WEBDAV+HTTPS://cloud.example.com:443/a b", "webdav+https://cloud.example.com/a%20b"),
        ("webdav+https://cloud.example.com", "webdav+https://cloud.example.com"),
        ("webdav+http://127.0.0.1:8080/x", "webdav+http://127.0.0.1:8080/x"),
    ],
)
def test_an_address_has_one_normal_form(url: str, normal: str) -> None:
    assert REMOTE_KIND.check_url(url) == normal
    assert parse_webdav_address(normal).url == normal


@pytest.mark.parametrize(
    "url",
    [
        "webdav+https://",
        "webdav+https:///path",
        "webdav+https://ada:hidden@cloud.example.com/dav",
        "webdav+https://cloud.example.com/dav?token=hidden",
        "webdav+https://cloud.example.com/dav#hidden",
        "webdav+http://cloud.example.com/dav",
        "webdav+https://cloud.example.com/a/../b",
        "webdav+https://cloud.example.com/a/%2e%2e/b",
        "webdav+https://cloud.example.com/a//b",
        "webdav+https://cloud.example.com:hidden/a",
        "https://cloud.example.com/dav",
    ],
)
def test_an_address_with_a_secret_or_without_a_server_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(BadSetting) as raised:
        parse_webdav_address(url)
    assert "hidden" not in raised.value.message


@pytest.mark.parametrize("text", ["", "ada", "ada\n", "a:b\nc", "ada\nb\nc", '{"user": "ada"}', "{" * 5000, "\nx"])
def test_credentials_of_another_form_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BadSetting, match="user name and the password") as raised:
        read_credentials(text)
    assert not text or text not in raised.value.message


@pytest.mark.parametrize("password", ["simple", "with spaces: and colons", "Überraschung"])
def test_credentials_are_kept_as_they_were_given(password: str) -> None:
    kept = read_credentials(f"ada\r\n{password}\n")
    found = parse_token(kept)
    assert (found.user, found.password) == ("ada", password)
    assert read_credentials(kept) == kept
    assert password not in repr(found)


def test_the_network_is_needed_unless_the_server_is_on_this_machine() -> None:
    assert REMOTE_KIND.needs_network("webdav+https://cloud.example.com/dav")
    assert not REMOTE_KIND.needs_network("webdav+http://127.0.0.1:8080/dav")


def test_kept_credentials_follow_to_a_folder_of_the_same_server_only() -> None:
    known = RemoteConfig("c", "webdav+https://cloud.example.com/dav")
    assert REMOTE_KIND.may_keep_token(known, RemoteConfig("c", "webdav+https://cloud.example.com/other"))
    for url in ("webdav+https://other.example.com/dav", "webdav+https://cloud.example.com:8443/dav"):
        assert not REMOTE_KIND.may_keep_token(known, RemoteConfig("c", url))


def test_a_remote_without_stored_credentials_says_how_to_give_them(server: SmallServer, tmp_path: Path) -> None:
    laptop = laptop_at(server, tmp_path)
    with pytest.raises(RemoteDenied, match="no user name and password") as raised:
        REMOTE_KIND.open(laptop.context, laptop.config, None)
    assert raised.value.fix is not None and raised.value.fix.endswith("--credentials-stdin")
    assert REMOTE_KIND.open(laptop.context, laptop.config, TOKEN) is not None
