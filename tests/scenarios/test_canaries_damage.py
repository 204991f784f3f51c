"""Files that are half written, damaged or in use keep their last version, are named, and leak nothing; nor does a
secret that is known only later stay where nobody would look for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from lifeboat_vault.vault import Retention
from support.adapters import canaries
from support.adapters.canaries import canary
from support.adapters.canary_scan import Scanner
from support.adapters.openclaw_workspaces import NEW, OLD
from support.core.canary_story import NAME, Story, kept_bodies, on_machine, protected_machine, told
from support.prepared_folders import PreparedFolders

CONFIG = "raw/openclaw-home/openclaw.json"


@pytest.fixture(params=[OLD, NEW])
def story(request: pytest.FixtureRequest, prepared_folders: PreparedFolders) -> Iterator[Story]:
    build = partial(protected_machine, generation=request.param)
    made = prepared_folders.restore(f"machine of {request.param}", build)
    with on_machine(made):
        yield made


def leaks(story: Story) -> str:
    """Every canary in the home, in temporary files, in what is kept, and in what was said."""
    scanner = Scanner.of(canaries.of(story.generation))
    found = scanner.folders(story.home, story.temporary)
    found += [leak for name, data in kept_bodies(story) for leak in scanner.data(data, name)]
    found += [leak for command, said in story.said for leak in scanner.text(said, command)]
    return told(found)


def kept(story: Story, path: str) -> bytes:
    with story.context.vault(story.agent.id) as vault:
        return vault.state().body(path)


def look(story: Story, patch: pytest.MonkeyPatch) -> str:
    """Capture and ask, with tracebacks; what was said."""
    patch.setenv("LIFEBOAT_DEBUG", "1")
    before = len(story.said)
    for arguments in (("sync",), ("status",), ("doctor",), ("agents", "show", NAME), ("agents", "discover")):
        story.run(*arguments)
    return "\n".join(said for _, said in story.said[before:])


@pytest.mark.parametrize("tenth", [2, 5, 8])
def test_half_a_configuration_keeps_its_last_version(story: Story, tenth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept(story, CONFIG)
    whole = story.state.config.read_bytes()
    story.state.config.write_bytes(whole[: len(whole) * tenth // 10])
    assert "openclaw.json" in look(story, monkeypatch)
    assert kept(story, CONFIG) == before
    assert leaks(story) == ""


@pytest.mark.parametrize("at", ["in a value", "in a name", "after a quote"])
def test_a_configuration_that_ends_in_the_middle_of_a_secret_leaks_nothing(
    story: Story, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = story.state.config.read_text()
    value = whole.index(canary("config: slack signing secret"))
    end = {"in a value": value + 12, "in a name": whole.rindex('"signing', 0, value) + 5, "after a quote": value}[at]
    story.state.config.write_text(whole[:end])
    assert "cannot be parsed" in look(story, monkeypatch)
    assert leaks(story) == ""


@pytest.mark.parametrize("put", [b"\0", b"\xff\xfe", b"}", b'"', b"\n", b"//", b"${", b": :"])
def test_a_damaged_configuration_leaks_nothing(story: Story, put: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the parser makes of it, and whatever it says."""
    whole = story.state.config.read_bytes()
    for place in ("config: slack app token", "config: mcp header", "config: hook token"):
        at = whole.index(canary(place).encode()) + 8
        story.state.config.write_bytes(whole[:at] + put + whole[at:])
        story.run("sync")
    look(story, monkeypatch)
    assert leaks(story) == ""


@pytest.mark.parametrize(
    "name", [".env", "secrets.json", "openclaw.json.bak", "agents/main/agent/auth-profiles.json", "workspace/.env"]
)
def test_other_half_written_files_leak_nothing(story: Story, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = story.state.folder / name
    if not path.exists():
        pytest.skip(f"this generation has no {name}")
    whole = path.read_bytes()
    for part in (3, 5, 8):
        path.write_bytes(whole[: len(whole) * part // 10])
        story.run("sync")
    path.write_bytes(b"\xef\xbb\xbf" + whole.replace(b'"', b"'", 3))
    look(story, monkeypatch)
    assert leaks(story) == ""


@pytest.mark.parametrize("damage", ["torn", "zeros", "no database", "in use"])
def test_a_damaged_or_locked_store_keeps_its_last_version(
    story: Story, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if story.generation == OLD:
        pytest.skip("this generation keeps no credentials in a database")
    path = story.state.state_database
    rows = "raw/openclaw-home/db/auth/profiles.jsonl"
    before = kept(story, rows)
    whole = path.read_bytes()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        if damage == "in use":
            other.execute("pragma locking_mode = exclusive")
            other.execute("begin immediate")
            other.execute("update config_machine_state set updated_at_ms = updated_at_ms + 1")
        else:
            changed = {"torn": whole[: len(whole) // 3], "zeros": whole[:4096] + b"\0" * (len(whole) - 4096)}
            path.write_bytes(changed.get(damage, b"secret: " + canary("shared store: api key").encode()))
        said = look(story, monkeypatch)
    # The last whole state of a store in use is read as it stands.
    assert damage == "in use" or "openclaw.sqlite" in said
    assert kept(story, rows) == before
    assert leaks(story) == ""


def test_what_becomes_known_later_is_gone_with_the_states_that_held_it(story: Story) -> None:
    """Not in the index of the search, not in a free page of a database."""
    late = canaries.rotated(".env: bare")
    note = story.state.workspace / "memory/2026-02-12.md"
    note.write_text(f"# 2026-02-12\n\nPerhaps it is {late}, who knows.\n")
    story.run("sync")
    story.run("search", NAME, "perhaps")
    environment = story.state.folder / ".env"
    environment.write_text(f"{environment.read_text()}LATE_API_KEY={late}\n")
    story.run("sync")
    before = len(story.said)
    story.run("search", NAME, "perhaps")
    story.run("diff", NAME)
    scanner = Scanner.of(canaries.of(story.generation))
    assert told([leak for command, said in story.said[before:] for leak in scanner.text(said, command)]) == ""
    assert told(scanner.folders(story.home / "state")) == ""
    note.write_text("# 2026-02-12\n\nNothing.\n")
    story.run("sync")
    with story.context.vault(story.agent.id) as vault:
        for _ in range(4):
            vault.thin(Retention(all_hours=0, hourly_days=0, daily_days=0), story.context.clock.now())
        left = [row.number for row in vault.sequences()]
    assert 1 not in left and 2 not in left
    assert told(scanner.folders(story.home)) == ""
