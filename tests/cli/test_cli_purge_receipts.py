"""`lifeboat receipts`: the output for people, auditors and scripts, and exit statuses."""

from __future__ import annotations

import contextlib
import io
import json
import stat
from pathlib import Path

import pytest

from lifeboat_cli import program
from lifeboat_core.purge import receipt_signing, receipt_store
from lifeboat_keys.signed.purge_receipt import VaultPurgeNote
from support.cli.cli_client import run
from support.core.purge_receipt_home import ENDPOINT, WAITING, WAITS_UNTIL, Purged


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Purged:
    return Purged(tmp_path_factory.mktemp("made"))


@pytest.fixture
def ada(made: Purged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Purged:
    copied = made.copied(tmp_path / "copy")
    monkeypatch.setenv("LIFEBOAT_HOME", str(copied.folder / "home"))
    return copied


def said(*arguments: str, expect: int = 0) -> str:
    """Return the output for people, on both streams."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = program.run_command(list(arguments))
    assert status == expect, out.getvalue()
    return out.getvalue()


def exported(ada: Purged) -> Path:
    file = ada.folder / "receipt.json"
    run("receipts", "export", ada.receipt.id, "-o", file)
    return file


# list -----------------------------------------------------------------------------------------------------------------


def test_a_home_in_which_nothing_was_purged_says_so(isolated_home: Path) -> None:
    assert run("receipts", "list") == {"receipts": [], "damaged": []}
    assert "No purge was made yet." in said("receipts", "list")


def test_the_list_says_where_a_purge_is_not_done(ada: Purged) -> None:
    (one,) = run("receipts", "list")["receipts"]
    assert one["id"] == ada.receipt.id and one["agent"] == "ada" and one["done"] is False
    assert {each["name"]: each["state"] for each in one["vaults"]}["office"] == "waiting"
    assert "waiting on office" in said("receipts", "list", "ada")


def test_the_list_of_another_agent_is_empty(ada: Purged) -> None:
    run("receipts", "list", "nobody", expect=1)
    assert len(run("receipts", "list", ada.agent.id)["receipts"]) == 1


def test_a_receipt_that_cannot_be_read_is_listed_as_such(ada: Purged) -> None:
    ada.damage_receipt()
    document = run("receipts", "list")
    assert document["receipts"] == [] and document["damaged"][0]["id"] == ada.receipt.id


# show -----------------------------------------------------------------------------------------------------------------


def test_people_read_what_is_gone_what_waits_and_what_is_not_reached(ada: Purged) -> None:
    text = said("receipts", "show", ada.receipt.id)
    for part in (
        "Purged: 1 memory.",
        "Emptied on this machine: 2 undo folders",
        "found 0 matches",
        "done",
        "will be applied at 2026-11-13",
    ):
        assert part in text, part
    assert "Not reached: laptop-2" in text and "The receipt is valid" in text


def test_why_a_second_copy_is_pending_is_told(ada: Purged) -> None:
    pending = {"name": "office", "kind": "endpoint", "state": receipt_signing.PENDING, "message": "nobody answered"}
    receipt_signing.note_vault(ada.context, ada.receipt.id, VaultPurgeNote(id=WAITING, since="", **pending))
    assert "nobody answered" in said("receipts", "show", ada.receipt.id)


def test_the_document_has_the_receipt_and_the_verdict(ada: Purged) -> None:
    document = run("receipts", "show", ada.receipt.id[:23])
    assert document["receipt"] == ada.receipt.to_json() and document["holds"] is True and document["findings"]


def test_an_auditor_gets_the_record_and_the_places_in_the_chains(ada: Purged) -> None:
    document = run("receipts", "show", ada.receipt.id, "--audit")
    assert document["audit"] == ada.receipt.audit and document["redaction"]["digest"] == ada.redaction.digest.hex()
    with ada.vault() as vault:
        (row,) = [row for row in vault.audit_rows() if row.kind == "purge"]
    assert document["positions"][0]["audit"] == {"number": row.number, "hash": row.hash.hex()}
    text = said("receipts", "show", ada.receipt.id, "--audit")
    assert row.hash.hex() in text and ada.receipt.digest in text and '"purge_id"' in text


def test_no_view_of_a_receipt_shows_content(ada: Purged) -> None:
    views = [said("receipts", "show", ada.receipt.id, *more) for more in ([], ["--audit"], ["--json"])]
    assert all(word not in view for view in views for word in ("boat", "harbour", "MEMORY.md"))


def test_a_receipt_that_does_not_hold_ends_with_three(ada: Purged) -> None:
    document = ada.document()
    document["vaults"][1]["receipt"]["objects"] = 4
    receipt_store.locate_receipt(ada.context, ada.receipt.id).write_text(json.dumps(document))
    assert run("receipts", "show", ada.receipt.id, expect=3)["holds"] is False
    assert "is not valid" in said("receipts", "show", ada.receipt.id, "--audit", expect=3)


def test_an_id_that_is_none_says_where_ids_are(ada: Purged) -> None:
    error = run("receipts", "show", "ffffffff", expect=1)["error"]
    assert error["code"] == "unknown_receipt" and error["fix"] == "lifeboat receipts list"


# export and verify ----------------------------------------------------------------------------------------------------


def test_what_is_exported_holds_where_it_was_made(ada: Purged) -> None:
    document = run("receipts", "verify", exported(ada))
    assert document["holds"] is True and document["proven"] is False
    assert [each["subject"] for each in document["findings"] if each["level"] == "open"] == ["office"]


def test_when_every_vault_is_done_it_is_proven(ada: Purged) -> None:
    from lifeboat_keys.signed import vault_receipts as vault_receipts

    theirs = vault_receipts.sign_with_endpoint(ada.of_endpoint(ada.redaction, vault_id=WAITING), ada.key).to_json()
    done = {"name": "office", "kind": "endpoint", "state": receipt_signing.DONE, "receipt": theirs}
    receipt_signing.note_vault(ada.context, ada.receipt.id, VaultPurgeNote(id=WAITING, since="", **done))
    assert run("receipts", "verify", exported(ada))["proven"] is True


def test_on_a_machine_without_a_home_it_is_checked_and_no_home_is_made(
    ada: Purged, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = exported(ada)
    monkeypatch.setenv("LIFEBOAT_HOME", str(ada.folder / "nowhere"))
    document = run("receipts", "verify", file, expect=4)
    assert document["holds"] is True and document["proven"] is False
    assert any(each["unknown_key"] for each in document["findings"])
    assert "a key that this home does not know" in said("receipts", "verify", str(file), expect=4)
    assert not (ada.folder / "nowhere").exists()


@pytest.fixture
def stranger(tmp_path: Path) -> Purged:
    """Make a home with another key."""
    return Purged(tmp_path / "stranger")


def test_in_a_home_with_another_key_it_ends_as_it_does_without_a_home(
    ada: Purged, stranger: Purged, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = exported(ada)
    monkeypatch.setenv("LIFEBOAT_HOME", str(stranger.folder / "home"))
    document = run("receipts", "verify", file, expect=4)
    assert document["holds"] is True and document["proven"] is False
    unknown = [each for each in document["findings"] if each["unknown_key"]]
    assert [(each["subject"], each["level"]) for each in unknown] == [
        ("receipt", "open"),
        (ada.receipt.vaults[0].name, "open"),
    ]
    assert all(stranger.context.keys().public.key_id in each["message"] for each in unknown)
    assert all("only check that the receipt does not contradict itself" in each["message"] for each in unknown)


@pytest.mark.parametrize("part", ["receipt", "vault"])
def test_a_changed_file_of_another_user_ends_with_three(
    ada: Purged, stranger: Purged, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """The author of an invalid signature is irrelevant."""
    document = ada.document()
    if part == "receipt":
        document["changed_at"] = document["changed_at"].replace("20", "19", 1)
    else:
        document["vaults"][0]["receipt"]["objects"] += 1
    file = ada.folder / "receipt.json"
    file.write_text(json.dumps(document))
    monkeypatch.setenv("LIFEBOAT_HOME", str(stranger.folder / "home"))
    assert run("receipts", "verify", file, expect=3)["holds"] is False


def test_a_kept_receipt_that_another_user_signed_does_not_hold(
    ada: Purged, stranger: Purged, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt_store.locate_receipt(stranger.context, ada.receipt.id).write_text(json.dumps(ada.document()))
    monkeypatch.setenv("LIFEBOAT_HOME", str(stranger.folder / "home"))
    assert run("receipts", "show", ada.receipt.id, expect=3)["holds"] is False


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1, "version": 1}', "not JSON"])
def test_what_is_no_receipt_does_not_pass(ada: Purged, text: str) -> None:
    file = ada.folder / "receipt.json"
    file.write_text(text)
    assert run("receipts", "verify", file, expect=3)["holds"] is False


def test_a_changed_file_ends_with_three(ada: Purged) -> None:
    file = exported(ada)
    file.write_text(file.read_text().replace("user_request", "ccpa_deletion"))
    assert run("receipts", "verify", file, expect=3)["holds"] is False
    assert "is not valid" in said("receipts", "verify", str(file), expect=3)


def test_an_exported_file_is_new_and_for_its_owner_alone(ada: Purged) -> None:
    file = exported(ada)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run("receipts", "export", ada.receipt.id, "-o", file, expect=3)["error"]["code"] == "file_exists"


# confirm --------------------------------------------------------------------------------------------------------------


def test_nobody_is_asked_for_the_second_token_where_nobody_can_answer(
    ada: Purged, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifeboat_core.remotes import remote_registry
    from lifeboat_core.remotes.contract import RemoteConfig

    remote_registry.save_remote(ada.context, RemoteConfig("office", "https://boat.example.com", id=WAITING))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert (
        "--token-stdin"
        in run("receipts", "confirm", ada.receipt.id, "--remote", "office", expect=2)["error"]["message"]
    )
    confirmed = run("receipts", "confirm", ada.receipt.id, "--remote", "office", "--token-stdin", expect=1)
    assert confirmed["error"]["code"] == "bad_setting"


def test_an_unknown_second_copy_is_named_before_a_token_is_asked_for(ada: Purged) -> None:
    error = run("receipts", "confirm", ada.receipt.id, "--remote", "nowhere", expect=1)["error"]
    assert error["code"] == "unknown_remote"


# status ---------------------------------------------------------------------------------------------------------------


def test_status_says_which_purges_are_not_done_everywhere(ada: Purged) -> None:
    (one,) = run("status")["pending_purges"]
    assert one == {
        "id": ada.receipt.id,
        "agent_id": ada.agent.id,
        "vault": "office",
        "state": "waiting",
        "since": one["since"],
        "applies_at": WAITS_UNTIL,
        "message": "",
    }
    assert f"lifeboat receipts show {ada.receipt.id}" in said("status")


def test_status_is_silent_where_all_are_done(ada: Purged) -> None:
    from lifeboat_keys.signed import vault_receipts as vault_receipts

    theirs = vault_receipts.sign_with_endpoint(ada.of_endpoint(ada.redaction, vault_id=WAITING), ada.key).to_json()
    done = {"name": "office", "kind": "endpoint", "state": receipt_signing.DONE, "receipt": theirs}
    receipt_signing.note_vault(ada.context, ada.receipt.id, VaultPurgeNote(id=WAITING, since="", **done))
    assert run("status")["pending_purges"] == [] and "receipts show" not in said("status")


def test_a_purge_of_an_endpoint_that_was_removed_is_still_proven(ada: Purged) -> None:
    """Its key is still known."""
    note = ada.receipt.vault(ENDPOINT)
    assert note is not None and note.state == receipt_signing.DONE
    found = run("receipts", "show", ada.receipt.id)["findings"]
    assert {"holds"} == {each["level"] for each in found if each["subject"] == "home"}
