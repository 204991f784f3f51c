"""Situations in which a command fails and names a command as its fix."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_record
from support.adapters import openclaw_workspaces
from support.cli.cli_client import run


@dataclass
class FixWorld:
    """A user's home with OpenClaw and one protected agent, `ada`, in its workspace. `answers` are what a user fills in
    for a word in capitals of a fix."""

    home: Path
    answers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        state = openclaw_workspaces.make_state_dir(self.home / ".openclaw")
        self.workspace = state.workspace
        self.rover = state.workspaces["rover"]
        run("agents", "add", self.workspace, "--name", "ada")
        self.answers |= {
            "FOLDER": str(self.home / "answered"),
            "NEW-FOLDER": str(self.home / "answered"),
            "FOLDER-ELSEWHERE": str(self.home / "answered"),
            "URL": self.folder("disk").as_uri(),
            "WORDS": "ink",
            "RUNTIME": "openclaw",
            "SNAPSHOT": str(self.home / "before.alf"),
            "NEW": str(self.home / "new.alf"),
            "FILE": str(self.home / "answered.file"),
            "AGENT": "ada",
        }

    def folder(self, name: str, **files: str) -> Path:
        """Make a folder with these files."""
        path = self.home / name
        path.mkdir(parents=True, exist_ok=True)
        for each, text in files.items():
            self.file(f"{name}/{each.replace('__', '.')}", text)
        return path

    def file(self, name: str, text: str = "x\n") -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def change(self, text: str = "Buy ink.") -> None:
        with (self.workspace / "MEMORY.md").open("a") as file:
            file.write(f"\n## Later\n\n{text}\n")

    def export(self, name: str = "ada.alf", *more: str) -> Path:
        path = self.home / name
        run("alf", "export", "openclaw", self.workspace, "-o", path, *more)
        return path

    def delta(self) -> Path:
        self.export("before.alf")
        self.change()
        return self.export("changes.alf-delta", "--since", "0")

    def foreign(self, fill: Callable[[MemoryState], object]) -> Path:
        """Write an archive that no key of this home signed."""
        state, path = MemoryState(agent_id="019a0000-0000-7000-8000-0000000000f1"), self.home / "foreign.alf"
        fill(state)
        with path.open("wb") as out:
            write_snapshot(state, out)
        return path

    def remote(self) -> Path:
        disk = self.folder("disk")
        run("remote", "add", "disk", disk.as_uri())
        return disk


@dataclass(frozen=True)
class FixScenario:
    """`prepare` makes the situation and returns the command that fails with `code`. `act` is what the message asks for
    before the fix, such as mounting a disk."""

    code: str
    prepare: Callable[[FixWorld], list[str | Path]]
    act: Callable[[FixWorld], object] = lambda world: None


def _export_twice(world: FixWorld) -> list[str | Path]:
    path = world.export()
    return ["alf", "export", "openclaw", world.workspace, "-o", path]


def _export_unchanged(world: FixWorld) -> list[str | Path]:
    return ["alf", "export", "openclaw", world.workspace, "--since", "0", "-o", world.home / "d.alf-delta"]


def _changed_since(world: FixWorld) -> list[str | Path]:
    world.change()
    run("sync")
    world.change("Not captured.")
    return ["restore", "ada", "--at", "0"]


def _over_other_files(world: FixWorld) -> list[str | Path]:
    return ["restore", "ada", "--to", world.folder("other", MEMORY__md="mine\n")]


def _accept_lost(world: FixWorld) -> list[str | Path]:
    shutil.rmtree(world.workspace)
    run("sync", expect=1)
    return ["agents", "accept", "ada"]


def _import_runtime_home_only(world: FixWorld) -> list[str | Path]:
    path = world.foreign(lambda state: state.put("raw/openclaw-home/openclaw.json", b"{}"))
    return ["alf", "import", path, "--to", world.home / "alone"]


def _import_unsigned(world: FixWorld) -> list[str | Path]:
    path = world.foreign(lambda state: state.add(make_record("Sails.", memory_type="semantic")))
    return ["alf", "import", path, "--to", world.home / "bare", "--runtime", "openclaw"]


def _import_newer_format(world: FixWorld) -> list[str | Path]:
    path = world.home / "newer.alf"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("manifest.json", json.dumps({"alf_version": "9.0.0"}))
    return ["alf", "import", path, "--to", world.home / "new"]


def _apply_wrong_order(world: FixWorld) -> list[str | Path]:
    delta, later = world.delta(), world.export()
    world.answers["FOLDER"] = str(world.workspace)
    return ["alf", "apply", later, delta, "-o", world.home / "whole.alf"]


def _remote_taken(world: FixWorld) -> list[str | Path]:
    world.remote()
    return ["remote", "add", "disk", world.folder("another").as_uri()]


def _remote_twice(world: FixWorld) -> list[str | Path]:
    return ["remote", "add", "again", world.remote().as_uri()]


def _remote_gone(world: FixWorld) -> list[str | Path]:
    disk = world.remote()
    run("sync")
    os.rename(disk, world.home / "unplugged")
    return ["remote", "test", "disk"]


def _convert_lossy(world: FixWorld) -> list[str | Path]:
    return ["alf", "convert", "agent:ada", "--to", "aimem", "-o", world.home / "ada.aimem.json"]


def _prove_without_terminal(world: FixWorld) -> list[str | Path]:
    run("keys", "init", "--words-to", world.answers["FILE"])
    return ["keys", "prove"]


def _soul_alone(world: FixWorld) -> list[str | Path]:
    return ["agents", "add", world.folder("soul", SOUL__md="# Soul\n")]


def _add_nested(world: FixWorld) -> list[str | Path]:
    return ["agents", "add", world.folder(f"{world.workspace.relative_to(world.home)}/inner", SOUL__md="# x\n")]


def _state_directory(world: FixWorld) -> list[str | Path]:
    return ["agents", "add", openclaw_workspaces.make_state_dir(world.home / "bob/.openclaw").folder]


def _git_repository(world: FixWorld) -> list[str | Path]:
    return ["agents", "add", world.folder("code/.git", HEAD="ref: refs/heads/main\n").parent]


def _letta_home(world: FixWorld) -> list[str | Path]:
    return ["agents", "add", world.folder(".letta", AGENTS__md="x")]


def _other_runtime(*words: str) -> Callable[[FixWorld], list[str | Path]]:
    return lambda world: [*words[:2], *words[2:3], world.workspace, *words[3:], "-o", world.home / "x.alf"]


def _convert_secret(world: FixWorld) -> list[object]:
    world.change("Pay with sk-ant-api03-Qm3vX8rT1yZ6wP0cK5hB9nD4gJ7sL2fE at the office.")
    run("sync")
    return ["alf", "convert", "agent:ada", "--to", "aicf", "-o", world.home / "ada.aicf", "--yes"]


def _convert_for(option: str, value: str) -> Callable[[FixWorld], list[object]]:
    return lambda world: [
        *("alf", "convert", "agent:ada", "--to", "aimem", "-o", world.home / "ada.aimem.json", "--yes"),
        *(option, value),
    ]


SCENARIOS: dict[str, FixScenario] = {
    "an unknown agent": FixScenario("unknown_agent", lambda world: ["sync", "bea"]),
    "a mistyped agent": FixScenario("unknown_agent", lambda world: ["timeline", "adda"]),
    "the log of an unknown agent": FixScenario("unknown_agent", lambda world: ["log", "bea"]),
    "an unknown sequence": FixScenario("unknown_sequence", lambda world: ["diff", "ada", "0", "9"]),
    "a restore of an unknown sequence": FixScenario("unknown_sequence", lambda world: ["restore", "ada", "--at", "9"]),
    "a restore of no time": FixScenario("bad_moment", lambda world: ["restore", "ada", "--at", "tomorow"]),
    "a restore over other files": FixScenario("consent_needed", _over_other_files),
    "a restore into the root": FixScenario("target_refused", lambda world: ["restore", "ada", "--to", "/"]),
    "a restore into a home": FixScenario("target_refused", lambda world: ["restore", "ada", "--to", world.home]),
    "a restore from no remote": FixScenario("unknown_remote", lambda world: ["restore", "ada", "--from", "disk"]),
    "an undo of nothing": FixScenario("nothing_to_undo", lambda world: ["undo", "ada"]),
    "a missing folder": FixScenario("workspace_refused", lambda world: ["agents", "add", world.home / "no/where"]),
    "a mistyped folder": FixScenario("workspace_refused", lambda world: ["agents", "add", f"{world.rover}x"]),
    "an empty folder": FixScenario("not_a_workspace", lambda world: ["agents", "add", world.folder("empty")]),
    "a state directory": FixScenario("not_a_workspace", _state_directory),
    "a folder with a protected agent": FixScenario(
        "already_protected", lambda world: ["agents", "add", world.home / ".openclaw"]
    ),
    "a home folder": FixScenario("workspace_refused", lambda world: ["agents", "add", world.home]),
    "a git repository": FixScenario("not_a_workspace", _git_repository),
    "a SOUL.md alone": FixScenario("not_a_workspace", _soul_alone),
    "a foreign home": FixScenario("foreign_workspace", _letta_home),
    "an archive as a folder": FixScenario("workspace_refused", lambda world: ["agents", "add", world.export()]),
    "a file as a folder": FixScenario("workspace_refused", lambda world: ["agents", "add", world.rover / "SOUL.md"]),
    "a protected folder": FixScenario("already_protected", lambda world: ["agents", "add", world.workspace]),
    "a folder in a workspace": FixScenario("already_protected", _add_nested),
    "another runtime": FixScenario(
        "other_runtime", lambda world: ["agents", "add", world.rover, "--runtime", "zeroclaw"]
    ),
    "an agent of an unknown remote": FixScenario(
        "unknown_remote", lambda world: ["agents", "add", world.rover, "--as", "ada", "--from", "disk"]
    ),
    "an export as another runtime": FixScenario("other_runtime", _other_runtime("alf", "export", "zeroclaw")),
    "an export of an empty folder": FixScenario(
        "not_a_workspace",
        lambda world: ["alf", "export", "openclaw", world.folder("empty"), "-o", world.home / "x.alf"],
    ),
    "an export of a delta without a history": FixScenario(
        "exchange",
        lambda world: ["alf", "export", "openclaw", world.rover, "--since", "0", "-o", world.home / "x.alf-delta"],
    ),
    "an export of no change": FixScenario("nothing_to_export", _export_unchanged),
    "an export over a file": FixScenario("file_exists", _export_twice),
    "an import of a delta": FixScenario(
        "exchange", lambda world: ["alf", "import", world.delta(), "--to", world.home / "new"]
    ),
    "an import into a workspace": FixScenario(
        "already_protected", lambda world: ["alf", "import", world.export(), "--to", world.workspace]
    ),
    "an import of an unsigned archive": FixScenario("unsigned", _import_unsigned),
    "an import without runtime files": FixScenario("nothing_to_restore", _import_runtime_home_only),
    "an import of text": FixScenario(
        "not_an_archive", lambda world: ["alf", "import", world.file("x.alf"), "--to", world.home / "new"]
    ),
    "an import of a newer archive": FixScenario("unsupported_version", _import_newer_format),
    "a delta on the wrong snapshot": FixScenario("base_mismatch", _apply_wrong_order),
    "a lossy conversion": FixScenario("would_lose", _convert_lossy),
    "a conversion with a secret": FixScenario("secrets_found", _convert_secret),
    "a conversion for a wrong producer": FixScenario("", _convert_for("--producer", "No One")),
    "a conversion of an unknown file": FixScenario(
        "unknown_format",
        lambda world: ["alf", "convert", world.file("x.txt"), "--to", "alf", "-o", world.home / "x.alf"],
    ),
    "a name that is taken": FixScenario("name_refused", lambda world: ["agents", "rename", "ada", " "]),
    "a move to an empty folder": FixScenario(
        "not_a_workspace", lambda world: ["agents", "move", "ada", world.folder("empty")]
    ),
    "a removal without consent": FixScenario("consent_needed", lambda world: ["agents", "remove", "ada"]),
    "a cut of an unknown file": FixScenario("unknown_path", lambda world: ["agents", "cut", "ada", "no.md"]),
    "a lost workspace that is accepted": FixScenario("workspace_refused", _accept_lost),
    "a hook without a runtime": FixScenario("no_hook", lambda world: ["agents", "hook", "ada"]),
    "an adoption without a remote": FixScenario("", lambda world: ["agents", "adopt", "ada"]),
    "an unknown remote": FixScenario("unknown_remote", lambda world: ["remote", "test", "disk"]),
    "a remote name that is taken": FixScenario("", _remote_taken),
    "a remote folder that is taken": FixScenario("remote_exists", _remote_twice),
    "a remote folder that is unplugged": FixScenario(
        "", _remote_gone, act=lambda world: os.rename(world.home / "unplugged", world.home / "disk")
    ),
    "a remote of an unknown kind": FixScenario("", lambda world: ["remote", "add", "disk", "gopher://example.com/x"]),
    "an unknown setting": FixScenario("unknown_setting", lambda world: ["config", "set", "capture.quite", "5s"]),
    "a bad setting": FixScenario("bad_setting", lambda world: ["config", "set", "capture.quiet", "soon"]),
    "a purge of nothing": FixScenario(
        "", lambda world: ["purge", "ada", "--record", "019a0000-0000-7000-8000-0000000000f2"]
    ),
    "an unknown receipt": FixScenario("unknown_receipt", lambda world: ["receipts", "show", "nothing"]),
    "an unknown memory": FixScenario("unknown_record", lambda world: ["records", "show", "ada", "nothing"]),
    "a bad label": FixScenario("bad_label", lambda world: ["label", "ada", "0", " "]),
    "words without a terminal": FixScenario("nobody_to_ask", lambda world: ["keys", "init"]),
    "a proof without a terminal": FixScenario("nobody_to_ask", _prove_without_terminal),
    "a mistyped subcommand": FixScenario("usage", lambda world: ["daemon", "logs"]),
    "an unknown command": FixScenario("usage", lambda world: ["synk"]),
    "a missing argument": FixScenario("usage", lambda world: ["agents", "rename"]),
}
