"""Everything a user does with an agent full of canaries; all output, files and started programs are recorded."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lifeboat_cli import program
from lifeboat_cli.demo.tree_comparison import Tree, read_tree
from lifeboat_core.agents import agent as known_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.home.context import Context
from lifeboat_vault.vault import Retention
from support.adapters.canaries import canary, rotated
from support.adapters.canary_planting import plant
from support.adapters.canary_scan import Leak
from support.adapters.openclaw_workspaces import StateFolder
from support.aged_files import age_files

ROTATED = "config: provider key"
NAME = "Juniper"
PLANTED_PLACEHOLDER = "Somebody wrote {{lifeboat:credential:0197c3a0-0000-7000-8000-000000000001}} here."

_FAKE_RUNTIME = """#!/bin/sh
# Keeps what everybody can see of it, and is as talkative as a program can be about what it was told and what it knows.
cat /proc/$$/cmdline /proc/$$/environ > {record}/$$
cat
env
cat "${{OPENCLAW_STATE_DIR:-/nowhere}}/openclaw.json" "${{OPENCLAW_STATE_DIR:-/nowhere}}/.env"
cat "$HOME/.openclaw/openclaw.json" "$HOME/.openclaw/.env"
echo '{{"agents": [], "profiles": []}}'
exit {status}
"""


@dataclass
class Story:
    """One machine with one OpenClaw. `said` is what commands printed; `archives` what they wrote for others; `seen`
    what others could see of the programs they started."""

    folder: Path
    generation: str
    said: list[tuple[str, str]] = field(default_factory=list)
    before: Tree = field(default_factory=dict)
    state: StateFolder = field(init=False)

    @property
    def home(self) -> Path:
        return self.folder / "lifeboat"

    @property
    def user(self) -> Path:
        return self.folder / "user"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def archives(self) -> Path:
        return self.folder / "archives"

    @property
    def seen(self) -> Path:
        return self.folder / "seen"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.user),
            "LIFEBOAT_HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
        }

    @property
    def context(self) -> Context:
        return Context.open(self.environment)

    @property
    def agent(self) -> Agent:
        return known_agents.find_agent(self.context, NAME)

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """Return where nothing may be in clear: the home, homes of other machines, temporary files, archives."""
        return (self.home, self.temporary, self.archives, self.seen, self.folder / "elsewhere" / "lifeboat")

    # Commands ---------------------------------------------------------------------------------------------------

    def run(self, *arguments: str | Path) -> int:
        """Run a command with text output, then with `--json`; return the exit status of the last."""
        self._run(arguments)
        return self._run((*arguments, "--json"))

    def once(self, *arguments: str | Path) -> int:
        """Run a command that cannot be repeated; return its JSON."""
        return self._run((*arguments, "--json"))

    def _run(self, arguments: tuple[str | Path, ...]) -> int:
        out, status = io.StringIO(), -1
        words = [str(argument) for argument in arguments]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                status = program.run_command(words)
            except Exception:  # LIFEBOAT_DEBUG shows where it happened
                traceback.print_exc()
        self.said.append((" ".join(words), out.getvalue()))
        return status

    # What happens -----------------------------------------------------------------------------------------------

    def rotate(self) -> None:
        """Replace the key of the provider."""
        for path in (self.state.config, self.state.workspace / "memory/2026-02-10.md"):
            path.write_text(path.read_text().replace(canary(ROTATED), rotated(ROTATED)))

    def break_config(self) -> None:
        """Write half of the configuration, ending inside a secret."""
        text = self.state.config.read_text()
        at = text.index(canary("config: slack app token")) + 20
        self.state.config.write_text(text[:at])


@contextlib.contextmanager
def machine(folder: Path, generation: str, *, runtime_fails: bool = False) -> Iterator[Story]:
    """Return a machine with an OpenClaw full of canaries, on which the command line works."""
    story = make_machine(folder, generation, runtime_fails=runtime_fails)
    with on_machine(story):
        yield story


def make_machine(folder: Path, generation: str, *, runtime_fails: bool = False) -> Story:
    """Write the files of a machine with an OpenClaw full of canaries."""
    story = Story(folder, generation)
    for made in (story.user, story.temporary, story.archives, story.seen, folder / "bin"):
        made.mkdir(parents=True)
    fake = folder / "bin" / "openclaw"
    fake.write_text(_FAKE_RUNTIME.format(record=story.seen, status=int(runtime_fails)))
    fake.chmod(0o755)
    story.state = plant(story.user / ".openclaw", generation)
    memory = story.state.workspace / "MEMORY.md"
    memory.write_text(f"{memory.read_text()}\n## Odd\n\n{PLANTED_PLACEHOLDER}\n")
    age_files(story.user)
    story.before = read_tree(story.user / ".openclaw")
    return story


@contextlib.contextmanager
def on_machine(story: Story) -> Iterator[None]:
    """Let commands and temporary files belong to the machine."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in story.environment.items():
            patch.setenv(name, value)
        patch.setattr(tempfile, "tempdir", str(story.temporary))
        yield


def protected_machine(folder: Path, generation: str) -> Story:
    """Make a machine and protect its agent."""
    story = make_machine(folder, generation)
    with on_machine(story):
        story.once("agents", "add", story.state.workspace, "--name", NAME)
    return story


def whole_life(story: Story) -> None:
    """Protect, rotate, inspect, export, import elsewhere, restore in every way, undo, thin, purge."""
    story.once("config", "set", "transcripts", "true")
    story.once("agents", "add", story.state.workspace, "--name", NAME)
    story.run("agents", "discover")
    story.run("agents", "show", NAME)
    story.rotate()
    story.run("sync")
    _look(story)
    _export(story)
    _restore(story)
    _import_elsewhere(story)
    _break(story)
    _thin(story)
    _look(story)


def _look(story: Story) -> None:
    for arguments in (
        ("status",),
        ("doctor",),
        ("timeline", NAME),
        ("diff", NAME),
        ("diff", NAME, "0", "1"),
        ("search", NAME, "tide service opens"),
        ("agents", "show", NAME),
        ("agents", "list"),
        ("config", "list"),
        ("keys", "status"),
    ):
        story.run(*arguments)
    bundle = story.archives / f"bundle-{len(list(story.archives.iterdir()))}.zip"
    story.once("doctor", "--bundle", bundle)
    _look_closely(story)


def _look_closely(story: Story) -> None:
    """Show memories individually."""
    with story.context.vault(story.agent.id) as vault:
        first = [record.id for record in vault.state().records()][:3]
    for record_id in first:
        story.run("records", "show", NAME, record_id)


def _export(story: Story) -> None:
    workspace, archives = story.state.workspace, story.archives
    whole = archives / "whole.alf"
    assert story.once("alf", "export", "openclaw", workspace, "-o", whole) == 0
    assert story.once("alf", "export", "openclaw", workspace, "-o", archives / "later.alf-delta", "--since", "0") == 0
    story.once("alf", "export", "openclaw", workspace, "-o", archives / "sealed.alf.age", "--encrypt")
    story.run("alf", "show", archives / "sealed.alf.age")
    story.run("alf", "show", whole)
    story.run("alf", "validate", whole)
    with story.context.vault(story.agent.id) as vault:
        record_id = next(iter(vault.state().records())).id
    story.once("alf", "purge", whole, "--record", record_id, "-o", archives / "purged.alf")
    story.run("alf", "diff", whole, archives / "purged.alf")


def _restore(story: Story) -> None:
    story.run("verify", NAME)
    story.once("restore", NAME, "--to", story.out / "plain")
    story.once("restore", NAME, "--to", story.out / "filled", "--with-credentials")
    installation = story.out / "installation"
    fresh = ("restore", NAME, "--to", installation / "workspace", "--state-dir", installation, "--with-credentials")
    story.run(*fresh, "--dry-run")
    story.once(*fresh, "--finish")
    story.once(*fresh, "--finish", "--yes")
    story.run("restore", NAME, "--at", "0", "--dry-run")
    story.run("restore", NAME, "--at", "0", "--dry-run", "--with-credentials")
    story.once("restore", NAME, "--at", "0", "--with-credentials", "--finish", "--yes")
    story.once("undo", NAME, "--force")
    story.once("restore", NAME, "--at", "0", "--yes")
    story.once("undo", NAME, "--force")


def _import_elsewhere(story: Story) -> None:
    """Import on another machine of the same user: the same keys, another home."""
    elsewhere = story.folder / "elsewhere"
    keys = elsewhere / "lifeboat" / "keys"
    (elsewhere / "lifeboat").mkdir(parents=True, mode=0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIFEBOAT_HOME", str(elsewhere / "lifeboat"))
        patch.setenv("HOME", str(elsewhere / "user"))
        Context.open()
        shutil.copytree(story.home / "keys", keys, dirs_exist_ok=True)
        whole = story.archives / "whole.alf"
        story.run("alf", "import", whole, "--to", elsewhere / "ada", "--accept-unsigned", "--dry-run")
        story.once("alf", "import", whole, "--to", elsewhere / "ada", "--accept-unsigned")
        story.once("alf", "import", whole, "--to", elsewhere / "two", "--accept-unsigned", "--with-credentials")
        story.run("status")


def _break(story: Story) -> None:
    """Leave a half-written configuration, damaged stores, and commands that fail with tracebacks."""
    whole = story.state.config.read_text()
    story.break_config()
    _fail(story)
    story.state.config.write_text(whole)
    databases = [path for path in (story.state.state_database, story.state.agent_database()) if path.exists()]
    for path in databases:
        good = path.read_bytes()
        path.write_bytes(good[:100] + b"\0" * 200 + good[300:])
        _fail(story)
        path.write_bytes(good)
    story.run("sync")


def _fail(story: Story) -> None:
    for debug in ("", "1"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LIFEBOAT_DEBUG", debug)
            for arguments in (("sync",), ("status",), ("doctor",), ("restore", NAME, "--at", "0", "--dry-run")):
                story.run(*arguments)
            story.run("restore", NAME, "--at", "99")
            story.run("alf", "validate", story.state.config)
            story.run("alf", "show", story.state.folder / ".env")


def _thin(story: Story) -> None:
    """Add history, and thin all of it that may be thinned."""
    note = story.state.workspace / "memory/2026-02-12.md"
    for day in range(3):
        note.write_text(f"# 2026-02-12\n\nDay {day}: the key is still {canary('.env: bare')}.\n")
        capture_agent(story.context, story.agent)
    with story.context.vault(story.agent.id) as vault:
        assert vault.thin(Retention(all_hours=0, hourly_days=0, daily_days=0), story.context.clock.now()).dropped


def kept_bodies(story: Story) -> Iterator[tuple[str, bytes]]:
    """Yield every file and record of every kept sequence: what patches in the vault unfold to."""
    context = story.context
    for one in known_agents.list_agents(context):
        with context.vault(one.id) as vault:
            for row in vault.sequences():
                state = vault.state(row.number)
                for entry in state.entries():
                    with contextlib.suppress(Exception):
                        yield f"{one.name} {row.number} {entry.path}", state.body(entry.path)
                for record in state.records():
                    yield f"{one.name} {row.number} record {record.id}", record.line


def told(leaks: list[Leak]) -> str:
    """Return which secrets were found where, each once."""
    return "\n".join(sorted({f"{leak.place}: {leak.spelling}, in {leak.where}" for leak in leaks}))
