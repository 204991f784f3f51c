"""`lifeboat setup --kit`: every agent comes back on a new machine from the recovery kit, and what cannot is named."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import stat
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_cli import program
from lifeboat_cli.remote.remote_examination import examine_remote
from lifeboat_core.agents import locks
from lifeboat_core.capture.capture_work import CaptureWork
from lifeboat_core.errors import OtherVault
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import kit_remotes, kit_return, manage_remotes, remote_registry, request_retries
from lifeboat_core.restore import restore_run, scratch_folders
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES, RESTORE_SCOPES
from lifeboat_keys.recovery import recovery_kit
from lifeboat_vault.remote.join_lines import JoinLine, format_join_line
from support.adapters import openclaw_workspaces
from support.adapters.profile_installs import PEBBLE, make_pebble
from support.cli.cli_client import run
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.killing import killed_at

PASSPHRASE = "a phrase for the kit"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("served")) as made:
        yield made


class TwoMachines:
    """An old machine with two protected agents, a folder remote `stick`, and a new machine. Each has its own home."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch = folder, monkeypatch
        self.kit = folder / "kit.txt"
        self.be("old")
        self.old = openclaw_workspaces.make_state_dir(self.home / ".openclaw")
        for name in ("workspace", "workspace-rover"):
            run("agents", "add", self.home / ".openclaw" / name)
        self.machine = Context.open().keys().own_name
        run("remote", "add", "stick", (folder / "stick").as_uri())
        run("sync")

    def be(self, name: str) -> None:
        """Run the following commands on this machine."""
        self.home = self.folder / name
        self.home.mkdir(exist_ok=True)
        for variable, value in (("HOME", self.home), ("USERPROFILE", self.home), ("LIFEBOAT_HOME", self.home / "lb")):
            self._patch.setenv(variable, str(value))

    def add_endpoint(self, endpoint: RunningEndpoint) -> str:
        """Add the endpoint as `home`, with a tenant of its own, and return the join line."""
        with contextlib.closing(Endpoint.open(endpoint.data)) as data:
            self.tenant = data.add_tenant(ids.make_id(times.to_text(data.clock.now()))[-12:]).id
            _, secret = data.control.add_token(self.tenant, "old", DEVICE_SCOPES)
        line = format_join_line(JoinLine(endpoint.url, secret, endpoint.pin))
        run("remote", "add", "home", line)
        run("sync")
        return line

    def end_access(self, endpoint: RunningEndpoint, made: JsonObject, *, expired: bool) -> None:
        """Let the access of the kit end: revoked by the operator, or by its time."""
        with contextlib.closing(Endpoint.open(endpoint.data)) as data:
            if not expired:
                data.control.revoke_token(next(one["token_id"] for one in made["remotes"] if one["token_id"]))
                return
            ended = data.clock.now() - timedelta(hours=1)
            _, secret = data.control.add_token(self.tenant, "kit", RESTORE_SCOPES, ended)
        kit = recovery_kit.read_whole_kit(self.kit.read_text())
        line = format_join_line(JoinLine(endpoint.url, secret, endpoint.pin))
        remotes = [replace(one, access=line if one.access else "") for one in kit.remotes]
        self.kit.write_text(recovery_kit.render_kit(kit.key, "2026-11-20", remotes))

    def export(self, *options: str, expect: int = 0) -> JsonObject:
        return run("keys", "export-kit", "-o", self.kit, *options, expect=expect)

    def bring_back(self, *options: str, expect: int = 0) -> JsonObject:
        self.be("new")
        words = ("setup", "--kit", self.kit, "--yes", "--take-over", self.machine, *options)
        return run(*words, expect=expect)

    def change_kit(self, before: str, after: str) -> None:
        text = self.kit.read_text()
        assert before in text
        self.kit.write_text(text.replace(before, after))


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TwoMachines:
    monkeypatch.setattr(request_retries, "TRIES", 1)
    return TwoMachines(tmp_path, monkeypatch)


def typed(*arguments: str | Path, text: str, expect: int = 0) -> JsonObject:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return run(*arguments, expect=expect)


def states(document: JsonObject, what: str = "agents") -> dict[str, str]:
    return {one["name"]: one["state"] for one in document[what]}


# What comes back ----------------------------------------------------------------------------------------------------


def test_every_agent_comes_back_into_its_place_with_its_credentials(machines: TwoMachines) -> None:
    machines.export()
    done = machines.bring_back()
    assert states(done, "remotes") == {"stick": "added"} and not done["key_was_here"] and done["checked"]
    assert set(states(done).values()) == {"restored"} and len(done["agents"]) == 2
    new, old = machines.home / ".openclaw", machines.folder / "old/.openclaw"
    assert {one["to"] for one in done["agents"]} >= {str(new / "workspace")}
    assert (new / "workspace/MEMORY.md").read_bytes() == (old / "workspace/MEMORY.md").read_bytes()
    assert openclaw_workspaces.ENV_KEY in (new / ".env").read_text()
    assert all(one["summary"] for one in done["agents"])
    listed = run("agents", "list")["agents"]
    assert {one["name"] for one in listed} == {one["name"] for one in done["agents"]}


def test_the_same_command_again_changes_nothing(machines: TwoMachines) -> None:
    machines.export()
    machines.bring_back()
    again = machines.bring_back()
    assert set(states(again).values()) == {"here"} and states(again, "remotes") == {"stick": "known"}
    assert again["key_was_here"]


def test_a_dry_run_writes_nothing(machines: TwoMachines) -> None:
    machines.export()
    machines.be("new")
    plan = run("setup", "--kit", machines.kit, "--dry-run")
    assert plan["dry_run"] and states(plan, "remotes") == {"stick": "planned"}
    assert Context.open().keys().status().key_id is None and not (machines.home / ".openclaw").exists()
    assert remote_registry.list_remote_names(Context.open()) == []


def test_without_a_yes_nothing_is_restored_where_no_user_can_be_asked(machines: TwoMachines) -> None:
    machines.export()
    machines.be("new")
    error = run("setup", "--kit", machines.kit, expect=3)["error"]
    assert error["code"] == "consent_needed" and not (machines.home / ".openclaw").exists()


def test_a_machine_that_wrote_lately_must_be_named(machines: TwoMachines) -> None:
    machines.export()
    machines.be("new")
    refused = run("setup", "--kit", machines.kit, "--yes", expect=1)
    assert set(states(refused).values()) == {"left_out"}
    assert {one["error"]["code"] for one in refused["agents"]} == {"moved_elsewhere"}
    assert {one["machine"] for one in refused["agents"]} == {machines.machine}
    again = shlex.join(["lifeboat", "setup", "--kit", str(machines.kit), "--yes", "--take-over", machines.machine])
    assert {one["error"]["fix"].replace(" --json", "") for one in refused["agents"]} == {again}
    assert set(states(machines.bring_back()).values()) == {"restored"}


def test_files_of_another_owner_in_the_place_are_not_overwritten_without_a_question(machines: TwoMachines) -> None:
    machines.export()
    machines.be("new")
    own = machines.home / ".openclaw/workspace/MEMORY.md"
    own.parent.mkdir(parents=True)
    own.write_text("# Another agent\n")
    machines.bring_back()
    assert own.read_text() == "# Another agent\n"


def test_a_history_that_becomes_the_vault_is_fetched_into_the_home(
    machines: TwoMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary folder may be on another disk, from which a folder cannot be moved."""
    machines.export()
    moved: list[Path] = []
    replace = SystemFiles.replace

    def note(files: SystemFiles, source: Path, target: Path) -> None:
        moved.append(Path(source))
        replace(files, source, target)

    monkeypatch.setattr(scratch_folders, "_has_room", lambda _: False)
    monkeypatch.setattr(SystemFiles, "replace", note)
    assert set(states(machines.bring_back()).values()) == {"restored"}
    staged = [path for path in moved if path.name == "vault"]
    assert len(staged) == 2 and all(path.is_relative_to(machines.home) for path in staged), staged


def test_an_agent_of_the_users_own_profile_comes_back_into_its_home_with_the_profile(machines: TwoMachines) -> None:
    workspace = make_pebble(machines.home, profiles=machines.home / "lb/profiles")
    config = (workspace.parent / "pebble.yaml").read_bytes()
    run("agents", "add", workspace)
    run("sync")
    machines.export()
    done = machines.bring_back()
    assert set(states(done).values()) == {"restored"}
    here = machines.home / ".pebble"
    assert (here / "data/facts.md").read_bytes() == (workspace / "facts.md").read_bytes()
    assert (here / "pebble.yaml").read_bytes() == config, "the file around the workspace, with its credential"
    assert (machines.home / "lb/profiles/pebble.toml").read_text() == PEBBLE
    assert set(states(machines.bring_back()).values()) == {"here"}


def test_an_agent_captured_without_its_profile_comes_back_as_the_error_says(
    machines: TwoMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A release before profiles were captured wrote the history.
    monkeypatch.setattr(CaptureWork, "_describe_profile", lambda work, head: None)
    profile = machines.home / "lb/profiles/pebble.toml"
    profile.parent.mkdir(mode=0o700)
    text = 'name = "pebble"\ntitle = "Pebble"\n[marks]\ncertain = ["pebble.json"]\n'
    profile.write_text(text)
    workspace = machines.home / "stones"
    workspace.mkdir()
    (workspace / "pebble.json").write_text("{}")
    (workspace / "notes.md").write_text("# Stones\n")
    run("agents", "add", workspace, "--runtime", "pebble")
    run("sync")
    machines.export()
    done = machines.bring_back(expect=1)
    (left,) = (one for one in done["agents"] if one["state"] == "left_out")
    assert left["error"]["code"] == "unknown_runtime" and "profiles/pebble.toml" in left["error"]["message"]
    run(*shlex.split(left["error"]["fix"])[1:], "--yes")
    assert list(machines.home.rglob("notes.md")), "the fix restores the files"
    (machines.home / "lb/profiles").mkdir(mode=0o700, exist_ok=True)
    (machines.home / "lb/profiles/pebble.toml").write_text(text)
    again = machines.bring_back()
    assert sorted(states(again).values()) == ["here", "here", "restored"]


# Access -------------------------------------------------------------------------------------------------------------


def test_a_kit_with_access_reads_an_endpoint_and_can_do_nothing_else(
    machines: TwoMachines, endpoint: RunningEndpoint
) -> None:
    machines.add_endpoint(endpoint)
    made = machines.export("--with-access")
    told = {one["name"]: one for one in made["remotes"]}
    assert told["home"]["access"] and told["home"]["token_id"] and not told["stick"]["access"]
    kit = recovery_kit.read_whole_kit(machines.kit.read_text())
    (line,) = (one.access for one in kit.remotes if one.access)
    assert line not in json.dumps(made)
    run("remote", "remove", "stick", "--yes")
    machines.kit.unlink()
    machines.export("--with-access")
    done = machines.bring_back()
    assert states(done, "remotes") == {"home": "added"} and set(states(done).values()) == {"restored"}
    assert not done["remotes"][0]["can_push"] and "lifeboat remote token home" in done["commands"]
    (finding,) = examine_remote(Context.open(), remote_registry.find_remote(Context.open(), "home"))
    assert "does not allow push" in str(finding) and "lifeboat remote token" in str(finding), "doctor names it"
    secret = remote_registry.load_token(Context.open(), "home")
    with endpoint.client(secret) as client:
        assert client.get("/token").json()["scopes"] == ["pull"]
        agent = client.get("/agents").json()["agents"][0]["id"]
        refused = [
            client.post("/token"),
            client.post("/agents", json={"id": agent, "name": "x"}),
            client.delete(f"/agents/{agent}"),
            client.post(f"/agents/{agent}/epoch", json={"expected": 0, "machine": "x"}),
            client.post(f"/agents/{agent}/redactions", content=b"{}"),
            client.put(f"/agents/{agent}/snapshot", content=b""),
        ]
    assert {answer.status_code for answer in refused} <= {403, 404, 405} and refused[0].status_code == 403
    assert refused[2].status_code == 403


@pytest.mark.parametrize("what", ["revoked", "expired"])
def test_an_access_line_that_ended_leaves_its_remote_out_and_the_other_one_works(
    what: str, machines: TwoMachines, endpoint: RunningEndpoint
) -> None:
    machines.add_endpoint(endpoint)
    made = machines.export("--with-access")
    machines.end_access(endpoint, made, expired=what == "expired")
    done = machines.bring_back(expect=1)
    assert states(done, "remotes") == {"home": "left_out", "stick": "added"}
    (left,) = (one for one in done["remotes"] if one["state"] == "left_out")
    assert left["error"]["code"] == "remote_denied" and left["needs_join_line"]
    assert what in left["error"]["message"]
    assert set(states(done).values()) == {"restored"}


def test_without_access_in_the_kit_a_remote_that_wants_a_token_is_left_out(
    machines: TwoMachines, endpoint: RunningEndpoint
) -> None:
    join = machines.add_endpoint(endpoint)
    machines.export()
    done = machines.bring_back(expect=1)
    assert states(done, "remotes") == {"home": "left_out", "stick": "added"}
    assert "lifeboat remote add home" in done["commands"]
    run("remote", "add", "home", join)
    again = machines.bring_back()
    assert states(again, "remotes") == {"home": "known", "stick": "known"}


def test_a_remote_that_is_away_leaves_the_other_one_at_work(machines: TwoMachines) -> None:
    run("remote", "add", "disk", (machines.folder / "disk").as_uri())
    run("sync")
    machines.export()
    (machines.folder / "disk").rename(machines.folder / "unplugged")
    done = machines.bring_back(expect=1)
    assert states(done, "remotes") == {"disk": "left_out", "stick": "added"}
    assert set(states(done).values()) == {"restored"} and not (machines.folder / "disk").exists()
    (machines.folder / "unplugged").rename(machines.folder / "disk")
    again = machines.bring_back()
    assert states(again, "remotes") == {"disk": "added", "stick": "known"}
    assert set(states(again).values()) == {"here"}


# The kit ------------------------------------------------------------------------------------------------------------


def test_a_kit_whose_remotes_were_changed_is_refused_before_anything_is_done(machines: TwoMachines) -> None:
    machines.export()
    machines.change_kit((machines.folder / "stick").as_uri(), (machines.folder / "evil").as_uri())
    error = machines.bring_back(expect=1)["error"]
    assert error["code"] == "not_a_kit" and Context.open().keys().status().key_id is None


def test_a_kit_whose_check_was_cut_off_is_not_believed_without_a_question(machines: TwoMachines) -> None:
    machines.export()
    text = machines.kit.read_text()
    machines.kit.write_text("".join(line for line in text.splitlines(True) if not line.startswith("Check:")))
    error = machines.bring_back(expect=3)["error"]
    assert error["code"] == "consent_needed" and "stick" in error["message"]
    assert remote_registry.list_remote_names(Context.open()) == []


def test_a_join_line_that_leads_to_another_address_than_the_page_is_not_used(
    machines: TwoMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = format_join_line(JoinLine("https://evil.example.com:8443", "lb_a_b", "0" * 64))
    machines.be("new")
    monkeypatch.setattr(manage_remotes, "add_remote", lambda *_, **__: pytest.fail("the address was contacted"))
    remote = recovery_kit.KitRemote("home", "https://home.example.com:8443", access=line)
    with pytest.raises(OtherVault, match=r"home\.example\.com:8443 .*evil\.example\.com:8443"):
        kit_remotes.add_kit_remote(Context.open(), remote, is_checked=False)


def test_the_same_command_at_the_same_time_waits_for_the_first_one(machines: TwoMachines) -> None:
    machines.export()
    machines.be("new")
    context, entered, release = Context.open(), threading.Event(), threading.Event()

    def hold() -> None:
        with kit_return.kit_lock(context):
            entered.set()
            release.wait()

    other = threading.Thread(target=hold)
    other.start()
    try:
        assert entered.wait(60)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(locks, "FILE_SECONDS", 0.1)
            error = machines.bring_back(expect=1)["error"]
    finally:
        release.set()
        other.join()
    assert error["code"] == "busy" and "setup --kit" in error["message"]
    assert Context.open().keys().status().key_id is None, "nothing is done before the lock is held"


def test_a_kit_with_a_wrong_word_is_refused(machines: TwoMachines) -> None:
    machines.export()
    word = recovery_kit.read_kit(machines.kit.read_text()).words()[4]
    machines.change_kit(f" 5. {word}", f" 5. {'zoo' if word != 'zoo' else 'abandon'}")
    code = machines.bring_back(expect=1)["error"]["code"]
    assert code in ("bad_words", "not_a_kit")


def test_a_kit_of_another_key_leaves_the_machine_as_it_is(machines: TwoMachines) -> None:
    machines.export()
    machines.be("new")
    Context.open().keys().ensure()
    own = Context.open().keys().key_id
    error = machines.bring_back(expect=3)["error"]
    assert error["code"] == "key_exists" and str(own) in error["message"]
    assert Context.open().keys().key_id == own and remote_registry.list_remote_names(Context.open()) == []


def test_an_encrypted_kit_is_recognised_by_its_content(machines: TwoMachines) -> None:
    made = typed("keys", "export-kit", "-o", machines.kit, "--encrypt", "--passphrase-stdin", text=f"{PASSPHRASE}\n")
    assert made["encrypted"] and machines.kit.read_bytes().startswith(b"age-encryption.org/v1")
    assert stat.S_IMODE(machines.kit.stat().st_mode) == 0o600
    machines.be("new")
    wanted = ("setup", "--kit", machines.kit, "--yes", "--take-over", machines.machine)
    assert run(*wanted, expect=3)["error"]["code"] == "nobody_to_ask"
    wrong = typed(*wanted, "--passphrase-stdin", text="not the phrase\n", expect=1)
    assert wrong["error"]["code"] == "archive_passphrase"
    done = typed(*wanted, "--passphrase-stdin", text=f"{PASSPHRASE}\n")
    assert set(states(done).values()) == {"restored"}


def test_a_kit_is_private_and_never_overwritten(machines: TwoMachines, endpoint: RunningEndpoint) -> None:
    machines.add_endpoint(endpoint)
    machines.export("--with-access")
    assert stat.S_IMODE(machines.kit.stat().st_mode) == 0o600
    before, tokens = machines.kit.read_bytes(), _valid_kit_tokens(endpoint)
    assert machines.export("--with-access", expect=3)["error"]["code"] == "file_exists"
    assert machines.kit.read_bytes() == before and _valid_kit_tokens(endpoint) == tokens


@pytest.mark.skipif(os.name != "posix", reason="modes of files exist on POSIX only")
def test_a_kit_that_other_users_can_read_is_named(machines: TwoMachines, capsys: pytest.CaptureFixture[str]) -> None:
    machines.export()
    machines.be("new")
    for mode, is_named in ((0o600, False), (0o644, True)):
        machines.kit.chmod(mode)
        assert program.run_command(["setup", "--kit", str(machines.kit), "--dry-run"]) == 0
        assert ("chmod 600" in capsys.readouterr().err) is is_named


def test_a_kit_that_cannot_be_written_leaves_no_token_behind(
    machines: TwoMachines, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines.add_endpoint(endpoint)
    tokens = _valid_kit_tokens(endpoint)

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recovery_kit, "render_kit", full)
    machines.export("--with-access", expect=1)
    assert not machines.kit.exists() and _valid_kit_tokens(endpoint) == tokens


def _valid_kit_tokens(endpoint: RunningEndpoint) -> set[str]:
    with contextlib.closing(Endpoint.open(endpoint.data)) as data:
        return {one.id for one in data.control.tokens() if one.scopes == {"pull"} and one.revoked_at is None}


# Interrupted --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step", [CrashPoint.RESTORE_STAGED, CrashPoint.RESTORE_MOVED_IN, CrashPoint.RESTORE_JOURNAL_REMOVED]
)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_kill_in_the_middle_is_continued_by_the_same_command(
    step: CrashPoint, nth: int, machines: TwoMachines
) -> None:
    machines.export()
    killed = killed_at(lambda: machines.bring_back(), step, nth)
    machines.be("new")
    done = machines.bring_back()
    assert killed or nth == 2
    assert set(states(done).values()) <= {"restored", "here"} and len(done["agents"]) == 2
    targets = {Path(one["to"]).name for one in done["agents"]}
    assert "workspace" in targets and len(targets) == 2
    assert not (machines.home / "lb/state/kit-return.json").exists()
    for agent in run("agents", "list", "--remote", "stick")["agents"]:
        with Context.open().vault(agent["id"]) as vault:
            assert vault.epoch == agent["epoch"] > 0, "this machine is the writer"


def test_a_full_disk_in_the_middle_is_named_and_the_same_command_continues(
    machines: TwoMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines.export()
    with monkeypatch.context() as patched:

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        patched.setattr(restore_run, "_write_stage", full)
        left = machines.bring_back(expect=1)
    assert set(states(left).values()) == {"left_out"}
    assert all("No space left" in one["error"]["message"] for one in left["agents"])
    assert set(states(machines.bring_back()).values()) == {"restored"}


# On a terminal ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="the terminal of this test is one of Linux")
def test_a_user_pastes_a_join_line_that_is_not_shown_and_confirms_once(
    machines: TwoMachines, endpoint: RunningEndpoint
) -> None:
    from support.terminal import Terminal

    join = machines.add_endpoint(endpoint)
    run("remote", "remove", "stick", "--yes")
    machines.export()
    machines.be("new")
    with Terminal("setup", "--kit", str(machines.kit)) as terminal:
        terminal.wait_for("Join line of home")
        terminal.type(join)
        terminal.wait_for(f"Type '{machines.machine}' to continue")
        terminal.type(machines.machine)
        assert terminal.ended() == 0
        assert join not in terminal.said and join not in terminal.left
        assert "Rover was restored to" in terminal.left
    assert {one["name"] for one in run("agents", "list")["agents"]} == {"Juniper", "Rover"}
