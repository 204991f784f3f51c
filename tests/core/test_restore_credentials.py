"""Restore credentials of an OpenClaw agent: files, merged files, stores that only OpenClaw writes."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.secrets import credential_payload
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli.restore.restore_commands import print_restore_report
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core import exchange
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.errors import RestoreError
from lifeboat_core.processes import runtime_programs
from lifeboat_core.restore import (
    RestoreOptions,
    RestoreReport,
    delivery_run,
    open_plan,
    recover_restores,
    restore_agent,
    undo_restore,
)
from lifeboat_core.restore.plan_diffs import describe_plan
from lifeboat_core.state.state_documents import load_credentials
from lifeboat_keys.errors import NoKey
from support.alf.raising import raises_code
from support.core.credentialed import (
    ACCESS,
    API_KEY,
    CHANNEL,
    ENV_KEY,
    KEY,
    REFRESH,
    SECRETS,
    TOKEN,
    Machine,
    live,
    second_machine,
)
from support.killing import killed_at
from support.patience import patience
from support.prepared_folders import PreparedFolders


@pytest.fixture
def first(prepared_folders: PreparedFolders) -> Machine:
    return prepared_folders.restore("agent with credentials", _exported_machine)


@pytest.fixture
def archive(first: Machine) -> Path:
    return first.folder.with_name("ada.alf")


def _exported_machine(folder: Path) -> Machine:
    machine = Machine(folder / "first")
    live(machine)
    exchange.export_agent(machine.context, "openclaw", machine.workspace, folder / "ada.alf")
    return machine


def _imported(machine: Machine, archive: Path, **options: Any) -> JsonObject:
    options.setdefault("state_dir", machine.state)
    report = exchange.import_archive(
        machine.context, archive, machine.workspace, RestoreOptions(with_credentials=True, **options)
    )
    return report.to_json()


def _fates(report: JsonObject) -> dict[str, JsonObject]:
    return {each["label"]: each for each in report["credential_details"]}


def _there(report: JsonObject) -> set[str]:
    return {each["label"] for each in report["credential_details"] if each["outcome"] == "injected"}


# Another machine -----------------------------------------------------------------------------------------------------


def test_an_agent_comes_to_another_machine_with_its_credentials(first: Machine, archive: Path, tmp_path: Path) -> None:
    second = second_machine(tmp_path / "second", first)
    report = _imported(second, archive)
    profiles = second.profiles()
    assert profiles["openai:default"]["key"] == API_KEY
    assert profiles["meadow:me"]["token"] == TOKEN
    assert (profiles["zai:me"]["access"], profiles["zai:me"]["refresh"]) == (ACCESS, REFRESH)
    assert profiles["moss:env"]["keyRef"]["id"] == "MOSS"
    assert second.config()["models"]["providers"]["orchard"]["apiKey"] == KEY
    assert ENV_KEY in (second.state / ".env").read_text()
    skipped = [each for each in report["credential_details"] if each["outcome"] == "skipped"]
    assert {each["service"] for each in skipped} == {"openclaw-gateway"}
    assert report["credentials"] == {"injected": len(_there(report)), "skipped": len(skipped)}


def test_nothing_is_left_in_clear_and_nothing_secret_is_said_to_a_program_but_on_its_input(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    second = second_machine(tmp_path / "second", first)
    _imported(second, archive)
    assert [name for name in second.files() if "auth-profiles" in name] == []
    for call in second.fake.calls():
        said = json.dumps([call["argv"], call["environment"]])
        assert not any(secret in said for secret in SECRETS)
    assert any(API_KEY in call["stdin"] for call in second.fake.calls())
    home = b"".join(path.read_bytes() for path in second.context.home.folder.rglob("*") if path.is_file())
    assert not any(secret.encode() in home for secret in SECRETS)


def test_files_that_hold_credentials_and_a_new_folder_are_for_their_owner_only(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    second = second_machine(tmp_path / "second", first)
    _imported(second, archive)
    rights = {name: stat.S_IMODE((second.state / name).stat().st_mode) for name in (".", "openclaw.json", ".env")}
    assert rights == {".": 0o700, "openclaw.json": 0o600, ".env": 0o600}


def test_what_is_bound_to_its_machine_stays_there_and_what_to_do_is_said(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    second = second_machine(tmp_path / "second", first)
    report = _imported(second, archive)
    assert "token" not in second.config()["gateway"]["auth"]
    gateway = next(each for each in report["credential_details"] if each["service"] == "openclaw-gateway")
    assert "bound to the other machine" in gateway["reason"]
    assert gateway["reissue"] == "the runtime creates a new one"
    zai = next(each for each in report["credential_details"] if each["service"] == "zai")
    assert "signed out" in zai["reissue"]


def test_an_import_says_before_it_writes_where_each_credential_goes(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    second = second_machine(tmp_path / "second", first)
    planned = _imported(second, archive, dry_run=True)
    assert not second.state.exists()
    done = _imported(second, archive)
    assert planned["credential_details"] == done["credential_details"]


def test_a_workspace_elsewhere_is_named_in_the_configuration(first: Machine, archive: Path, tmp_path: Path) -> None:
    second = second_machine(tmp_path / "second", first)
    juniper = second.home / "juniper"
    exchange.import_archive(
        second.context, archive, juniper, RestoreOptions(with_credentials=True, state_dir=second.state)
    )
    assert second.config()["agents"]["entries"]["main"]["workspace"] == "~/juniper"
    assert b"// written by hand" in (second.state / "openclaw.json").read_bytes()


def test_without_the_program_credentials_of_databases_wait_and_the_files_are_there(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    second = second_machine(tmp_path / "second", first, version=None)
    report = _imported(second, archive)
    assert ENV_KEY in (second.state / ".env").read_text()
    waiting = [each for each in report["credential_details"] if "not on PATH" in (each["reason"] or "")]
    assert {each["service"] for each in waiting} >= {"openai", "zai", "meadow"}
    assert [name for name in second.files() if "auth-profiles" in name] == []


def test_without_the_state_dir_files_of_the_runtime_are_listed_as_left_out(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    second = second_machine(tmp_path / "second", first)
    alone = second.home / "juniper"
    report = exchange.import_archive(second.context, archive, alone, RestoreOptions(with_credentials=True)).to_json()
    reasons = {each["name"]: each["reason"] for each in report["skipped"]}
    assert "state directory" in reasons["openclaw.json"]
    assert not (second.state / "openclaw.json").exists()
    assert second.profiles() == {}


def test_a_program_of_february_gets_the_file_that_it_reads(first: Machine, archive: Path, tmp_path: Path) -> None:
    second = second_machine(tmp_path / "second", first, version="2026.2.26")
    report = _imported(second, archive)
    store = second.state / "agents/main/agent/auth-profiles.json"
    assert json.loads(store.read_text())["profiles"]["zai:me"]["refresh"] == REFRESH
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    assert "entries" not in second.config()["agents"]
    assert {"openai", "zai", "meadow"} <= {
        each["service"] for each in report["credential_details"] if each["outcome"] == "injected"
    }


def test_the_key_of_another_user_opens_nothing_and_each_credential_is_named(archive: Path, tmp_path: Path) -> None:
    stranger = Machine(tmp_path / "stranger")
    stranger.context.keys().ensure()
    report = exchange.import_archive(
        stranger.context, archive, stranger.workspace, RestoreOptions(accept_unsigned=True)
    ).to_json()
    assert report["credentials"]["injected"] == 0
    assert any("credentials of the agent cannot be opened on this machine" in warning for warning in report["warnings"])


def test_a_folder_of_the_runtime_inside_the_workspace_is_refused(first: Machine, archive: Path, tmp_path: Path) -> None:
    second = second_machine(tmp_path / "second", first)
    with raises_code(RestoreError.TARGET_REFUSED):
        _imported(second, archive, state_dir=second.workspace / "state")


def test_a_copy_under_another_id_is_sealed_again_and_what_is_bound_stays_bound(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    state, copy = first.home / ".openclaw-copy", first.home / "copy"
    report = exchange.import_archive(
        first.context, archive, copy, RestoreOptions(with_credentials=True, state_dir=state)
    ).to_json()
    assert report["copied_from"] is not None
    assert all(each["outcome"] == "injected" for each in report["credential_details"])
    keys = first.context.keys()
    with first.context.vault(report["agent"]) as vault:
        sealed = load_credentials(vault.state())
    opened = {
        record["service"]: credential_payload.decode_payload(keys.open(record)).value for record in sealed.values()
    }
    assert {record["agent_id"] for record in sealed.values()} == {report["agent"]}
    assert json.loads(opened["zai"]) == {"access": ACCESS, "refresh": REFRESH}
    bound = next(record for record in sealed.values() if record["service"] == "openclaw-gateway")
    assert bound["x_lifeboat"]["bound_to"] == keys.device.public.hex()[:16]


def test_a_copy_names_what_it_could_not_seal_again(first: Machine, archive: Path, tmp_path: Path) -> None:
    second = second_machine(tmp_path / "second", first)
    _imported(second, archive, state_dir=None)
    os.unlink(next(second.context.home.folder.rglob("user.key")))
    copy = second.home / "copy"
    report = exchange.import_archive(second.context, archive, copy).to_json()
    named = [warning for warning in report["warnings"] if "could not be sealed again" in warning]
    with second.context.vault(report["agent"]) as vault:
        assert len(named) == len(load_credentials(vault.state()))
    assert any("zai" in warning for warning in named)


# What is there stays -------------------------------------------------------------------------------------------------


def _of_another(machine: Machine, text: str) -> None:
    machine.workspace.mkdir(parents=True)
    (machine.state / "openclaw.json").write_text(text)
    (machine.state / ".env").write_text("HARBOUR_API_KEY=mine\n")


def test_what_the_other_machine_has_stays_and_is_reported_as_kept(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    second = second_machine(tmp_path / "second", first)
    _of_another(second, "{\n  // theirs\n  models: { providers: { orchard: { apiKey: 'mine' } } },\n}\n")
    second.openclaw(
        "models", "auth", "paste-api-key", "--provider", "openai", "--profile-id", "openai:default", given="sk-mine"
    )
    report = _imported(second, archive)
    assert second.config()["models"]["providers"]["orchard"]["apiKey"] == "mine"
    assert second.config()["channels"]["telegram"]["botToken"] == CHANNEL
    assert b"// theirs" in (second.state / "openclaw.json").read_bytes()
    assert second.profiles()["openai:default"]["key"] == "sk-mine"
    assert (second.state / ".env").read_text() == "HARBOUR_API_KEY=mine\nEDITOR=nano\n"
    kept = {each["service"] for each in report["credential_details"] if "already" in (each["reason"] or "")}
    assert kept >= {"orchard", "openai", "harbour"}


def test_the_order_of_profiles_is_set_where_there_is_none(first: Machine, tmp_path: Path) -> None:
    set_order = ("models", "auth", "order", "set", "--provider", "openai", "--agent", "main")
    first.openclaw(*set_order, "openai:default", "openai:work")
    capture_agent(first.context, _agent(first))
    exchange.export_agent(first.context, "openclaw", first.workspace, tmp_path / "new.alf")
    for name, own in (("fresh", ()), ("used", (*set_order, "openai:mine"))):
        second = second_machine(tmp_path / name, first)
        if own:
            paste = ("models", "auth", "paste-api-key", "--provider", "openai", "--profile-id", "openai:mine")
            second.openclaw(*paste, given="sk-mine")
            second.openclaw(*own)
        _imported(second, tmp_path / "new.alf")
        last = [call["argv"] for call in second.fake.calls() if call["argv"][2:4] == ["order", "set"]][-1]
        assert last == list(own or (*set_order, "openai:default", "openai:work"))


def test_a_file_that_stays_out_whole_is_said_once(
    first: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    login = first.state / "credentials/whatsapp/home/creds.json"
    login.parent.mkdir(parents=True)
    login.write_text('{"noiseKey": "fake-noise-key-0123456789"}')
    capture_agent(first.context, _agent(first))
    exchange.export_agent(first.context, "openclaw", first.workspace, tmp_path / "new.alf")
    report = _imported(second_machine(tmp_path / "second", first), tmp_path / "new.alf")
    print_restore_report(CommandOutput(as_json=False), report)
    said = [line for line in "".join(capsys.readouterr()).splitlines() if "whatsapp/home/creds.json" in line]
    summary, *lines = said
    assert "left out: credentials/whatsapp/home/creds.json (bound to the other machine)" in summary
    assert len(lines) == 1 and "bound" in lines[0]


def test_a_workspace_in_a_state_directory_needs_no_option_for_it(first: Machine, archive: Path, tmp_path: Path) -> None:
    second = second_machine(tmp_path / "second", first)
    assert (second.workspace.parent, second.state.name) == (second.state, ".openclaw")
    report = _imported(second, archive, state_dir=None)
    assert ENV_KEY in (second.state / ".env").read_text()
    assert second.profiles()["openai:default"]["key"] == API_KEY
    assert report["lacking"] == []


def test_a_restore_is_summed_up_in_one_sentence(first: Machine, archive: Path, tmp_path: Path) -> None:
    report = _imported(second_machine(tmp_path / "second", first), archive)
    counts = report["files"], report["records"]["restored"], report["credentials"]["injected"]
    files = sum(counts[0][name] for name in ("created", "overwritten", "same"))
    told = f"{files} files and {counts[2]} credentials restored; 1 left out: gateway token (bound to the other machine)"
    assert counts[1] == 0 and report["summary"] == told


def test_what_stood_in_a_comment_does_not_come_into_a_configuration_that_is_there(
    first: Machine, tmp_path: Path
) -> None:
    former = "sk-fake-former-0123456789abcdef"
    text = (first.state / "openclaw.json").read_text()
    (first.state / "openclaw.json").write_text(f"// before: {former}\n{text}")
    capture_agent(first.context, _agent(first))
    exchange.export_agent(first.context, "openclaw", first.workspace, tmp_path / "new.alf")
    second = second_machine(tmp_path / "second", first)
    _of_another(second, "{ gateway: { port: 1 } }")
    fate = _fates(_imported(second, tmp_path / "new.alf"))["openclaw.json: api_key"]
    assert (fate["outcome"], "comment" in fate["reason"]) == ("skipped", True)
    assert former not in (second.state / "openclaw.json").read_text()


def test_an_undo_takes_merged_files_back(first: Machine, archive: Path, tmp_path: Path) -> None:
    second = second_machine(tmp_path / "second", first)
    _of_another(second, "{ gateway: { port: 1 } }")
    before = second.files()
    second.fake.behave(paste="rewrites")  # as the real one does
    report = _imported(second, archive)
    assert second.files()[".openclaw/openclaw.json"] != before[".openclaw/openclaw.json"]
    assert report["undo"]
    undo_restore(second.context, _agent(second))
    after = second.files()
    assert {name: after[name] for name in before} == before


def test_a_plan_tells_what_is_added_to_from_what_is_written(first: Machine) -> None:
    folder = first.home / ".openclaw-copy"
    folder.mkdir()
    (folder / "openclaw.json").write_text("{ gateway: { port: 1 } }")
    options = RestoreOptions(with_credentials=True, state_dir=folder)
    with open_plan(first.context, _agent(first), first.home / "copy", options) as made:
        lines = list(describe_plan(made))
    assert f"  add to    {folder}/openclaw.json" in lines and f"  create    {folder}/.env" in lines


def test_an_undo_takes_back_what_was_merged_for_a_copy_in_another_folder(first: Machine) -> None:
    (first.home / ".openclaw-copy").mkdir()
    (first.home / ".openclaw-copy/openclaw.json").write_text("{ gateway: { port: 1 } }")
    before = first.files()
    copy = first.home / "copy"
    report = _restored(first, to=copy, state_dir=first.home / ".openclaw-copy")
    assert report.undo
    assert KEY in (first.home / ".openclaw-copy/openclaw.json").read_text()
    undo_restore(first.context, _agent(first))
    after = first.files()
    assert {name: after.get(name) for name in before} == before
    assert not copy.exists()


def _agent(machine: Machine) -> Agent:
    from lifeboat_core.agents import agent as registered

    (found,) = registered.list_agents(machine.context)
    return found


def test_a_restore_in_place_changes_nothing_that_is_there(first: Machine) -> None:
    before, made = first.files(), first.fake.calls()
    report = _restored(first)
    assert first.files() == before
    assert len(first.fake.calls()) == len(made)
    assert all(each["outcome"] == "injected" for each in report.credential_details)


def _restored(machine: Machine, **options: Any) -> RestoreReport:
    chosen = RestoreOptions(with_credentials=True, yes=True, reindex=False, **options)
    return restore_agent(machine.context, _agent(machine), chosen)


def test_in_place_credentials_are_put_back_unless_the_user_says_otherwise(first: Machine) -> None:
    (first.state / ".env").unlink()
    report = restore_agent(first.context, _agent(first), RestoreOptions(yes=True, reindex=False))
    assert ENV_KEY in (first.state / ".env").read_text()
    assert report.with_credentials and report.credentials["skipped"] == 0
    assert "other machine" not in json.dumps(report.to_json())


def test_a_copy_elsewhere_gets_no_credentials_unless_the_user_asks(first: Machine) -> None:
    report = restore_agent(first.context, _agent(first), RestoreOptions(to=first.home / "copy", reindex=False))
    assert not report.with_credentials
    assert report.credentials["injected"] == 0


def test_in_place_without_the_key_credentials_are_left_out_and_nothing_is_asked(first: Machine) -> None:
    (first.state / ".env").unlink()
    (first.workspace / "SOUL.md").unlink()
    shutil.rmtree(first.context.home.keys_folder)
    for name in ("LIFEBOAT_KEY_FILE", "LIFEBOAT_PASSPHRASE"):
        assert name not in first.context.environment
    report = restore_agent(first.context, _agent(first), RestoreOptions(yes=True, reindex=False, accept_unsigned=True))
    assert (first.workspace / "SOUL.md").exists()
    assert not report.with_credentials and not (first.state / ".env").exists()


def test_without_credentials_no_store_is_touched(first: Machine) -> None:
    (first.state / ".env").unlink()
    report = restore_agent(
        first.context, _agent(first), RestoreOptions(yes=True, reindex=False, with_credentials=False)
    )
    assert not (first.state / ".env").exists()
    assert report.credential_details == []
    assert report.credentials["injected"] == 0


def test_only_what_is_asked_for_is_given_to_the_program(first: Machine) -> None:
    for name in ("state", "agents"):
        shutil.rmtree(first.state / name, ignore_errors=True)
    made = first.fake.calls()
    (first.workspace / "SOUL.md").unlink()
    report = _restored(first, path_globs=("SOUL.md",))
    assert first.fake.calls() == made
    assert {each["reason"] for each in report.credential_details} == {
        "the credential is in a file that is not among the files to restore"
    }


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_a_store_behind_a_link_is_not_written_through_it(first: Machine, archive: Path, tmp_path: Path) -> None:
    second = second_machine(tmp_path / "second", first, version="2026.2.26")
    elsewhere = second.home / "elsewhere"
    elsewhere.mkdir()
    second.state.mkdir()
    (second.state / "agents").symlink_to(elsewhere)
    report = _imported(second, archive)
    assert list(elsewhere.iterdir()) == []
    zai = next(each for each in report["credential_details"] if each["service"] == "zai")
    assert "is not a directory" in zai["reason"]


def test_without_the_users_key_nothing_is_written(first: Machine) -> None:
    (first.workspace / "SOUL.md").unlink()
    for name in ("user.key",):
        os.unlink(next(first.context.home.folder.rglob(name)))
    with pytest.raises(NoKey):
        _restored(first)
    assert not (first.workspace / "SOUL.md").exists()


def test_a_plan_holds_no_secret(first: Machine) -> None:
    (first.state / "openclaw.json").write_text("{ channels: { telegram: { botToken: 'mine-0123456789' } } }")
    with open_plan(first.context, _agent(first), None, RestoreOptions(with_credentials=True)) as plan:
        from lifeboat_core.restore import describe_diffs, describe_plan

        said = json.dumps(plan.to_json()) + "\n".join(
            [*describe_plan(plan), *describe_diffs(plan, lambda path, data: data)]
        )
    assert not any(secret in said for secret in (*SECRETS, "mine-0123456789"))
    assert "credential" in said


# When something goes wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["fails", "hangs", "partly"])
def test_a_repair_that_does_not_work_leaves_nothing_in_clear(
    first: Machine, archive: Path, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = second_machine(tmp_path / "second", first)
    second.fake.behave(doctor=how)
    if how == "hangs":
        _quicker(monkeypatch, "doctor")
    report = _imported(second, archive)
    zai = next(each for each in report["credential_details"] if each["service"] == "zai")
    assert [name for name in second.files() if "auth-profiles" in name] == []
    if how == "partly":
        assert zai["outcome"] == "injected"
    else:
        assert (
            zai["reason"]
            == f"openclaw doctor {'ended with exit status 1' if how == 'fails' else 'did not end in time'}"
        )
        assert zai["reissue"] == "sign in again"


def _quicker(monkeypatch: pytest.MonkeyPatch, hanging: str) -> None:
    """Wait one second for the command that hangs, and long enough for all others."""
    real = runtime_programs.run_program

    def run(command: Any, **options: Any) -> runtime_programs.ProgramResult:
        return real(
            command,
            **{**options, "timeout_seconds": 1 if any(word.startswith(hanging) for word in command) else patience()},
        )

    monkeypatch.setattr(runtime_programs, "run_program", run)


def test_a_command_that_does_not_end_is_not_followed_by_others_that_would_not_either(
    first: Machine, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = second_machine(tmp_path / "second", first)
    second.fake.behave(paste="hangs")
    _quicker(monkeypatch, "paste-")
    report = _imported(second, archive)
    reasons = [each["reason"] for each in report["credential_details"] if each["service"] in ("openai", "zai")]
    assert all("did not end in time" in reason for reason in reasons)
    assert len([call for call in second.fake.calls() if call["argv"][0] in ("models", "doctor")]) == 1


def test_a_command_that_fails_is_named_and_what_it_printed_is_not(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    second = second_machine(tmp_path / "second", first)
    second.fake.behave(paste="fails")
    report = _imported(second, archive)
    openai = next(each for each in report["credential_details"] if each["service"] == "openai")
    assert openai["reason"] == "openclaw models auth paste-api-key ended with exit status 1"
    assert API_KEY not in json.dumps(report)


def test_a_login_that_cannot_be_written_down_is_named_and_the_rest_is_there(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    second = second_machine(tmp_path / "second", first)
    second.state.mkdir()
    (second.state / "agents").write_text("a file where a folder has to be")
    report = _imported(second, archive)
    zai = next(each for each in report["credential_details"] if each["service"] == "zai")
    assert zai["outcome"] == "skipped"
    assert str(second.state / "agents") in zai["reason"]
    assert second.profiles()["openai:default"]["key"] == API_KEY


def test_a_file_of_an_older_release_that_waits_there_is_taken_over_too_and_stays(
    first: Machine, archive: Path, tmp_path: Path
) -> None:
    second = second_machine(tmp_path / "second", first)
    _of_another(second, "{}")
    waiting = second.state / "agents/main/agent/auth-profiles.json"
    waiting.parent.mkdir(parents=True)
    own = {"type": "api_key", "provider": "fern", "key": "sk-mine"}
    text = json.dumps({"version": 1, "profiles": {"fern:me": own, "zai:me": {**own, "provider": "zai"}}})
    waiting.write_text(text)
    _imported(second, archive)
    profiles = second.profiles()
    assert profiles["fern:me"] == own
    assert profiles["zai:me"]["key"] == "sk-mine"
    assert profiles["openai:default"]["key"] == API_KEY
    (left,) = waiting.parent.glob("auth-profiles.json*")
    assert left.read_text() == text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed as forks, which this system lacks")
@pytest.mark.parametrize("step", [CrashPoint.RESTORE_DELIVERY_NOTED, CrashPoint.RESTORE_DELIVERED])
@pytest.mark.parametrize("waits", [True, False])
def test_a_process_that_is_killed_leaves_what_the_next_command_takes_away(
    first: Machine, archive: Path, tmp_path: Path, step: CrashPoint, *, waits: bool
) -> None:
    second = second_machine(tmp_path / "second", first)
    second.fake.behave(doctor="fails")
    waiting = second.state / "agents/main/agent/auth-profiles.json"
    if waits:
        _of_another(second, "{}")
        waiting.parent.mkdir(parents=True)
        waiting.write_text('{"version": 1, "profiles": {}}')
    killed = 0
    for nth in range(1, 6):
        if not killed_at(lambda: _imported(second, archive, yes=True), step, nth):
            break
        killed += 1
        recover_restores(second.context)
        beside = sorted(path.name for path in waiting.parent.glob("*auth-profiles*")) if waiting.parent.is_dir() else []
        assert beside == (["auth-profiles.json"] if waits else [])
        assert not any(REFRESH.encode() in data for name, data in second.files().items() if "sqlite" not in name)
    assert killed >= 2


def test_a_sweep_forgets_a_note_once_no_command_can_still_run(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "one")
    folder = machine.context.home.restore_folder / delivery_run.FOLDER
    folder.mkdir(parents=True)
    left = machine.home / "auth-profiles.json"
    left.write_text("{}")
    note = {
        "agent_id": "01900000-0000-7000-8000-000000000001",
        "time": "2026-01-01T00:00:00Z",
        "written": [{"path": str(left), "kept": None, "before": []}],
        "leftovers": [],
    }
    (folder / "one.json").write_text(json.dumps(note))
    assert any("removed" in sentence for sentence in recover_restores(machine.context))
    assert not left.exists()
    assert list(folder.iterdir()) == []
