#!/usr/bin/env python3
"""Move the packages of a clean checkout into the new layout: python3 move.py [CHECKOUT] [--commit-moves].

Plain Python, standard library only; uses `git mv`, and `.venv/bin/ruff` of the checkout to sort imports and format.
Nothing is committed, but with --commit-moves the moves alone, before the texts are changed. Everything that decides a place stands in the tables at the top.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Tables ===============================================================================================================

PACKAGES = {  # folder: package, in the order in which they are listed everywhere
    "alf": "lifeboat_alf",
    "keys": "lifeboat_keys",
    "vault": "lifeboat_vault",
    "adapters": "lifeboat_adapters",
    "formats": "lifeboat_formats",
    "core": "lifeboat_core",
    "daemon": "lifeboat_daemon",
    "cli": "lifeboat_cli",
    "endpoint": "lifeboat_endpoint",
    "tui": "lifeboat_tui",
}
OLD_FOLDERS = ("alf", "keys", "adapters", "endpoint", "daemon", "tui")

CORE = {  # folder of lifeboat_core: loose modules of today's lifeboat_daemon
    "agents": "agent agents kept leftovers live_files locks lost_agents name_conflicts offers session_hooks syncing withheld",
    "capture": "cut_looks seen",
    "health": "status schedule.awake health.wakefulness",
    "history": "activity differences labels retention room timeline",
    "home": "context folder_names home key_rotation recovery user_keys",
    "machine": "clock_trust folder_addresses runtime_folder schedule.conditions",
    "memories": "history_search record_details record_listing records search",
    "network": "http http_addresses http_certificates http_session",
    "processes": "held_back interpreter programs progress release",
    "settings": "config settings schedule.crontab",
    "state": "state_cache state_db state_documents control.last_status",
    "texts": "misplaced_words readable_json safe_text words",
    "verify": "healing verification verification_rows",
}
DAEMON = {  # folder of lifeboat_daemon: modules of today's lifeboat_daemon
    "control": "activity_following json_lines poke",
    "service": "lifecycle log_reading logs",
    "notices": "health.metrics health.notices health.notifiers health.ping",
}
CLI = {  # folder of lifeboat_cli: modules of today's lifeboat_daemon.cli
    "agents": "agents agents_adopt agents_cut agents_hook agents_take_up",
    "archives": "alf alf_convert alf_import encryption",
    "commands": "completion config daemon demo doctor findings service sync tui",
    "endpoint": "endpoint_audit endpoint_care endpoint_doctor endpoint_joining endpoint_keys endpoint_migrate "
    "endpoint_prepare endpoint_purges endpoint_serve endpoint_session endpoint_tenants endpoint_tokens endpoint_work",
    "history": "history log receipts records",
    "keys": "key_rotation key_texts key_words keys passphrases",
    "purge": "purge purge_receipt_texts purge_receipts purge_terms purge_text",
    "remote": "remote remote_test",
    "restore": "quarantine_view restore restore_from",
    "setup": "setup setup_asking setup_from_alf setup_protect setup_remote setup_return setup_steps",
    "status": "status status_look status_text status_watch",
    "terminal": "command_again examples lazy naming output private_texts progress_bar session table word_screen",
}


def _of(folders: dict[str, str], old: str, new: str) -> dict[str, str]:
    """`a.b` in a folder `f` becomes `new.f.b`."""
    return {
        f"{old}.{name}": f"{new}.{folder}.{name.rpartition('.')[2]}"
        for folder, names in folders.items()
        for name in names.split()
    }


MODULES = {  # dotted name of today: new dotted name. The longest entry that fits counts.
    "lifeboat_alf": "lifeboat_alf",
    "lifeboat_keys": "lifeboat_keys",
    "lifeboat_tui": "lifeboat_tui",
    # adapters
    "lifeboat_adapters": "lifeboat_adapters",
    "lifeboat_adapters.aicf": "lifeboat_formats.aicf",
    "lifeboat_adapters.aimem": "lifeboat_formats.aimem",
    "lifeboat_adapters.aionforge": "lifeboat_formats.aionforge",
    "lifeboat_adapters.interchange": "lifeboat_formats.interchange",
    # endpoint
    "lifeboat_endpoint": "lifeboat_endpoint",
    "lifeboat_endpoint.at_rest": "lifeboat_vault.at_rest",
    "lifeboat_endpoint.errors": "lifeboat_vault.errors",
    "lifeboat_endpoint.legacy": "lifeboat_vault.legacy",
    "lifeboat_endpoint.operations": "lifeboat_vault.operations",
    "lifeboat_endpoint.remote": "lifeboat_vault.remote",
    "lifeboat_endpoint.remote.in_process": "lifeboat_endpoint.service.in_process",
    "lifeboat_endpoint.store": "lifeboat_vault.store",
    "lifeboat_endpoint.store.objects": "lifeboat_endpoint.engines.objects",
    "lifeboat_endpoint.store.postgres": "lifeboat_endpoint.engines.postgres",
    "lifeboat_endpoint.testing": "lifeboat_vault.testing",
    "lifeboat_endpoint.vault": "lifeboat_vault.vault",
    "lifeboat_endpoint.preparing": "lifeboat_endpoint.engines.preparing",
    # daemon: what is not named below belongs to the core, under the name that it has
    "lifeboat_daemon": "lifeboat_core",
    **_of(CORE, "lifeboat_daemon", "lifeboat_core"),
    **{f"lifeboat_daemon.{name}": f"lifeboat_daemon.{name}" for name in "control schedule service units watch work".split()},
    **_of(DAEMON, "lifeboat_daemon", "lifeboat_daemon"),
    "lifeboat_daemon.schedule.awake": "lifeboat_core.health.awake",
    "lifeboat_daemon.schedule.conditions": "lifeboat_core.machine.conditions",
    "lifeboat_daemon.schedule.crontab": "lifeboat_core.settings.crontab",
    "lifeboat_daemon.control.last_status": "lifeboat_core.state.last_status",
    "lifeboat_daemon.purge.receipt_document": "lifeboat_keys.receipt_document",
    # command line
    "lifeboat_daemon.cli": "lifeboat_cli",
    "lifeboat_daemon.command_server": "lifeboat_cli.command_server",
    "lifeboat_daemon.demo": "lifeboat_cli.demo",
    "lifeboat_daemon.doctor": "lifeboat_cli.doctor",
    "lifeboat_daemon.recall": "lifeboat_cli.history.recall",
    "lifeboat_daemon.remotes.kit": "lifeboat_cli.keys.kit",
    "lifeboat_daemon.remotes.support_details": "lifeboat_cli.support.support_details",
    "lifeboat_daemon.running_versions": "lifeboat_cli.support.running_versions",
    "lifeboat_daemon.support_bundle": "lifeboat_cli.support.support_bundle",
    **_of(CLI, "lifeboat_daemon.cli", "lifeboat_cli"),
}
KEPT_PACKAGES = {"lifeboat_daemon": "lifeboat_daemon"}
"""Packages whose `__init__.py` stays, although what is not named in them goes elsewhere."""

PACKAGE_TEXTS = {  # new `__init__.py` files, and the docstrings of those that say what they no longer hold
    "lifeboat_vault": "The vault of an agent, what it is stored in, and the contract of every remote.",
    "lifeboat_formats": "Formats of other memory systems: AIMEM Bundle, AICF, Aionforge Memory.",
    "lifeboat_core": "Everything that Lifeboat does with agents: capture, restore, purge, replicate, verify, search.",
    "lifeboat_core.agents": "Agents of this machine: their description, their locks, and what a user does with them.",
    "lifeboat_core.history": "The kept sequences of an agent: timeline, differences, labels, retention.",
    "lifeboat_core.home": "The home of a user, and what a command opens from it.",
    "lifeboat_core.machine": "This machine: power, network, clock and folders.",
    "lifeboat_core.memories": "Single memories of an agent: list, search, change.",
    "lifeboat_core.network": "Requests over HTTP to addresses that the user named.",
    "lifeboat_core.processes": "Programs that Lifeboat starts, and its own process.",
    "lifeboat_core.settings": "The settings of a home: table, file, parsers.",
    "lifeboat_core.state": "Caches and documents under `state/` of the home.",
    "lifeboat_core.texts": "Texts for people: numbers, times, names that are safe on a terminal.",
    "lifeboat_core.verify": "Read back and check what is kept.",
    "lifeboat_daemon": "The daemon: it watches, schedules, answers its socket and starts workers.",
    "lifeboat_daemon.notices": "How users and monitoring hear from the daemon: notifiers, metrics, pings.",
    "lifeboat_cli.agents": "`lifeboat agents`.",
    "lifeboat_cli.archives": "`lifeboat alf`: archives and other formats in and out.",
    "lifeboat_cli.commands": "Commands of one module each.",
    "lifeboat_cli.history": "Commands that show what is kept: timeline, diff, search, records, log.",
    "lifeboat_cli.keys": "`lifeboat keys`.",
    "lifeboat_cli.purge": "`lifeboat purge` and `lifeboat receipts`.",
    "lifeboat_cli.remote": "`lifeboat remote`.",
    "lifeboat_cli.restore": "`lifeboat restore`, `lifeboat undo` and `lifeboat verify`.",
    "lifeboat_cli.setup": "`lifeboat setup`.",
    "lifeboat_cli.status": "`lifeboat status`.",
    "lifeboat_cli.support": "What a report of a fault holds: versions and the support bundle.",
    "lifeboat_cli.terminal": "What every command uses: its session, output, tables, questions.",
    "lifeboat_endpoint": "An endpoint: tenants, engines, HTTP, workers, maintenance.",
}

TEST_FOLDERS = {  # path of a test or helper of today: new path. The longest entry that fits counts.
    "tests/daemon": "tests/core",
    "tests/endpoint/key_sources": "tests/vault/key_sources",
    "tests/endpoint/remote": "tests/vault/remote",
    "tests/endpoint/store": "tests/endpoint/engines",
    "tests/endpoint/conftest.py": "tests/vault/conftest.py",
    "tests/interchange": "tests/formats",
    "tests/support/daemon": "tests/support/core",
    "tests/support/interchange": "tests/support/formats",
    "tests/support/daemon/work_operations": "tests/support/daemon/work_operations",
}
TEST_NAMES = {  # old folder: {new folder: beginnings of the names of test modules, or regular expressions for all of it}
    "tests/daemon": {
        "tests/cli": "cli_ command_server doctor_ support_bundle running_versions left_out_exits watch_doctor",
        "tests/daemon": "control_ health_metrics health_notices health_notifiers log_narrowing logs "
        "schedule_cadence schedule_gaps schedule_timers service units watch_ work_ worker",
    },
    "tests/endpoint": {
        "tests/vault": "changes commit countersigning data_keys faults held_keys key_sources legacy_ migrations purge_seeds "
        "redacting remote_conformance resealing retention sealed_vault sealer stores thinning vault verification versions",
    },
    "tests/support/daemon": {
        "tests/support/cli": "cli_client command_program commands",
        "tests/support/daemon": "control_servers fake_systemctl inside offices serving watching work_program",
    },
    "tests/support/endpoint": {
        "tests/support/vault": "vaults redacted_vaults fake_kms fake_transit key_places",
    },
}
SLOW_OF_SUPPORT = {"tests/support/core": "tests/support/daemon", "tests/support/cli": "tests/support/daemon",
                   "tests/support/vault": "tests/support/endpoint"}
"""New folders of helpers in the file of lanes: they affect what the folder of today does."""

UNTOUCHED = ("CHANGELOG.md", "LICENSE", "tests/support/endpoint/kept_homes/", "tests/support/alf/schemas/", "docs/screenshots/")
TEXT = {".py", ".md", ".toml", ".rb", ".service", ".sql", ".yaml", ".cfg", ".json", ".js", ".txt", ".sh", ""}

EDITS: list[tuple[str, str, str]] = [  # (new path, old text, new text) after everything else; a miss is reported
    # Tests that list packages: what was one package is two.
    (
        "tests/core/test_health_standing.py",
        """in {'lifeboat_endpoint', 'lifeboat_keys',"
        " 'lifeboat_adapters',""",
        """in {'lifeboat_vault', 'lifeboat_keys',"
        " 'lifeboat_endpoint', 'lifeboat_formats', 'lifeboat_adapters',"
        \"""",
    ),
    (
        "tests/core/test_remotes_registry.py",
        """'tomlkit', 'lifeboat_endpoint', 'lifeboat_keys'}""",
        """'tomlkit', 'lifeboat_vault', 'lifeboat_keys'}""",
    ),
    (
        "tests/daemon/test_schedule_timers.py",
        """('lifeboat_adapters', 'lifeboat_keys', 'lifeboat_endpoint')""",
        """('lifeboat_formats', 'lifeboat_adapters', 'lifeboat_vault', 'lifeboat_keys', 'lifeboat_endpoint')""",
    ),
    (
        "tests/daemon/test_watch_watcher.py",
        """        "heavy = ('lifeboat_adapters', 'lifeboat_keys', 'lifeboat_endpoint', 'nacl',""",
        """        "heavy = ('lifeboat_formats', 'lifeboat_adapters', 'lifeboat_vault', 'lifeboat_keys', 'lifeboat_endpoint')\\n"
        "heavy += ('nacl',""",
    ),
    (
        "tests/daemon/test_service.py",
        """    *("lifeboat_tui", "lifeboat_adapters", "lifeboat_endpoint", "lifeboat_keys"),""",
        """    *("lifeboat_tui", "lifeboat_cli", "lifeboat_endpoint"),
    *("lifeboat_formats", "lifeboat_adapters", "lifeboat_vault", "lifeboat_keys"),""",
    ),
    (
        "tests/daemon/test_control_clients.py",
        """"click", "lifeboat_adapters"}""",
        """"click", "lifeboat_vault"}""",
    ),
    ("tests/package/test_debian.py", '"lifeboat_daemon" in path.parts', '"lifeboat_core" in path.parts'),
    (
        "tests/support/fuzz/fuzz_readers.py",
        'include=["lifeboat_alf", "lifeboat_adapters", "lifeboat_daemon.control"]',
        'include=["lifeboat_alf", "lifeboat_adapters", "lifeboat_formats", "lifeboat_daemon.control"]',
    ),
    (
        "tests/project/test_lanes.py",
        """engines/postgres/connecting.py"], ["soak", "scale", "bench"]""",
        """server/serve.py"], ["soak", "scale", "bench"]""",
    ),
    (
        "cli/lifeboat_cli/command_server/preloading.py",
        '_PACKAGES = ("lifeboat_daemon",)',
        '_PACKAGES = ("lifeboat_core", "lifeboat_daemon", "lifeboat_cli")',
    ),
    (
        "tests/core/test_locks.py",
        """        "import os, signal; from lifeboat_core.home.context import Context; from lifeboat_core.agents.locks import agent_lock\\n"
""",
        """        "import os, signal; from lifeboat_core.home.context import Context\\n"
        "from lifeboat_core.agents.locks import agent_lock\\n"
""",
    ),
    (
        "tests/formats/test_aimem_dna.py",
        '_OUTSIDE = {"lifeboat_alf", "lifeboat_adapters", "lifeboat_tui"}',
        '_OUTSIDE = {"lifeboat_alf", "lifeboat_adapters", "lifeboat_formats", "lifeboat_tui"}',
    ),
]

NEW_FILES = {
    "daemon/lifeboat_daemon/cli.py": '''"""The command line under the name that session hooks of earlier releases use."""

from __future__ import annotations

from importlib import import_module


def main() -> None:
    """Run the command line. It is found by name: the daemon does not import it."""
    import_module("lifeboat_cli").main()
''',
    "tests/daemon/test_old_hooks.py": '''"""Names of earlier releases that are written outside of this program."""

from __future__ import annotations

import subprocess
import sys

from support.patience import patience


def test_a_session_hook_of_an_earlier_release_still_starts_the_command_line() -> None:
    program = "import sys; from lifeboat_daemon.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=patience())
    assert "lifeboat" in done.stdout.lower()
''',
}

# The move =============================================================================================================


class Checkout:
    """The tree before the move: its files, its modules, and where each goes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = git(root, "ls-files").splitlines()
        self.modules = {}  # dotted name -> path, packages by their __init__.py
        self.packages = set()  # dotted names of all folders of the product
        for path in self.files:
            top, _, rest = path.partition("/")
            if top in OLD_FOLDERS and rest.startswith(f"lifeboat_{top}/"):
                parts = rest.split("/")
                self.packages |= {".".join(parts[:size]) for size in range(1, len(parts))}
                if path.endswith(".py"):
                    self.modules[dotted(rest)] = path
            elif path.startswith("tests/support/") and path.endswith(".py"):
                parts = path.removeprefix("tests/").split("/")
                self.packages |= {".".join(parts[:size]) for size in range(1, len(parts))}
                self.modules[dotted(path.removeprefix("tests/"))] = path
        self.moved = {path: self.new_path(path) for path in self.files}
        # A module that is a folder's name now is that folder's __init__.py.
        folders = {Path(path).parent.as_posix() for path in self.moved.values()}
        for path, new in self.moved.items():
            if path in self.modules.values() and new.endswith(".py") and new[:-3] in folders:
                self.moved[path] = f"{new[:-3]}/__init__.py"
        twice = [new for new, count in Counter(self.moved.values()).items() if count > 1]
        if twice:
            raise SystemExit(f"two files become one: {[(a, b) for a, b in self.moved.items() if b in twice]}")
        self.folders = self._moved_folders()

    def new_name(self, name: str) -> str:
        """The new dotted name of a module or folder of the product, or of a helper of tests."""
        if name in KEPT_PACKAGES:
            return KEPT_PACKAGES[name]
        if name.startswith("support."):
            path = self.modules.get(name)
            if path is not None:
                return dotted(test_place(path).removeprefix("tests/"))
            return test_place(f"tests/{name.replace('.', '/')}").removeprefix("tests/").replace("/", ".")
        prefix = name
        while prefix not in MODULES:
            prefix = prefix.rpartition(".")[0]
            if not prefix:
                return name
        return MODULES[prefix] + name[len(prefix) :]

    def new_path(self, path: str) -> str:
        top, _, rest = path.partition("/")
        if top in OLD_FOLDERS and rest.startswith(f"lifeboat_{top}/"):
            file = Path(rest)
            if file.suffix == ".py" and file.name != "__init__.py":
                new = self.new_name(dotted(rest)).replace(".", "/") + ".py"
            else:
                new = self.new_name(".".join(file.parts[:-1])).replace(".", "/") + "/" + file.name
            return f"{folder_of(new.split('/')[0])}/{new}"
        return test_place(path) if path.startswith("tests/") else path

    def known(self, name: str) -> str:
        """The longest beginning of a dotted name that is a module or a folder today."""
        while name and name not in self.modules and name not in self.packages:
            name = name.rpartition(".")[0]
        return name

    def _moved_folders(self) -> dict[str, str]:
        """Folders whose files all go to one folder: {old: new}."""
        found: dict[str, set[str | None]] = defaultdict(set)
        for path, new in self.moved.items():
            for parent in list(Path(path).parents)[:-1]:
                old = parent.as_posix()
                rest = path[len(old) :]
                found[old].add(new[: -len(rest)] if new.endswith(rest) else None)
        return {old: next(iter(news)) for old, news in found.items() if len(news) == 1 and None not in news}  # type: ignore[misc]


def dotted(path: str) -> str:
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def folder_of(package: str) -> str:
    return next(folder for folder, name in PACKAGES.items() if name == package)


def test_place(path: str) -> str:
    folder, _, name = path.rpartition("/")
    for new, beginnings in TEST_NAMES.get(folder, {}).items():
        stem = name.removesuffix(".py")
        if folder.startswith("tests/support"):
            if stem in beginnings.split():
                return f"{new}/{name}"
        elif name.startswith("test_") and stem.removeprefix("test_").startswith(tuple(beginnings.split())):
            return f"{new}/{name}"
    prefix = path
    while prefix not in TEST_FOLDERS:
        prefix = prefix.rpartition("/")[0]
        if not prefix:
            return path
    return TEST_FOLDERS[prefix] + path[len(prefix) :]


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True).stdout


# Text =================================================================================================================

_DOTTED = re.compile(r"(?<![\w.])(?:lifeboat_(?:alf|keys|adapters|endpoint|daemon|tui)|support)(?:\.[A-Za-z_]\w*)+(?!\w)")
_PATH = re.compile(r"(?<![\w./-])(?:tests|alf|keys|adapters|endpoint|daemon|tui)(?:/[\w.@-]+)+/?")
_INSTALLED = re.compile(r"(?<![\w./-])lifeboat_(adapters|endpoint|daemon)(?:/[\w.@-]+)+/?")


def rewrite(checkout: Checkout, path: str, text: str) -> str:
    kept: list[str] = []
    if path.endswith(".py"):
        text = re.sub(r'f"\{_HERE\}\.(\w+):(\w+)"', r'"lifeboat_daemon.cli.\1:\2"', text)
        if text.count("_HERE") == 1:
            text = re.sub(r'^_HERE = "lifeboat_daemon\.cli"\n', "", text, flags=re.MULTILINE)
        text = _imports(checkout, path, text, kept)
    text = _DOTTED.sub(lambda found: _name(checkout, found[0]), text)
    text = _PATH.sub(lambda found: _file(checkout, found[0]), text)
    text = _INSTALLED.sub(lambda found: _file(checkout, f"{found[1]}/{found[0]}").split("/", 1)[1], text)
    return re.sub("\0(\\d+)\0", lambda found: kept[int(found[1])], text)


def _name(checkout: Checkout, name: str) -> str:
    known = checkout.known(name)
    if not known or known in PACKAGES.values():
        return name
    return checkout.new_name(known) + name[len(known) :]


def _file(checkout: Checkout, path: str) -> str:
    bare = path.rstrip("/.")
    for place in (checkout.moved, checkout.folders):
        if bare in place:
            return place[bare] + path[len(bare) :]
    return path


def _imports(checkout: Checkout, path: str, text: str, kept: list[str]) -> str:
    """Replace `from ... import` statements, each put aside so that it is rewritten once."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()
    out, position = [], 0
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and node.module]
    for node in sorted(found, key=lambda each: (each.lineno, each.col_offset)):
        assert node.module is not None and node.end_lineno is not None and node.end_col_offset is not None
        if not node.module.startswith(("lifeboat_", "support")):
            continue
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        old = data[begin:end].decode()
        new = _import(checkout, path, node, old)
        out.append(data[position:begin].decode())
        kept.append(new)
        out.append(f"\0{len(kept) - 1}\0")
        position = end
    out.append(data[position:].decode())
    return "".join(out)


def _import(checkout: Checkout, path: str, node: ast.ImportFrom, old: str) -> str:
    assert node.module is not None
    groups: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for alias in node.names:
        full = f"{node.module}.{alias.name}"
        if full in checkout.modules or full in checkout.packages:
            module, _, name = checkout.new_name(full).rpartition(".")
            known = alias.asname or (alias.name if name != alias.name else None)
            groups[module].append((name, known))
        else:
            groups[checkout.new_name(node.module)].append((alias.name, alias.asname))
    if len(groups) == 1:
        ((module, names),) = groups.items()
        if names == [(alias.name, alias.asname) for alias in node.names]:
            return old.replace(node.module, module, 1)
    if "#" in old:
        print(f"a comment within an import goes: {path}:{node.lineno}", file=sys.stderr)
    indent = " " * node.col_offset
    statements = [f"import {name} as {known}" for name, known in groups.pop("", ())]
    statements += (
        f"from {module} import " + ", ".join(name if known is None else f"{name} as {known}" for name, known in names)
        for module, names in groups.items()
    )
    return f"\n{indent}".join(statements)


def wrapped(text: str) -> str:
    """Carry words of prose (docstrings, comments) that reach beyond the line into the next one."""
    lines = text.split("\n")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    spans = [(token.start[0], token.end[0]) for token in tokens if token.type == tokenize.STRING and token.start[0] < token.end[0]]
    at = 0
    while at < len(lines):
        line = lines[at]
        prose = line.lstrip()
        is_comment = prose.startswith("# ")
        closing = '"""' if prose.count('"""') == 1 and prose.endswith('"""') and not prose.startswith('"""') else ""
        if len(line) > 120 and (is_comment or any(begin <= at + 1 <= end for begin, end in spans)):
            indent = line[: len(line) - len(prose)] + ("# " if is_comment else "")
            cut = line.rindex(" ", 0, 121)
            lines[at], rest = line[:cut].rstrip(), line[cut + 1 :]
            following = lines[at + 1] if at + 1 < len(lines) else ""
            goes_on = following.strip() and not closing and following.startswith(indent) and following.strip() != '"""'
            if goes_on and following[len(indent) : len(indent) + 1] not in (" ", "-", "*"):
                lines[at + 1] = f"{indent}{rest} {following[len(indent) :]}"
            else:
                lines.insert(at + 1, indent + rest)
                spans = [(a + (a > at + 1), b + (b > at)) for a, b in spans]
        at += 1
    return "\n".join(lines)


# Files of settings ====================================================================================================


def pyproject(text: str) -> str:
    quoted = [f'"{folder}"' for folder in PACKAGES]
    old = ", ".join(f'"{folder}"' for folder in OLD_FOLDERS)
    text = text.replace(old, ", ".join(quoted))
    places = [f'  "{folder}/{package}",\n' for folder, package in PACKAGES.items()]
    text = text.replace("".join(f'  "{each}/lifeboat_{each}",\n' for each in OLD_FOLDERS), "".join(places))
    text = re.sub(
        r'^mypy_path = ".*"$',
        'mypy_path = "' + ":".join(f"$MYPY_CONFIG_FILE_DIR/{each}" for each in (*PACKAGES, "packaging/tools")) + '"',
        text,
        flags=re.MULTILINE,
    )
    old_sources = '["lifeboat_tui", "lifeboat_daemon", "lifeboat_adapters", "lifeboat_endpoint", "lifeboat_keys", "lifeboat_alf"]'
    sources = "[\n" + "".join(f'  "{name}",\n' for name in PACKAGES.values()) + "]"
    text = text.replace(f"source_modules = {old_sources}", f"source_modules = {sources}")
    roots = "".join(f'  "{name}",\n' for name in PACKAGES.values())
    text = re.sub(r"root_packages = \[\n.*?\n\]", f"root_packages = [\n{roots}]", text, flags=re.DOTALL)
    layers = re.compile(r'\[\[tool\.importlinter\.contracts\]\]\nname = "The house: .*?\n\]\n', re.DOTALL)
    text = layers.sub(lambda _: (HERE / "contracts.toml").read_text(), text, count=1)
    dashboard = re.compile(r'source_modules = \["lifeboat_tui"\]\nforbidden_modules = \[\n.*?\n\]', re.DOTALL)
    return dashboard.sub(lambda _: (HERE / "dashboard_forbidden.toml").read_text().rstrip("\n"), text, count=1)


def test_paths(text: str, folders: Iterable[str]) -> str:
    return re.sub(r"^testpaths = \[.*\]$", f"testpaths = {json.dumps(sorted(folders))}", text, flags=re.MULTILINE)


def lanes(checkout: Checkout, old: str) -> str:
    """The file of lanes: folders of fast targets, and what each folder of the product affects."""
    read = tomllib.loads(old)
    affects: dict[str, list[str]] = read["affects"]
    order = [*read["slow"]]
    found: dict[str, set[str]] = defaultdict(set)
    of_folders: dict[str, set[str]] = defaultdict(set)
    for path, new in checkout.moved.items():
        top = path.split("/")[0]
        if top not in OLD_FOLDERS or not path.endswith(".py"):
            continue
        targets = affects[max((each for each in affects if path.startswith(f"{each}/")), key=len)]
        parts = new.split("/")
        folder = "/".join(parts[:3]) if len(parts) > 3 else "/".join(parts[:2])
        (of_folders if path.endswith("__init__.py") else found)[folder] |= {*targets}
    for folder, targets in of_folders.items():
        if folder not in found:  # data beside an __init__.py
            found[folder] = targets
    for folder, package in PACKAGES.items():
        root = f"{folder}/{package}"
        own = affects.get(root)
        found[root] = {*own} if own is not None else found.get(root) or {"soak", "bench"}
    others = {}
    for folder, targets in affects.items():
        if folder.split("/")[0] not in OLD_FOLDERS:
            others[checkout.folders.get(folder, folder)] = targets
    for new, like in SLOW_OF_SUPPORT.items():
        others[new] = affects[like]
    rows = {**{folder: [each for each in order if each in targets] for folder, targets in found.items()}, **others}
    text = "".join(f'"{folder}" = {json.dumps(rows[folder])}\n' for folder in sorted(rows))
    head = old[: old.index("[affects]\n") + len("[affects]\n")]
    return head + text


def fast_folders(root: Path, text: str) -> str:
    """The list of the target `test`: every folder with tests that no other target has."""
    read = tomllib.loads(text)
    taken = {folder for name, folders in read["fast"].items() if name != "test" for folder in folders}
    taken |= {fields["folder"] for fields in read["slow"].values()}
    there = sorted(
        f"tests/{each.name}"
        for each in (root / "tests").iterdir()
        if each.is_dir() and any(each.rglob("test_*.py")) and f"tests/{each.name}" not in taken
    )
    rows = [there[at : at + 6] for at in range(0, len(there), 6)]
    listed = "".join("  " + ", ".join(f'"{each}"' for each in row) + ",\n" for row in rows)
    return re.sub(r"^test = \[\n.*?^\]", f"test = [\n{listed}]", text, flags=re.MULTILINE | re.DOTALL)


def sorted_durations(text: str) -> str:
    lines = [line.rstrip(",") for line in text.splitlines() if line.startswith('"')]
    return "{\n" + ",\n".join(sorted(lines)) + "\n}\n"


# Pages ================================================================================================================


def page(text: str, begin: str, end: str, new: str) -> str:
    at = text.index(begin)
    return text[:at] + new.rstrip("\n") + "\n\n" + text[text.index(end, at) :]


# All of it ============================================================================================================


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    root = Path(words[0] if words else ".").resolve()
    if git(root, "status", "--porcelain"):
        raise SystemExit("the checkout is not clean")
    if git(root, "ls-files", "core/lifeboat_core"):
        raise SystemExit("it was moved before")
    checkout = Checkout(root)
    texts = {}
    for path in checkout.files:
        if not path.startswith(UNTOUCHED) and Path(path).suffix in TEXT and not (root / path).is_symlink():
            texts[path] = (root / path).read_text()
    old_lanes = texts["tests/lanes.toml"]

    moves = [(old, new) for old, new in checkout.moved.items() if old != new]
    for folder in {(root / new).parent for _, new in moves}:
        folder.mkdir(parents=True, exist_ok=True)
    # Two steps, because one file may take the path of another.
    for at, (old, _) in enumerate(moves):
        (root / old).rename(root / f".move-{at}")
    for at, (_, new) in enumerate(moves):
        (root / f".move-{at}").rename(root / new)
    for old, _ in moves:
        for parent in (root / old).parents:
            if parent == root or any(parent.rglob("*")) and any(each.is_file() and "__pycache__" not in each.parts for each in parent.rglob("*")):
                break
            subprocess.run(["rm", "-rf", str(parent)], check=True)

    if "--commit-moves" in sys.argv:  # a commit that runs nothing, but `git log --follow` and merges find every file
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "house: move the files of the packages\n\nNames in their text follow in the next commit.")

    for path, text in texts.items():
        new = rewrite(checkout, path, text)
        if path == "pyproject.toml":
            new = pyproject(new)
        elif path.endswith(".py"):
            new = wrapped(new) if any(len(line) > 120 for line in new.split("\n")) else new
        elif path == "tests/durations.json":
            new = sorted_durations(new)
        (root / checkout.moved[path]).write_text(new)

    for name, text in PACKAGE_TEXTS.items():
        init = root / folder_of(name.split(".")[0]) / name.replace(".", "/") / "__init__.py"
        if not init.parent.is_dir():
            print(f"nothing lies in {name}", file=sys.stderr)
            continue
        if not init.exists() or name in PACKAGES.values():
            init.write_text(f'"""{text}"""\n')
    for folder, package in PACKAGES.items():
        (root / folder / package / "py.typed").touch()

    file = root / "tests/lanes.toml"
    rewritten = _PATH.sub(lambda found: _file(checkout, found[0]), old_lanes[: old_lanes.index("[affects]")])
    file.write_text(fast_folders(root, rewritten + lanes(checkout, old_lanes)[old_lanes.index("[affects]") :]))
    fast = tomllib.loads(file.read_text())["fast"]["test"]
    settings = root / "pyproject.toml"
    settings.write_text(test_paths(settings.read_text(), fast))

    architecture = root / "docs/architecture.md"
    architecture.write_text(
        page(architecture.read_text(), "## The house\n", "## The way of the data\n", (HERE / "architecture_house.md").read_text())
    )
    contributing = root / "CONTRIBUTING.md"
    contributing.write_text(
        page(contributing.read_text(), "## The house\n", "## Style\n", (HERE / "contributing_house.md").read_text())
    )
    changelog = root / "CHANGELOG.md"
    entry = (HERE / "changelog_entry.md").read_text()
    first = re.search(r"^- ", changelog.read_text(), flags=re.MULTILINE)
    assert first is not None
    text = changelog.read_text()
    changelog.write_text(text[: first.start()] + entry + text[first.start() :])

    for path, text in NEW_FILES.items():
        (root / path).write_text(text)
    for path, old, new in EDITS:
        text = (root / path).read_text()
        if old not in text:
            print(f"not found in {path}: {old}", file=sys.stderr)
        (root / path).write_text(text.replace(old, new))

    git(root, "add", "-A")
    ruff = root / ".venv/bin/ruff"
    if ruff.exists():
        subprocess.run([str(ruff), "check", "-q", "--select", "I", "--fix", "."], cwd=root, check=False)
        subprocess.run([str(ruff), "format", "-q", "."], cwd=root, check=False)
        git(root, "add", "-A")
    report(checkout)


def report(checkout: Checkout) -> None:
    """What a person has to decide: modules that no table names, and names that may be left in the text."""
    for name, path in sorted(checkout.modules.items()):
        new = checkout.new_name(name)
        if new.count(".") == 1 and new.startswith("lifeboat_core") and name != "lifeboat_daemon" and not path.endswith("__init__.py"):
            print(f"loose in the root of {new.split('.')[0]}: {name}")
    left = re.compile(r"lifeboat_(?:adapters|endpoint|daemon)(?:\.\w+)+")
    root = checkout.root
    for path in git(root, "ls-files").splitlines():
        if path.startswith(UNTOUCHED) or Path(path).suffix not in TEXT or path == "tests/durations.json":
            continue
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            for found in left.findall(line):
                place = found.replace(".", "/")
                top = folder_of(found.split(".")[0])
                while place.count("/") and not ((root / top / place).is_dir() or (root / top / f"{place}.py").is_file()):
                    place = place.rpartition("/")[0]
                if not place.count("/"):
                    print(f"no such module: {path}:{number}: {found}")


if __name__ == "__main__":
    main()
