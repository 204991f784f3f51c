"""The pages of the documentation that follow from the code: commands, errors, JSON, screens, formats, the example of a
profile.

    PYTHONPATH=tests python -m support.docs.doc_pages      writes them to docs/ again (`make docs`)

A test compares what is written with what would be written.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from types import ModuleType

import click

from lifeboat_alf.errors import ErrorCode, LifeboatError
from lifeboat_cli.commands import tui_command
from lifeboat_cli.terminal import help_examples
from lifeboat_formats.interchange import format_registry as formats
from lifeboat_formats.interchange.contract import MappingTable
from lifeboat_tui.screens import screen_registry
from lifeboat_tui.screens.lifeboat_screen import FILTER, LifeboatScreen
from lifeboat_tui.screens.screen_registry import OF_AN_AGENT
from lifeboat_tui.user_actions import EVERYWHERE, PLACES, UserAction
from support.docs import json_page
from support.packages import HEADLESS
from support.paths import ROOT

DOCS = ROOT / "docs"

COMMANDS = """# Commands

<!-- Written by `make docs` from the commands themselves. -->

`AGENT` is an agent's name, id, first characters of the id (8 or more) or workspace. With `--json` a command prints one
[JSON document](json.md); text output may change. Progress, notes and warnings go to standard error. Long lists on a
terminal go through `$LIFEBOAT_PAGER`, `$PAGER` or `less`; `--no-pager` prints them.

| exit status | meaning |
|---|---|
| `0` | done |
| `1` | failed, or a check found a problem |
| `2` | unknown command or option |
| `3` | refused by a guard: nothing was done |
| `130` | stopped by Ctrl-C, or a question was answered with no |

Without a command, `lifeboat` opens [the dashboard](dashboard.md) on a terminal and prints the status elsewhere.

Every `lifeboat endpoint` command needs `--data DIR`, the folder of the endpoint's data, or the variable
`LIFEBOAT_ENDPOINT_DATA`.
"""

_ON_EVERY_PAGE = ("--json", "--no-pager", "--data")
"""Options that the beginning of the page describes."""

ERRORS = """# Errors

<!-- Written by `make docs` from the error classes themselves. -->

An error names the failure, its cause and a command that helps. With `--json` it is
`{"error": {"code", "title", "message", "fix", "retryable"}}` on standard output. Codes are stable; texts may change.
The exit status is 1 unless another one is shown. "retry": the same command may work later without any change.

"""


_REPEATING = """
    age algorithm_refused already_protected already_running bad_moment bad_request busy cannot_hold checksum
    command_lost does_not_answer endpoint_newer epoch_behind excessive_work extra_missing hook_failed instance_failed
    key_exists key_revoked missing_entry no_hook no_passphrase not_running option_refused other_key other_release
    other_runtime other_vault port_taken profile_invalid project_refused purges_damaged receipt_invalid
    redacted_meanwhile redaction_invalid second_copy secrets secrets_found signature store_read_only swapped_agent
    target_refused unit unknown_agent unknown_wrapping unsupported_version vault_exists vault_missing vault_newer
    words_not_proven would_lose wrapped_changed wrong_user_key
"""
"""Codes whose meaning says in other words what the title says. The page leaves the meaning out."""

_FILLERS = {"anot", "that", "this", "what", "have", "none", "does", "with", "than", "when", "from", "your", "user"}
"""Beginnings of words that say nothing about an error."""

_SCREENS = "<!-- From here on written by `make docs` from the screens themselves. -->"
_FORMATS = "<!-- From here on written by `make docs` from the formats themselves. -->"
_PROFILE = "<!-- Written by `make docs` from tests/support/adapters/pebble_profile.toml. -->"


@cache
def commands() -> dict[str, click.Command]:
    """Return every command that is not hidden, by its words after `lifeboat`."""
    from lifeboat_cli.program import program

    return {
        words.removeprefix("lifeboat "): command for words, command in help_examples.walk_commands("lifeboat", program)
    }


def commands_page() -> str:
    """Return docs/commands.md."""
    parts = [COMMANDS]
    parts += [command_section(words) for words in commands()]
    return "\n".join(parts)


def command_section(words: str) -> str:
    """Return the section of one command: its arguments if it has any, description, options, examples."""
    command = commands()[words]
    context = click.Context(command, info_name=f"lifeboat {words}")
    arguments = [piece for piece in command.collect_usage_pieces(context) if piece != command.options_metavar]
    lines = [f"## `lifeboat {words}`", ""]
    if arguments:
        lines += [f"Arguments: `{' '.join(arguments)}`", ""]
    lines += [_prose(command.help or ""), ""]
    options = [item for item in command.params if isinstance(item, click.Option) and not item.hidden]
    options = [item for item in options if item.opts[0] not in _ON_EVERY_PAGE]
    if options:
        lines += [*(_option_line(item, context) for item in options), ""]
    shown = help_examples.parse_examples(command.epilog)
    if shown:
        lines += ["```console", *(f"$ {example}" for example in shown), "```", ""]
    return "\n".join(lines)


def _prose(text: str) -> str:
    return re.sub(r"\s*\n\s*\n\s*", "\n\n", re.sub(r"(?<!\n)\n(?!\n)\s*", " ", text.replace("\b", "").strip()))


def _option_line(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    names, text = record if record is not None else (", ".join(option.opts), option.help or "")
    return f"- `{names}`: {text}"


def modules() -> Iterator[ModuleType]:
    """Yield every module of the packages without the dashboard."""
    for name in HEADLESS:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


@cache
def errors() -> tuple[type[LifeboatError], ...]:
    """Return every error class of the project, a parent before its children."""
    list(modules())
    found: list[type[LifeboatError]] = [LifeboatError]
    for cls in found:
        found += [child for child in cls.__subclasses__() if child.__module__.split(".")[0] in HEADLESS]
    return tuple(dict.fromkeys(found))


def error_kinds() -> tuple[type[LifeboatError] | ErrorCode, ...]:
    """Every error class, each followed by its codes."""
    return tuple(
        kind
        for cls in errors()
        for kind in (cls, *(value for value in vars(cls).values() if isinstance(value, ErrorCode)))
    )


@dataclass(frozen=True)
class DescribedError:
    """One error code as the pages show it. `remarks` are the exit status, if it is not 1, and whether to retry."""

    remarks: tuple[str, ...]
    text: str
    fix: str


def described_errors() -> dict[str, DescribedError]:
    """Return every error by its code, in alphabetical order. Classes that share a code share an entry."""
    repeating = set(_REPEATING.split())
    found = {"usage": DescribedError(("exit 2",), "Invalid command line", "`lifeboat COMMAND --help`")}
    for kind in error_kinds():
        remarks = [f"exit {kind.exit_status}"] if kind.exit_status != 1 else []
        remarks += ["retry"] if kind.retryable else []
        advice = f"`{kind.fix}`" if kind.fix and kind.fix.startswith("lifeboat") else kind.fix or ""
        meaning = _meaning(kind)
        is_told = kind.code in repeating or not _adds_words(meaning, kind.title)
        text = kind.title if is_told else f"{kind.title}: {meaning}"
        found.setdefault(kind.code, DescribedError(tuple(remarks), text, advice))
    assert found.keys() >= repeating, f"no such codes: {repeating - found.keys()}"
    return dict(sorted(found.items()))


def errors_page() -> str:
    """Return docs/errors.md."""
    lines = []
    for code, error in described_errors().items():
        remarks = f" ({', '.join(error.remarks)})" if error.remarks else ""
        fix = f". Fix: {error.fix}" if error.fix else ""
        lines.append(f"- `{code}`{remarks}: {error.text}{fix}\n")
    return ERRORS + "".join(lines)


def _adds_words(meaning: str, title: str) -> bool:
    """Return whether a meaning has at least two words that its title lacks; short words and endings do not count."""
    told, known = ({word[:4] for word in re.findall(r"\w{4,}|`.+?`", text.lower())} for text in (meaning, title))
    return len(told - known - _FILLERS) > 1


def _meaning(kind: type[LifeboatError] | ErrorCode) -> str:
    """Return the meaning of a class from the tree at the top of its module, or the first sentence of its docstring."""
    name, owner = _name_and_owner(kind)
    if isinstance(kind, ErrorCode) and kind.meaning:
        return kind.meaning
    tree = importlib.import_module(owner.__module__).__doc__ or ""
    found = re.search(rf"(?:\+-- |^|[ |]){name}[ ]{{2,}}(.+)", tree, flags=re.MULTILINE)
    if found:
        return found[1].strip()
    own = "" if isinstance(kind, ErrorCode) else kind.__dict__.get("__doc__") or ""
    sentence = re.sub(r"\s+", " ", own).split(". ")[0].strip().rstrip(".")
    return sentence[:1].lower() + sentence[1:]


def _name_and_owner(kind: type[LifeboatError] | ErrorCode) -> tuple[str, type[LifeboatError]]:
    if not isinstance(kind, ErrorCode):
        return kind.__name__, kind
    return next(name for name, value in vars(kind.owner).items() if value is kind), kind.owner


def folder_profiles_page() -> str:
    """Return the page with the profile as the tests use it."""
    before, after = (DOCS / "folder-profiles.md").read_text().split(_PROFILE, 1)
    profile = (ROOT / "tests" / "support" / "adapters" / "pebble_profile.toml").read_text()
    return f"{before}{_PROFILE}\n\n```toml\n{profile}```{after.split('```', 2)[2]}"


def dashboard_page() -> str:
    """Return docs/dashboard.md: the hand-written part, then every screen with the first paragraph of its help and its
    keys."""
    written = (DOCS / "dashboard.md").read_text().split(_SCREENS)[0]
    parts = [f"{written}{_SCREENS}", "## On every screen", _act_list((*EVERYWHERE, *PLACES))]
    for name in screen_registry.PLACES:
        parts += _screen_section(name, screen_registry.load_screen_class(name))
    return "\n\n".join(parts) + "\n"


def interchange_page() -> str:
    """Return docs/interchange.md: the hand-written part, then the tables of each format."""
    written = (DOCS / "interchange.md").read_text().split(_FORMATS)[0]
    parts = [f"{written}{_FORMATS}", "## What becomes of what"]
    for name in formats.list_formats():
        chosen = formats.load_format(name)
        for table in chosen.mappings():
            title = table.title.removeprefix(f"{chosen.title}: ")
            parts += [f"### {chosen.title}: {title}", _mapping_table(table)]
    return "\n\n".join(parts) + "\n"


def _mapping_table(table: MappingTable) -> str:
    """Return the rows of a table. Rows that keep a name share one row, and so do neighbours with the same meaning; a
    column without any text is left out. A table with one meaning is a sentence."""
    same = [row for row in table.rows if row.theirs == row.ours and not row.note]
    rows = _joined([(row.theirs, row.ours, row.note) for row in table.rows if len(same) < 2 or row not in same])
    if not same and len({row.ours for row in table.rows}) == 1 and not any(row.note for row in table.rows):
        return f"{table.rows[0].ours.capitalize()}: {'; '.join(row.theirs for row in table.rows)}."
    if len(same) > 1:
        rows.append((", ".join(row.theirs for row in same), "the same name", ""))
    width = 3 if any(note for *_, note in rows) else 2
    heads = ("there", "in the Agent Life Format", "note")[:width]
    lines = [f"| {' | '.join(_cell(text) for text in row[:width])} |" for row in (heads, *rows)]
    return "\n".join([lines[0], "|---" * width + "|", *lines[1:]])


def _joined(rows: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return rows in which neighbours with the same two last cells are one."""
    groups = [(meaning, list(group)) for meaning, group in groupby(rows, key=lambda row: row[1:])]
    return [(", ".join(theirs for theirs, *_ in group), ours, note) for (ours, note), group in groups]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _screen_section(name: str, screen: type[LifeboatScreen]) -> list[str]:
    twin = " ".join(("lifeboat", *tui_command.TWINS[name]))
    return [
        f"## {screen.NAME}",
        _prose(screen.HELP).split("\n\n")[0],
        f"`lifeboat tui {name}{' AGENT' if name in OF_AN_AGENT else ''}` shows `{twin}`.",
        _act_list(tuple(act for act in screen.ACTS if act != FILTER)),
    ]


def _act_list(acts: tuple[UserAction, ...]) -> str:
    return "\n".join(f"- `{act.key_text}`: {act.help}" for act in acts)


def main() -> None:
    (DOCS / "dashboard.md").write_text(dashboard_page())
    (DOCS / "folder-profiles.md").write_text(folder_profiles_page())
    (DOCS / "interchange.md").write_text(interchange_page())
    (DOCS / "commands.md").write_text(commands_page())
    (DOCS / "errors.md").write_text(errors_page())
    json_page.PAGE.write_text(json_page.json_page())


if __name__ == "__main__":
    main()
