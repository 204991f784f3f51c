"""`lifeboat endpoint`: the output for scripts and for people."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli import program
from lifeboat_cli.endpoint.endpoint_session import EndpointSession, endpoint_command
from lifeboat_cli.endpoint.endpoint_tenants import describe_key_backup
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault import errors
from lifeboat_vault.vault import EntryPut
from support.cli.cli_client import run
from support.endpoint.endpoint_purges import machine_in
from support.endpoint.keeping import AGENT, OTHER, with_history


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "data"


@pytest.fixture
def made(data: Path) -> JsonObject:
    return run("endpoint", "tenant", "add", "home", "--data", data)


def endpoint(data: Path, *arguments: str, expect: int = 0) -> JsonObject:
    return run("endpoint", *arguments, "--data", data, expect=expect)


def said(capsys: pytest.CaptureFixture[str], *arguments: str | Path, expect: int = 0) -> str:
    """Return the output for people, on both streams."""
    capsys.readouterr()
    assert program.run_command([str(argument) for argument in arguments]) == expect
    told = capsys.readouterr()
    return told.out + told.err


def test_the_first_tenant_makes_the_endpoint_and_its_token_opens_it(made: JsonObject, data: Path) -> None:
    assert {"tenant", "id", "token", "scopes", "key_source"} <= set(made) and made["made_endpoint"] is True
    assert (made["tenant"], made["scopes"]) == ("home", ["push", "pull"])
    with Endpoint.open(data) as found:
        caller = found.control.authenticate(made["token"])
        assert (caller.tenant_id, caller.scopes) == (made["id"], frozenset({"push", "pull"}))


def test_no_home_of_lifeboat_is_made_for_an_endpoint(made: JsonObject, isolated_home: Path) -> None:
    assert not (isolated_home / "lifeboat").exists()


def test_the_folder_may_come_from_the_environment(
    made: JsonObject, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_ENDPOINT_DATA", str(data))
    assert [one["tenant"] for one in run("endpoint", "tenant", "list")["tenants"]] == ["home"]


def test_a_second_tenant_may_have_a_key_and_a_quota_of_its_own(made: JsonObject, data: Path, tmp_path: Path) -> None:
    source = f"file:{tmp_path / 'office.key'}"
    second = endpoint(data, "tenant", "add", "office", "--quota", "20GB", "--key-source", source)
    assert second["made_endpoint"] is False and (tmp_path / "office.key").exists()
    listed = endpoint(data, "tenant", "list")["tenants"]
    assert [(one["tenant"], one["quota"], one["tokens"]) for one in listed] == [
        ("home", None, 1),
        ("office", 20 << 30, 1),
    ]
    assert listed[0]["key_source"] != listed[1]["key_source"] == source


def test_a_quota_is_raised_and_taken_away_and_the_audit_knows(made: JsonObject, data: Path) -> None:
    assert endpoint(data, "tenant", "quota", "home", "2TB")["quota"] == 2 << 40
    assert endpoint(data, "tenant", "list")["tenants"][0]["quota"] == 2 << 40
    assert endpoint(data, "tenant", "quota", "HOME", "none")["quota"] is None
    assert endpoint(data, "tenant", "list")["tenants"][0]["quota"] is None
    rows = endpoint(data, "audit")["rows"]
    assert [row["details"]["quota"] for row in rows if row["kind"] == "tenant.quota"] == [2 << 40, None]
    assert endpoint(data, "tenant", "quota", "office", "none", expect=1)["error"]["code"] == "unknown_tenant"


def test_a_name_that_is_taken_is_refused(made: JsonObject, data: Path) -> None:
    assert endpoint(data, "tenant", "add", "HOME", expect=3)["error"]["code"] == "tenant_exists"


def test_where_there_is_no_endpoint_the_error_names_the_command_that_makes_one(tmp_path: Path) -> None:
    error = endpoint(tmp_path / "empty", "tenant", "list", expect=1)["error"]
    assert error["code"] == "no_endpoint" and f"--data {tmp_path / 'empty'}" in error["fix"]


def test_a_token_is_added_listed_without_its_secret_and_revoked(made: JsonObject, data: Path) -> None:
    added = endpoint(data, "token", "add", "home", "--name", "reader", "--scope", "pull", "--expires", "90d")
    assert added["token"].startswith(f"lb_{added['id']}_") and added["scopes"] == ["pull"]
    listed = endpoint(data, "token", "list", "home")["tokens"]
    assert [one["name"] for one in listed] == ["first", "reader"] and added["token"] not in json.dumps(listed)
    assert endpoint(data, "token", "revoke", added["id"])["state"] == "revoked"
    assert [one["state"] for one in endpoint(data, "token", "list")["tokens"]] == ["active", "revoked"]
    kit = endpoint(data, "token", "add", "home", "--name", "kit", "--scope", "pull")["id"]
    assert endpoint(data, "token", "revoke", added["id"])["restore_tokens"] == [kit]
    assert endpoint(data, "token", "revoke", kit)["restore_tokens"] == []
    assert endpoint(data, "token", "revoke", "aaaaaaaa", expect=1)["error"]["code"] == "unknown_token"


@pytest.mark.parametrize("words", [("--scope", "root"), ("--expires", "0s"), ("--expires", "soon")])
def test_what_no_token_can_be_is_not_understood(made: JsonObject, data: Path, words: tuple[str, ...]) -> None:
    assert endpoint(data, "token", "add", "home", *words, expect=2)["error"]["code"] == "usage"


def test_a_tenant_is_not_removed_without_its_name_or_yes(made: JsonObject, data: Path) -> None:
    assert endpoint(data, "tenant", "remove", "home", expect=3)["error"]["code"] == "consent_needed"
    assert endpoint(data, "tenant", "remove", "home", "--yes")["id"] == made["id"]
    assert endpoint(data, "tenant", "list")["tenants"] == []


def test_keys_are_rotated_and_compact_destroys_the_old_ones(made: JsonObject, data: Path) -> None:
    with Endpoint.open(data) as found:
        with_history(found, found.control.tenant("home"))
    rotated = endpoint(data, "rotate-key")
    assert rotated["tenants"][0]["older"] == 1 and rotated["next"] == f"lifeboat endpoint compact --data {data}"
    (tenant,) = endpoint(data, "compact")["tenants"]
    assert len(tenant["keys_destroyed"]) == 1 and tenant["problems"] == []
    assert tenant["agents"][0]["id"] == AGENT and tenant["agents"][0]["steps"]


def test_a_key_source_for_the_whole_endpoint_leaves_tenants_with_their_own(
    made: JsonObject, data: Path, tmp_path: Path
) -> None:
    own, new = f"file:{tmp_path / 'own.key'}", f"file:{tmp_path / 'new.key'}"
    endpoint(data, "tenant", "add", "office", "--key-source", own)
    assert [one["tenant"] for one in endpoint(data, "rotate-key", "--key-source", new)["tenants"]] == ["home"]
    assert [one["key_source"] for one in endpoint(data, "tenant", "list")["tenants"]] == [new, own]


def test_what_an_older_client_removed_is_accepted_once(made: JsonObject, data: Path) -> None:
    with Endpoint.open(data) as found:
        with_history(found, found.control.tenant("home"), hours=1)
        space = found.space(made["id"])
        space.roster.note(space.roster.get(AGENT), held={"reason": "9 of 9 memories were removed", "previous": 0})
    assert endpoint(data, "accept", "home", AGENT) == {"tenant": "home", "id": AGENT, "was_held": True}
    assert endpoint(data, "audit")["rows"][-1]["kind"] == "agent.accept"
    assert endpoint(data, "accept", "home", AGENT)["was_held"] is False
    assert endpoint(data, "accept", "home", OTHER, expect=1)["error"]["code"] == "unknown_there"


def test_verify_names_a_file_of_which_no_bytes_came(
    made: JsonObject, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = machine_in(tmp_path)
    machine.commit({"artifacts/film.mp4": EntryPut({"attachment": {"id": AGENT, "tier": 3}}, b"tier three " * 9)})
    with Endpoint.open(data) as found:
        space = found.space(made["id"])
        space.register(machine.agent_id, "ada", "openclaw")
        space.push(machine.agent_id, machine.snapshot())
    proof = endpoint(data, "verify")
    (absent,) = proof["absent"]
    assert (proof["ok"], proof["findings"]) == (True, [])
    assert (absent["kind"], absent["tenant"], absent["agent"]) == ("absent", "home", machine.agent_id)
    text = said(capsys, "endpoint", "verify", "--data", data)
    assert "All uploaded data is intact" in text and "The content of 1 file in a sequence is not uploaded yet." in text
    assert (
        f"{absent['subject']}: the content of this file was never uploaded; the file first appears in sequence 0"
        in text
    )


def test_verify_ends_with_1_when_something_is_wrong(made: JsonObject, data: Path) -> None:
    with Endpoint.open(data) as found:
        with_history(found, found.control.tenant("home"))
    assert endpoint(data, "verify")["ok"] is True
    (data / "tenants" / made["id"] / "agents" / AGENT / "vault.db").write_bytes(b"something else" * 1000)
    proof = endpoint(data, "verify", expect=1)
    assert proof["ok"] is False and proof["findings"][0]["agent"] == AGENT


def test_the_audit_is_exported_continued_and_checked_without_the_endpoint(
    made: JsonObject, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "audit.jsonl"
    first = endpoint(data, "audit", "--export", str(file))
    again = endpoint(data, "audit", "--export", str(file))
    assert (first["rows"], again["rows"], again["end"]) == (3, 0, 3)
    endpoint(data, "tenant", "add", "office")
    assert endpoint(data, "audit", "--export", str(file))["rows"] == 2
    checked = run("endpoint", "audit", "--check-file", file)
    assert (checked["ok"], checked["rows"], checked["hash"]) == (True, 5, endpoint(data, "audit", "--check")["hash"])
    assert "is intact: 5 rows" in said(capsys, "endpoint", "audit", "--check-file", file)
    file.write_text(file.read_text().replace("tenant.add", "tenant.odd", 1))
    assert run("endpoint", "audit", "--check-file", file, expect=1)["problems"] == [
        "row 2 of the audit export does not match its hash"
    ]
    assert "row 2 of the audit export does not match" in said(
        capsys, "endpoint", "audit", "--check-file", file, expect=1
    )


def test_the_audit_is_written_to_the_output_from_a_row_or_a_time_on(
    made: JsonObject, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def numbers(*options: str) -> list[int]:
        lines = said(capsys, "endpoint", "audit", "--export", "-", "--data", data, *options).splitlines()
        return [json.loads(line).get("number", 0) for line in lines]

    assert numbers() == [1, 2, 3, 0]
    assert numbers("--since", "2") == [3, 0]
    assert numbers("--since", "3") == [0]
    assert numbers("--since", "2020-01-01") == [1, 2, 3, 0]
    assert numbers("--since", "2099-01-01T00:00:00Z") == [0]
    assert numbers("--tenant", "home") == [2, 3, 0]


@pytest.mark.parametrize(
    "options",
    [
        ["--since", "2"],
        ["--export", "-", "--check"],
        ["--export", "-", "--since", "yesterday"],
        ["--export", "-", "--since", "99"],
        ["--export", "-", "--format", "xml"],
        ["--check-file", "nowhere.jsonl"],
    ],
)
def test_what_makes_no_export_is_said(made: JsonObject, data: Path, options: list[str]) -> None:
    endpoint(data, "audit", *options, expect=2)


def test_a_file_that_is_no_export_stays_as_it_is(made: JsonObject, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("my notes\n")
    assert endpoint(data, "audit", "--export", str(file), expect=3)["error"]["code"] == "audit_file"
    assert file.read_text() == "my notes\n"


def test_the_audit_names_what_was_done_and_never_a_token(made: JsonObject, data: Path) -> None:
    rows = endpoint(data, "audit")["rows"]
    assert [row["kind"] for row in rows] == ["endpoint.create", "tenant.add", "token.add"]
    assert rows[2]["tenant"] == made["id"] and made["token"] not in json.dumps(rows)
    assert endpoint(data, "audit", "--tenant", "home", "--limit", "1")["rows"] == rows[2:]
    checked = endpoint(data, "audit", "--check")
    assert checked["ok"] is True and checked["hash"] == rows[2]["hash"]


def test_people_are_told_the_token_where_the_key_lies_and_what_comes_next(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said(capsys, "endpoint", "tenant", "add", "home", "--data", data)
    assert "  lb_" in told and "keep a copy of that key in another place" in told
    assert f"lifeboat endpoint serve --data {data}" in told
    assert "lb_" not in said(capsys, "endpoint", "token", "list", "--data", data)
    assert "All data is intact" in said(capsys, "endpoint", "verify", "--data", data)
    assert "The audit log is intact: rows 1 to " in said(capsys, "endpoint", "audit", "--check", "--data", data)


def test_damage_is_told_with_what_helps_an_operator(made: JsonObject, data: Path) -> None:
    for part in ("control.db", "control.db-wal"):
        (data / part).unlink(missing_ok=True)
    error = endpoint(data, "tenant", "list", expect=1)["error"]
    assert error["code"] == "vault_missing" and f"lifeboat endpoint verify --data {data}" in error["fix"]


@pytest.mark.parametrize(
    ("error", "title", "fix"),
    [
        (
            errors.VaultUnusable("no", fix="look at the password file"),
            "The endpoint's data",
            "look at the password file",
        ),
        (errors.VaultUnusable("no"), "The endpoint's data", "ls -l /srv/lifeboat"),
        (errors.VaultBusy("no"), "The data of the endpoint is locked", "try again in a moment"),
    ],
    ids=["fix-of-its-own", "usual-fix", "busy"],
)
def test_an_operator_hears_of_the_endpoint_s_data_and_what_its_place_says_helps(
    error: errors.VaultError, title: str, fix: str
) -> None:
    @endpoint_command
    def refused(session: EndpointSession) -> None:
        raise error

    with pytest.raises(errors.VaultError) as found:
        click.command(refused).main(["--data", "/srv/lifeboat"], standalone_mode=False)
    assert found.value.title.startswith(title) and found.value.fix == fix


def test_a_shared_endpoint_is_prepared_with_all_that_it_needs_or_not_at_all(data: Path) -> None:
    given = ["prepare", "--database", "postgresql:///lifeboat?host=/run/postgresql"]
    assert "--objects" in endpoint(data, *given, expect=2)["error"]["message"]
    assert "create role" in endpoint(data, *given, "--print-roles")["sql"]


def test_nobody_is_told_to_copy_a_key_that_never_leaves_its_service() -> None:
    assert (
        describe_key_backup("file:/etc/lifeboat.key")
        == describe_key_backup("env:KEY")
        == "keep a copy of that key in another place"
    )
    assert "copy" not in describe_key_backup("aws-kms:alias/lifeboat") + describe_key_backup(
        "transit:https://vault.example.com/transit/keys/a"
    )


def test_a_file_that_cannot_be_written_is_named_with_what_shows_why(
    made: JsonObject, data: Path, tmp_path: Path
) -> None:
    folder, missing = tmp_path / "folder", tmp_path / "missing" / "audit.jsonl"
    folder.mkdir()
    for place, shown in ((folder, folder), (missing, missing.parent)):
        error = endpoint(data, "audit", "--export", str(place), expect=1)["error"]
        assert str(place) in error["message"] and error["fix"] == f"ls -ld {shown}"
