"""A real Hermes Agent: it lives, the daemon captures it when a session ends, it is lost, and goes on with its memory
and its sessions."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.adapters.canaries import HEAD, TAIL, Canary
from support.adapters.canary_scan import Leak, Scanner
from support.cli.cli_client import run
from support.real import real_hermes, real_openclaw
from support.real.real_hermes import KEY, RealHermes
from support.waiting import until

REMEMBERED = "Boat seventeen lies at the north pier."
POOLED = f"{KEY}-of-the-pool"
PLACES = (
    *("telegram.bot_token", "mcp environment", "mcp header", ".env", "pool", "login: access", "login: refresh"),
    *("mcp-tokens", "pairing", "platforms/pairing", "vault key"),
)
CANARIES = tuple(Canary(place, (), f"{HEAD}{number:02d}Zt6Lw1Qy8Bn{TAIL}") for number, place in enumerate(PLACES))
VALUE = {canary.place: canary.value for canary in CANARIES}


@dataclass(frozen=True)
class Story:
    """The agent, its files before the loss and after the restore, and what the real program said."""

    hermes: RealHermes
    hook_trace: tuple[dict[str, bytes], dict[str, bytes]]
    captured_by: list[str]
    sequences: tuple[int, int]
    before: dict[str, bytes]
    after: dict[str, bytes]
    leaks: list[Leak]
    session: str
    found: list[str]
    listed: str
    jobs: tuple[str, str]
    prompt: str
    memories: list[str]
    wrapper: tuple[bytes, bytes]
    rover: tuple[dict[str, bytes], dict[str, bytes]]
    openclaw: dict[str, bytes]
    returned: bytes


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _give_credentials(hermes: RealHermes) -> None:
    """Put a canary into every place: by the program where it can without a network, else as it writes them."""
    search = {"url": "http://127.0.0.1:9/mcp", "enabled": False, "headers": {"X-Board": VALUE["mcp header"]}}
    tides = {"command": "tides", "enabled": False, "env": {"BOARD": VALUE["mcp environment"]}}
    hermes.configure({"mcp_servers": {"search": search, "tides": tides}})
    (hermes.home / "SOUL.md").write_text("You are kind and count boats.\n")
    hermes.run("auth", "add", "openrouter", "--type", "api-key", "--api-key", POOLED, "--label", "main")
    hermes.run("auth", "add", "anthropic", "--type", "api-key", "--api-key", VALUE["pool"], "--label", "second")
    hermes.run("config", "set", "telegram.bot_token", VALUE["telegram.bot_token"])
    hermes.run("config", "set", "OPENROUTER_API_KEY", VALUE[".env"])
    auth = hermes.home / "auth.json"
    values = json.loads(auth.read_text())
    values["providers"]["nous"] = {
        "access_token": VALUE["login: access"],
        "refresh_token": VALUE["login: refresh"],
        "expires_at": "2036-01-01T00:00:00+00:00",
    }
    auth.write_text(json.dumps(values, indent=2))
    written = {
        "mcp-tokens/search.json": json.dumps({"access_token": VALUE["mcp-tokens"], "token_type": "Bearer"}),
        "pairing/telegram-approved.json": json.dumps({VALUE["pairing"]: {"user_name": "Mira"}}),
        "platforms/pairing/slack-approved.json": json.dumps({VALUE["platforms/pairing"]: {"user_name": "Mira"}}),
        "vault/vault.key": VALUE["vault key"],
    }
    for name, text in written.items():
        path = hermes.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)


def _captures(lifeboat: Path, agent: str) -> list[JsonObject]:
    """Return the captures that the daemon logged, and that changed something."""
    events = [json.loads(line) for line in (lifeboat / "logs" / "daemon.log").read_text().splitlines()]
    return [event for event in events if event["kind"] == "captured" and event["agent"] == agent]


def _live(hermes: RealHermes, agent: str, lifeboat: Path) -> tuple[list[str], tuple[int, int]]:
    """Run two turns: one that writes a memory, and one that changes nothing. The hook asks the daemon to capture."""
    hermes.turn(f"REMEMBER: {REMEMBERED}")
    until(lambda: run("search", agent, "seventeen")["hits"], "a capture after the session", seconds=60)
    first = run("log", agent)["entries"][0]["sequence"]
    found = until(lambda: [one for one in _captures(lifeboat, agent) if one["sequence"] == first], "a log entry")
    hermes.turn(f"Good morning. My other key is {POOLED}.")
    return [str(event["reason"]) for event in found], (first, run("sync", agent)["agents"][0]["sequence"])


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    installed = real_hermes.require()
    folder = tmp_path_factory.mktemp("real")
    lifeboat, remote = folder / "lifeboat", folder / "remote"
    with real_openclaw.network(folder) as (namespace, log), pytest.MonkeyPatch.context() as patch:
        hermes = RealHermes(installed, folder / "user", namespace, log)
        _give_credentials(hermes)
        hermes.run("cron", "create", "0 7 * * *", "Tell the tides.", "--name", "tides")
        hermes.run("profile", "create", "rover")
        patch.setenv("HOME", str(hermes.user_home))
        patch.setenv("LIFEBOAT_HOME", str(lifeboat))
        patch.setenv("PATH", f"{installed / 'bin'}:/usr/bin:/bin")
        root, rover = run("agents", "discover")["found"]
        assert [(one["runtime"], one["native_id"]) for one in (root, rover)] == [
            ("hermes", "default"),
            ("hermes", "rover"),
        ]
        for name, value in (("cadence", "after_session"), ("cron", "true")):
            run("config", "set", name, value)
        agent, other = (run("agents", "add", found["workspace"])["id"] for found in (root, rover))
        run("remote", "add", "stick", remote.as_uri(), "--plain")
        untouched = _files(hermes.home)
        run("agents", "hook", agent)
        run("agents", "hook", agent, "--remove")
        trace = (untouched, _files(hermes.home))
        run("agents", "hook", agent)
        try:
            run("daemon", "start")
            captured_by, sequences = _live(hermes, agent, lifeboat)
            run("config", "set", "transcripts", "true")
            run("sync")
        finally:
            run("daemon", "stop")
        before = _files(hermes.home)
        session = hermes.search_sessions("seventeen")[0]
        jobs = hermes.run("cron", "list")
        profile, script = hermes.home / "profiles" / "rover", hermes.user_home / ".local" / "bin" / "rover"
        wrapper, of_rover = script.read_bytes(), _files(profile)
        leaks = Scanner.of(CANARIES).folders(lifeboat, remote)
        shutil.rmtree(hermes.home)
        script.unlink()
        run("restore", agent, "--yes", "--with-sessions", "--with-cron")
        report = run("restore", other, "--yes")
        after = _files(hermes.home)
        around = {"HOME": str(hermes.user_home), "PATH": "/usr/bin:/bin"}
        subprocess.run(["/bin/sh", "-c", report["next"][0]["command"]], env=around, check=True, capture_output=True)
        hermes.turn("Where is the boat?")
        prompt = hermes.last_prompt()
        memories = [record["snippet"] for record in run("records", "list", agent)["records"]]
        found, listed = hermes.search_sessions("seventeen"), hermes.run("sessions", "list")
        there, back = folder / "openclaw" / "workspace", folder / "back"
        run("restore", agent, "--runtime", "openclaw", "--to", there, "--adopt", "--yes")
        openclaw = _files(there)
        run("sync")
        run("restore", agent, "--runtime", "hermes", "--to", back, "--adopt", "--yes", "--with-credentials")
        yield Story(
            hermes,
            trace,
            captured_by,
            sequences,
            before,
            after,
            leaks,
            session,
            found,
            listed,
            (jobs, hermes.run("cron", "list")),
            prompt,
            memories,
            (wrapper, script.read_bytes()),
            (of_rover, _files(profile)),
            openclaw,
            (back / "memories" / "MEMORY.md").read_bytes(),
        )


def test_the_hook_comes_and_goes_without_a_trace(story: Story) -> None:
    before, after = story.hook_trace
    assert after == before


def test_the_daemon_captures_the_session_because_the_hook_asks(story: Story) -> None:
    assert story.captured_by == ["request"]


def test_a_turn_that_writes_no_memory_makes_no_sequence(story: Story) -> None:
    first, second = story.sequences
    assert second == first


def test_the_memory_that_the_program_wrote_is_a_memory(story: Story) -> None:
    assert story.memories == [REMEMBERED]


def test_everything_but_machine_state_comes_back_byte_for_byte(story: Story) -> None:
    machine = (
        *("logs/", "state.db", "auth.lock", ".skills_prompt", "memories/MEMORY.md.lock", "plugins/lifeboat/"),
        *(".update_check", ".tirith", "cron/", "profiles/", "sandboxes/"),
    )
    gone = (name for name in story.before.keys() - story.after.keys() if not name.endswith(".lock"))
    lost = sorted(name for name in gone if not name.startswith(machine))
    changed = [name for name in story.before if story.after.get(name, b"") != story.before[name]]
    assert lost == []
    assert [name for name in changed if not name.startswith(machine) and not name.endswith(".lock")] == []


def test_credentials_come_back_where_the_program_had_put_them(story: Story) -> None:
    assert KEY.encode() in story.after["config.yaml"] and POOLED.encode() in story.after["auth.json"]
    back = b"".join(story.after.values())
    assert [place for place, value in VALUE.items() if value.encode() not in back] == []


def test_no_credential_is_in_clear_in_the_home_of_lifeboat_its_logs_or_the_remote(story: Story) -> None:
    assert story.leaks == []


def test_the_program_goes_on_with_its_memory_after_the_loss(story: Story) -> None:
    assert REMEMBERED in story.prompt


def test_the_programs_own_search_and_list_find_the_earlier_session(story: Story) -> None:
    assert story.session in story.found and story.session in story.listed


def test_the_programs_own_list_has_the_job_again(story: Story) -> None:
    assert "tides" in story.jobs[0] and "tides" in story.jobs[1]


def test_a_profile_comes_back_and_the_program_makes_its_wrapper_again(story: Story) -> None:
    assert story.wrapper[0] == story.wrapper[1]
    before, after = story.rover
    assert after["SOUL.md"] == before["SOUL.md"] and after[".env"] == before[".env"]


def test_the_agent_moves_to_openclaw_and_back_with_its_memory(story: Story) -> None:
    assert any(REMEMBERED.encode() in data for data in story.openclaw.values())
    assert story.returned == REMEMBERED.encode()
