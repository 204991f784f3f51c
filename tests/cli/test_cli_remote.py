"""`lifeboat remote` against a real endpoint: added, listed, tried out, moved, given another token, removed."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli import program
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_conformance, remote_registry, request_retries
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_keys.recovery import recovery_kit
from lifeboat_vault.errors import RemoteBusy
from lifeboat_vault.remote import conformance_checks
from lifeboat_vault.remote.join_lines import JoinLine, format_join_line
from support.cli.cli_client import run
from support.core.authorities import Authority
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.talking_server import TalkingServer, status, talking_server

FOREIGN = "lb_abcdefgh_" + "A" * 43


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("served")) as made:
        yield made


@pytest.fixture
def context(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setattr(request_retries, "TRIES", 1)
    return Context.open()


def token(endpoint: RunningEndpoint, *scopes: str, expires_at: str | None = None) -> str:
    """Make a separate token."""
    with contextlib.closing(Endpoint.open(endpoint.data)) as data:
        tenant = data.control.tenants()[0]
        _, secret = data.control.add_token(tenant.id, "laptop", frozenset(scopes or ("push", "pull")), expires_at)
    return secret


def joined(endpoint: RunningEndpoint, secret: str | None = None, *, pin: str | None = None) -> str:
    return format_join_line(JoinLine(endpoint.url, secret or token(endpoint), endpoint.pin if pin is None else pin))


def typed(*arguments: str, text: str, expect: int = 0) -> JsonObject:
    """Run a command with a text on standard input."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdin", io.StringIO(text))
        return run(*arguments, expect=expect)


# Adding -------------------------------------------------------------------------------------------------------------


def test_a_join_line_is_all_it_takes(endpoint: RunningEndpoint, context: Context) -> None:
    secret = token(endpoint)
    document = run("remote", "add", "home", joined(endpoint, secret))
    assert (document["name"], document["url"], document["pin"]) == ("home", endpoint.url, endpoint.pin)
    assert "can read" in document["readable"] and document["token"] == {"scopes": ["pull", "push"], "expires_at": None}
    assert (
        remote_registry.load_token(context, "home") == secret
        and remote_registry.find_remote(context, "home").id == document["id"]
    )


def test_on_standard_input_it_is_in_no_history_and_in_no_answer(endpoint: RunningEndpoint, context: Context) -> None:
    secret = token(endpoint)
    document = typed("remote", "add", "home", "--join-stdin", text=joined(endpoint, secret) + "\n")
    assert secret not in json.dumps(document) and remote_registry.load_token(context, "home") == secret


def test_on_the_command_line_it_is_warned_about(endpoint: RunningEndpoint, context: Context) -> None:
    notes = io.StringIO()
    secret = token(endpoint)
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(notes):
        assert program.run_command(["remote", "add", "home", joined(endpoint, secret)]) == 0
    assert "history" in notes.getvalue() and "lifeboat agents list --remote home" in said.getvalue()
    assert secret not in notes.getvalue() + said.getvalue()


def test_address_pin_and_token_may_come_apart(endpoint: RunningEndpoint, context: Context) -> None:
    typed("remote", "add", "home", endpoint.url, "--pin", endpoint.pin, "--token-stdin", text=token(endpoint))
    assert remote_registry.find_remote(context, "home").pin == endpoint.pin


def test_a_wrong_pin_is_refused_and_nothing_is_kept(endpoint: RunningEndpoint, context: Context) -> None:
    error = run("remote", "add", "home", joined(endpoint, pin="ab" * 32), expect=1)["error"]
    assert error["code"] == "remote_untrusted" and "pinned" in error["message"]
    assert remote_registry.list_remotes(context) == [] and list(context.home.remotes_folder.glob("*")) == []


def test_an_own_authority_without_a_pin_is_refused(endpoint: RunningEndpoint, context: Context) -> None:
    assert run("remote", "add", "home", joined(endpoint, pin=""), expect=1)["error"]["code"] == "remote_untrusted"
    assert remote_registry.list_remotes(context) == []


@pytest.mark.parametrize("secret", [FOREIGN, "", "expired", "revoked"])
def test_a_token_that_does_not_count_is_refused(endpoint: RunningEndpoint, context: Context, secret: str) -> None:
    if secret == "expired":
        secret = token(endpoint, expires_at=times.to_text(datetime.now(UTC) - timedelta(seconds=5)))
    if secret == "revoked":
        secret = token(endpoint)
        run("remote", "add", "other", joined(endpoint, secret))
        assert run("remote", "remove", "other", "--yes")["token_revoked"] is True
    if secret:
        error = run("remote", "add", "home", joined(endpoint, secret), expect=1)["error"]
    else:
        error = run("remote", "add", "home", endpoint.url, "--pin", endpoint.pin, expect=1)["error"]
    assert error["code"] == "remote_denied" and error["fix"].startswith("lifeboat remote add home https://")
    assert remote_registry.list_remotes(context) == [] and FOREIGN not in json.dumps(error)


def test_a_token_that_cannot_pull_is_refused(endpoint: RunningEndpoint, context: Context) -> None:
    error = run("remote", "add", "home", joined(endpoint, token(endpoint, "push")), expect=1)["error"]
    assert error["code"] == "remote_denied" and "pull" in error["message"]


def test_a_token_that_allows_more_than_needed_is_said(endpoint: RunningEndpoint, context: Context) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
        secret = token(endpoint, "push", "pull", "purge")
        assert program.run_command(["remote", "add", "home", joined(endpoint, secret)]) == 0
    assert "purge" in said.getvalue()


def test_the_same_one_under_another_name_is_refused(endpoint: RunningEndpoint, context: Context) -> None:
    run("remote", "add", "home", joined(endpoint))
    error = run("remote", "add", "cellar", joined(endpoint), expect=3)["error"]
    assert error["code"] == "remote_exists" and "home" in error["message"]
    assert [one.name for one in remote_registry.list_remotes(context)] == ["home"]


def test_another_one_under_the_same_name_is_refused(endpoint: RunningEndpoint, context: Context) -> None:
    run("remote", "add", "home", joined(endpoint))
    known = remote_registry.find_remote(context, "home")
    with another("0b") as other:
        error = typed("remote", "add", "home", other.address, "--token-stdin", text=FOREIGN, expect=3)["error"]
    assert error["code"] == "remote_exists" and remote_registry.find_remote(context, "home") == known


def test_plain_http_to_another_machine_is_refused(context: Context) -> None:
    error = run("remote", "add", "home", "http://boat.example.com", expect=1)["error"]
    assert error["code"] == "bad_setting" and "plain HTTP" in error["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("home",),
        ("home", "https://a.example.com", "--join-stdin"),
        ("home", "--join-stdin", "--token-stdin"),
        ("home", "file:///x", "--plain", "--sealed"),
        ("home", "https://a.example.com", "--plain"),
    ],
)
def test_options_that_say_nothing_together_are_refused(context: Context, arguments: tuple[str, ...]) -> None:
    assert run("remote", "add", *arguments, expect=2)["error"]["code"] == "usage"


# An address that changes ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def another(vault_id: str, authority: Authority | None = None) -> Iterator[TalkingServer]:
    """Serve the part of an endpoint that `remote add` uses, with this id."""
    replies = {
        "/version": json.dumps({"name": "x", "release": "1", "id": vault_id, "time": "", "limits": {}}).encode(),
        "/token": json.dumps({"tenant": "t", "name": "n", "scopes": ["push", "pull"], "expires_at": None}).encode(),
        "/ca.pem": b"" if authority is None else authority.pem,
    }
    with talking_server(None if authority is None else authority.serving()) as server:

        def reply(handler: BaseHTTPRequestHandler) -> None:
            lets_in = handler.path != "/token" or handler.headers["Authorization"] is not None
            status(200 if lets_in else 401, replies[handler.path])(handler)

        server.replies = [reply]
        yield server


def tokens_seen(server: TalkingServer) -> set[str | None]:
    return {asked.headers["Authorization"] for asked in server.asked}


def test_the_same_one_at_a_new_address_keeps_its_token_where_its_authority_vouches(context: Context) -> None:
    authority = Authority()
    with another("0a", authority) as old:
        run("remote", "add", "home", format_join_line(JoinLine(old.address, FOREIGN, authority.pin)))
    with another("0a", authority) as new:
        run("remote", "add", "home", new.address)
        assert tokens_seen(new) == {None, f"Bearer {FOREIGN}"}
        found = remote_registry.find_remote(context, "home")
    assert (found.url, found.pin, remote_registry.load_token(context, "home")) == (new.address, authority.pin, FOREIGN)


def test_the_token_is_not_shown_to_whoever_says_to_be_the_same_one(context: Context) -> None:
    with another("0a") as old:
        typed("remote", "add", "home", old.address, "--token-stdin", text=FOREIGN)
    with another("0a") as thief:
        run("remote", "add", "home", thief.address, expect=1)
        assert tokens_seen(thief) == {None}


def test_the_token_is_not_shown_before_it_is_known_who_answers(context: Context) -> None:
    with another("0a") as server:
        typed("remote", "add", "home", server.address, "--token-stdin", text=FOREIGN)
        first, *_ = server.asked
    assert first.path == "/version" and first.headers["Authorization"] is None


# Listing ------------------------------------------------------------------------------------------------------------


def test_the_list_says_how_agents_stand_and_holds_no_token(
    endpoint: RunningEndpoint, context: Context, tmp_path: Path
) -> None:
    secret = token(endpoint)
    run("remote", "add", "home", joined(endpoint, secret), "--optional")
    document = run("remote", "list")
    (one,) = document["remotes"]
    assert (one["name"], one["optional"], one["sealed"], one["has_token"]) == ("home", True, False, True)
    assert one["agents"] == [] and secret not in json.dumps(document)


def test_without_any_the_list_says_so(context: Context) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert program.run_command(["remote", "list"]) == 0
    assert "on this disk only" in said.getvalue()


def test_a_broken_file_is_listed_and_can_be_removed(context: Context) -> None:
    context.home.remotes_folder.mkdir(mode=0o700)
    remote_registry.locate_remote_file(context, "home").write_text("url =")
    assert run("remote", "list")["remotes"][0]["problem"]
    assert run("remote", "remove", "home", "--yes")["removed"] is True
    assert run("remote", "list")["remotes"] == []


def test_the_suite_is_run_and_each_check_told(
    endpoint: RunningEndpoint, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance_checks, "CHECKS", conformance_checks.CHECKS[:3])
    run("remote", "add", "home", joined(endpoint))
    document = run("remote", "test", "home", "--quick")
    assert document["ok"] is True and [one["ok"] for one in document["checks"]] == [True] * 3
    assert document["left"] == 0


def test_one_that_does_otherwise_fails_the_suite(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance_checks, "CHECKS", conformance_checks.CHECKS[:3])
    with another("0a") as server:
        typed("remote", "add", "home", server.address, "--token-stdin", text=FOREIGN)
        answers = server.replies[0]
        server.replies = [lambda handler: (answers if handler.path == "/version" else status(418))(handler)]
        document = run("remote", "test", "home", "--quick", expect=1)
    assert document["ok"] is False and any(one["message"] for one in document["checks"])


def test_what_a_check_raises_ends_that_check_only(
    endpoint: RunningEndpoint, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_: object) -> None:
        raise RemoteBusy("not now")

    monkeypatch.setattr(
        conformance_checks, "CHECKS", [conformance_checks.RemoteCheck("bad", busy), conformance_checks.CHECKS[0]]
    )
    run("remote", "add", "home", joined(endpoint))
    document = run("remote", "test", "home", expect=1)
    assert [one["ok"] for one in document["checks"]] == [False, True]
    assert document["checks"][0]["message"].endswith("not now")


def test_the_doctor_asks_it(endpoint: RunningEndpoint, context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance_checks, "CHECKS", [])
    run("remote", "add", "home", joined(endpoint, token(endpoint, expires_at="2026-12-01T00:00:00.000Z")))
    document = run("doctor", "--remote", "home")
    assert {"identity", "clock", "token", "room"} <= {one["subject"] for one in document["findings"]}


def test_the_doctor_says_how_much_room_there_is(
    endpoint: RunningEndpoint, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance_checks, "CHECKS", [])
    run("remote", "add", "home", joined(endpoint))
    run("endpoint", "tenant", "quota", "home", "5MB", "--data", endpoint.data)
    try:
        found = run("doctor", "--remote", "home")["findings"]
    finally:
        run("endpoint", "tenant", "quota", "home", "none", "--data", endpoint.data)
    assert next(one for one in found if one["subject"] == "room")["result"].endswith(" of 5.0 MB")


def test_the_doctor_says_that_another_one_answers(endpoint: RunningEndpoint, context: Context) -> None:
    run("remote", "add", "home", joined(endpoint))
    path = remote_registry.locate_remote_file(context, "home")
    path.write_text(path.read_text().replace(remote_registry.find_remote(context, "home").id, "0b"))
    document = run("doctor", "--remote", "home", expect=1)
    found = next(one for one in document["findings"] if one["subject"] == "identity")
    assert found["level"] == "error" and "the identity of this remote is " in found["result"]


def test_the_doctor_says_that_its_token_is_gone(endpoint: RunningEndpoint, context: Context) -> None:
    run("remote", "add", "home", joined(endpoint))
    remote_registry.save_token(context, "home", None)
    found = [one for one in run("doctor", expect=1)["findings"] if one["check"] == "remotes"]
    assert found[0]["fix"] == "lifeboat remote token home --token-stdin"


# Changing -----------------------------------------------------------------------------------------------------------


def test_removing_revokes_the_token_of_this_machine(endpoint: RunningEndpoint, context: Context) -> None:
    secret = token(endpoint)
    run("remote", "add", "home", joined(endpoint, secret))
    assert run("remote", "remove", "home", "--yes") == {"name": "home", "removed": True, "token_revoked": True}
    assert run("remote", "add", "home", joined(endpoint, secret), expect=1)["error"]["code"] == "remote_denied"


def test_a_token_that_another_machine_uses_may_stay(endpoint: RunningEndpoint, context: Context) -> None:
    secret = token(endpoint)
    run("remote", "add", "home", joined(endpoint, secret))
    assert run("remote", "remove", "home", "--yes", "--keep-token")["token_revoked"] is False
    run("remote", "add", "home", joined(endpoint, secret))


def test_nobody_is_asked_where_nobody_can_be_asked(endpoint: RunningEndpoint, context: Context) -> None:
    run("remote", "add", "home", joined(endpoint))
    assert run("remote", "remove", "home", expect=3)["error"]["code"] == "consent_needed"
    assert len(remote_registry.list_remotes(context)) == 1


def test_one_that_is_gone_can_be_removed(context: Context) -> None:
    with another("0a") as server:
        typed("remote", "add", "home", server.address, "--token-stdin", text=FOREIGN)
    assert run("remote", "remove", "home", "--yes")["token_revoked"] is False
    assert remote_registry.list_remotes(context) == []


def test_another_token_is_tried_out_before_it_is_kept(endpoint: RunningEndpoint, context: Context) -> None:
    first, second = token(endpoint), token(endpoint)
    run("remote", "add", "home", joined(endpoint, first))
    assert typed("remote", "token", "home", "--token-stdin", text=FOREIGN, expect=1)["error"]["code"] == "remote_denied"
    assert remote_registry.load_token(context, "home") == first
    typed("remote", "token", "home", "--token-stdin", text=second)
    assert remote_registry.load_token(context, "home") == second


def test_the_recovery_kit_names_second_copies_without_tokens(
    endpoint: RunningEndpoint, context: Context, tmp_path: Path
) -> None:
    secret = token(endpoint)
    run("keys", "init", "--no-prove", "--words-to", tmp_path / "words.txt", "--store", "file")
    run("remote", "add", "home", joined(endpoint, secret))
    run("keys", "export-kit", "-o", tmp_path / "kit.txt")
    page = (tmp_path / "kit.txt").read_text()
    assert endpoint.url in page and endpoint.pin in page and "lifeboat endpoint token add" in page
    assert secret not in page and recovery_kit.read_kit(page).public.key_id in page


# Folders ----------------------------------------------------------------------------------------------------------


def test_an_encrypted_folder_is_not_said_to_be_in_clear(context: Context, tmp_path: Path) -> None:
    run("remote", "add", "stick", (tmp_path / "stick").as_uri())
    error = run("remote", "add", "stick", (tmp_path / "stick").as_uri(), "--plain", expect=3)["error"]
    assert error["code"] == "remote_exists" and "encrypted" in error["message"]
    assert remote_registry.find_remote(context, "stick").sealed


def test_a_folder_whose_disk_is_not_mounted_is_looked_for_with_the_disks(context: Context, tmp_path: Path) -> None:
    error = run("remote", "add", "stick", (tmp_path / "gone" / "stick").as_uri(), expect=1)["error"]
    assert error["code"] == "remote_unreachable" and error["fix"].endswith(f"mkdir -p {tmp_path / 'gone'}")


def test_the_doctor_counts_what_holds_and_names_what_does_not(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("remote", "add", "stick", (tmp_path / "stick").as_uri(), "--plain")
    tried = [remote_conformance.ConformanceResult("promise 0", False, "it was broken")]
    tried += [remote_conformance.ConformanceResult(f"promise {number}", True) for number in range(1, 30)]
    monkeypatch.setattr(remote_conformance, "run_conformance", lambda *_: iter(tried))
    assert program.run_command(["doctor", "--remote", "stick"]) == 1
    said = capsys.readouterr().out
    assert "the remote passed 29 conformance checks" in said and "promise 0: it was broken" in said
    assert "promise 7" not in said
    assert len(run("doctor", "--remote", "stick", expect=1)["findings"]) > 30
