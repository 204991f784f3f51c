"""Find what tools of this machine would execute or obey once an unsigned state is restored."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from lifeboat_alf.states.agent_state import State
from lifeboat_core.restore.wanted_contents import FILE, LINK, WantedContents, WantedFile
from lifeboat_core.texts.readable_json import make_printable

_SCRIPT_FOLDERS = frozenset({"hooks", "skills", "scripts", "bin", "extensions", "plugins"})
_SCRIPT_ENDINGS = frozenset(
    (
        *(".sh", ".bash", ".zsh", ".fish", ".csh", ".nu", ".py", ".pyw", ".pth", ".js", ".mjs", ".cjs", ".ts", ".mts"),
        *(".cts", ".rb", ".pl", ".php", ".lua", ".tcl", ".awk", ".r", ".jl", ".el", ".vim", ".ps1", ".psm1", ".bat"),
        *(".cmd", ".vbs", ".exe", ".com", ".msi", ".jar", ".so", ".dll", ".dylib", ".wasm", ".reg", ".lnk", ".url"),
        *(".desktop", ".service", ".timer", ".plist", ".command", ".scpt", ".applescript", ".workflow"),
    )
)
_INSTRUCTIONS = "instructions that an agent follows"
_EDITOR = "an editor may run this file or read settings from it"
_BUILD = "a build tool or a package manager may run this file"
_FILES: dict[str, str] = {
    "direnv runs this file": ".envrc",
    "environment variables for programs": ".env .env.*",
    "a list of programs that an agent starts": ".mcp.json mcp.json mcp_config.json",
    "a list of files that Lifeboat does not capture": ".lifeboatignore",
    "a skill that an agent follows": "skill.md",
    "a skill that can contain commands": "skill.toml",
    "a procedure that can start by itself": "sop.toml",
    "a procedure whose steps can run commands": "sop.md",
    "instructions that an agent follows repeatedly": "heartbeat.md",
    "instructions that an agent follows at its start": "boot.md bootstrap.md",
    _INSTRUCTIONS: "agents.md agent.md agents.override.md claude.md claude.local.md gemini.md soul.md tools.md "
    ".cursorrules .windsurfrules .clinerules .goosehints copilot-instructions.md",
    "a shell runs this file when it starts": ".bashrc .bash_* .profile .zshrc .zshenv .zprofile .zlogin .kshrc "
    ".cshrc .tcshrc .inputrc config.fish",
    _EDITOR: ".vimrc .exrc .gvimrc .nvimrc .nvim.lua .lvimrc .dir-locals.el .emacs .editorconfig *.code-workspace "
    "*.sublime-project",
    "Git reads settings from this file": ".gitmodules .gitattributes .gitconfig .gitignore .hgrc",
    _BUILD: "makefile gnumakefile *.mk justfile .justfile taskfile.y*ml rakefile gemfile vagrantfile dockerfile* "
    "containerfile* docker-compose*.y*ml compose*.y*ml cmakelists.txt build.gradle* pom.xml package.json .npmrc "
    ".yarnrc* pnpmfile.* .pnpmfile.* bunfig.toml pyproject.toml setup.cfg tox.ini pytest.ini pip.conf cargo.toml "
    "go.mod requirements*.txt deno.json* composer.json flake.nix shell.nix .pre-commit-config.y*ml lefthook.y*ml "
    ".huskyrc* .lintstagedrc* .gitlab-ci.yml jenkinsfile* .travis.yml azure-pipelines.yml",
    "a version manager reads settings from this file": ".tool-versions mise.toml .mise.toml .python-version",
    "scheduled work": "crontab *.cron",
    "programs log in with data from this file": ".netrc .pypirc",
    "a debugger runs this file": ".pdbrc .gdbinit .lldbinit",
}
"""Which tool runs or obeys a file, and the globs of such files in lower case."""
_FOLDERS: dict[str, str] = {
    ".claude": "Claude Code may run this file or read settings from it",
    ".codex": "Codex CLI may run this file or read settings from it",
    ".gemini": "Gemini CLI may run this file or read settings from it",
    ".opencode": "opencode may run this file or read settings from it",
    ".cursor": "Cursor may run this file or read settings from it",
    ".windsurf": "an editor may run this file or read settings from it",
    ".clinerules": _INSTRUCTIONS,
    ".agents": _INSTRUCTIONS,
    ".openclaw": "the runtime reads settings from this file",
    ".vscode": "VS Code may run this file or read settings from it",
    ".idea": "an IDE may run this file or read settings from it",
    ".zed": _EDITOR,
    ".nvim": _EDITOR,
    ".devcontainer": "a container is started with settings from this file",
    ".direnv": "direnv runs this file",
    ".github": "GitHub may run this file or read settings from it",
    ".gitlab": "GitLab may run this file or read settings from it",
    ".forgejo": "Forgejo may run this file or read settings from it",
    ".gitea": "Gitea may run this file or read settings from it",
    ".circleci": "a build service may run this file",
    ".husky": "a hook that Git runs",
    ".githooks": "a hook that Git runs",
    ".cargo": _BUILD,
    ".mvn": _BUILD,
    ".ssh": "SSH reads settings from this file",
    ".gnupg": "GnuPG reads settings from this file",
    ".config": "programs read settings from this file",
    ".local": "programs may run this file or read settings from it",
    "cron": "scheduled work",
    "cron.d": "scheduled work",
    "skills": "part of a skill",
    "hooks": "a hook",
    "systemd": "a service",
    "launchagents": "a service",
    "autostart": "the desktop starts this program at login",
}
"""Folders in lower case whose files are all run or obeyed, and by what."""
_TABLES_THAT_RUN = ("cron", "hook", "mcp", "intent")


class Hazard(NamedTuple):
    """A file that some tool runs or obeys. `wanted` is None for a row or a file of the state directory."""

    name: str
    reason: str
    wanted: WantedFile | None = None

    @property
    def line(self) -> str:
        return f"{make_printable(self.name)}: {self.reason}"


def find_hazards(state: State, contents: WantedContents) -> list[Hazard]:
    """Return scripts, hooks, files that can name commands, instructions and scheduled work, each with the reason."""
    repositories = _repositories(contents.workspace)
    found = [
        Hazard(item.name, reason, item)
        for item in contents.workspace.values()
        if (reason := _reason(state, item, repositories))
    ]
    settings = "the runtime's configuration (MCP servers, hooks, tools, jobs, addresses of requests)"
    found += [Hazard(item.name, settings) for item in contents.home.values()]
    found += [Hazard(row.path, "scheduled work") for row in contents.rows if _runs(row.path)]
    return found


def _runs(path: str) -> bool:
    return any(word in path.rpartition("/")[2] for word in _TABLES_THAT_RUN)


def _reason(state: State, item: WantedFile, repositories: Collection[str]) -> str:
    if item.kind not in (FILE, LINK):
        return ""
    named = _by_name(item.name) or _in_repository(item.name, repositories)
    if item.kind == LINK:
        return named and f"{named} (a link)"
    if item.meta.get("executable"):
        return "the file has execute permission"
    folders, ending = item.name.casefold().split("/")[:-1], os.path.splitext(item.name)[1].lower()
    if ending in _SCRIPT_ENDINGS:
        return "a script"
    if named:
        return named
    if not _SCRIPT_FOLDERS.isdisjoint(folders) and not ending:
        return "a script"
    return "the file begins like a script" if read_beginning(state, item, 2) == b"#!" else ""


def _by_name(name: str) -> str:
    *folders, last = name.casefold().split("/")
    by_file = next((why for why, globs in _FILES.items() if any(fnmatchcase(last, g) for g in globs.split())), "")
    return by_file or next((_FOLDERS[folder] for folder in folders if folder in _FOLDERS), "")


def _repositories(names: Iterable[str]) -> frozenset[str]:
    """Return the folders, in lower case, that Git may take for repositories: those with a file HEAD."""
    parts = (name.casefold().rpartition("/") for name in names)
    return frozenset(folder for folder, _, last in parts if last == "head")


def _in_repository(name: str, repositories: Collection[str]) -> str:
    """Return the reason for a Git configuration: Git runs the commands in it, and `commondir` names the folder with
    it."""
    folder, _, last = name.casefold().rpartition("/")
    is_one = last in ("config", "config.worktree", "commondir") and folder in repositories
    return "configuration of a Git repository: Git runs the commands in it" if is_one else ""


def read_beginning(state: State, item: WantedFile, count: int) -> bytes:
    """Return the first bytes of a wanted file."""
    if item.data is not None or item.entry is None:
        return (item.data or b"")[:count]
    return state.body(item.entry.path)[:count]
