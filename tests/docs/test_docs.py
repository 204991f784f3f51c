"""The documentation and the program say the same: nothing undocumented, nothing documented that is not there."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import click
import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon.settings import SETTINGS

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PACKAGES = ("lifeboat_alf", "lifeboat_keys", "lifeboat_adapters", "lifeboat_endpoint", "lifeboat_daemon")
PAGES = [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    DOCS.glob("*.md")
)


def _table(page: str) -> dict[str, list[str]]:
    """Rows of a page's tables whose first cell is code: {that code: the other cells}."""
    rows = {}
    for line in (DOCS / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        found = re.fullmatch(r"`([^`]+)`", cells[0])
        if line.startswith("|") and found:
            rows[found[1]] = cells[1:]
    return rows


# Settings -------------------------------------------------------------------------------------------------------


def test_every_setting_is_documented_with_its_default_and_effect() -> None:
    documented = {name: cells for name, cells in _table("settings.md").items() if name.islower()}
    wanted = {setting.name: [f"`{_spelled(setting.default)}`", setting.effect] for setting in SETTINGS.values()}
    assert {name: [cells[0], cells[1]] for name, cells in documented.items()} == wanted


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_every_variable_of_the_environment_is_documented() -> None:
    sources = (path.read_text() for package in PACKAGES for path in _sources(package))
    read = {name for text in sources for name in re.findall(r'"(LIFEBOAT_[A-Z_]+)"', text)}
    assert read == {name for name in _table("settings.md") if name.startswith("LIFEBOAT_")}


def _sources(package: str) -> Iterator[Path]:
    return Path(str(importlib.import_module(package).__file__)).parent.rglob("*.py")


# Errors ---------------------------------------------------------------------------------------------------------


def _modules() -> Iterator[ModuleType]:
    for name in PACKAGES:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


@cache
def _errors() -> tuple[type[LifeboatError], ...]:
    """Every error class of the project."""
    list(_modules())
    found: list[type[LifeboatError]] = [LifeboatError]
    for cls in found:
        found += [child for child in cls.__subclasses__() if child.__module__.startswith("lifeboat_")]
    return tuple(dict.fromkeys(found))


def test_every_error_code_is_documented_with_its_exit_status() -> None:
    wanted = {cls.code: str(cls.exit_status) for cls in _errors()} | {"usage": "2"}
    assert {code: cells[0] for code, cells in _table("errors.md").items()} == wanted


def test_every_error_has_a_title_of_its_own_and_a_stable_code() -> None:
    for cls in _errors():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", cls.code), cls
        assert cls.title and not cls.title.endswith("."), cls


@pytest.mark.parametrize("package", PACKAGES)
def test_the_tree_on_top_of_errors_py_names_every_class_below(package: str) -> None:
    if not (module := _errors_module(package)):
        pytest.skip(f"{package} has no errors of its own")
    tree = re.findall(r"\+-- (\w+)", module.__doc__ or "")
    defined = [name for name, value in vars(module).items() if _is_own_error(value, module)]
    assert [name for name in tree if not _known(name)] == []
    assert [name for name in defined if name not in tree] == []


def _errors_module(package: str) -> ModuleType | None:
    name = f"{package}.errors"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def _is_own_error(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and issubclass(value, LifeboatError) and value.__module__ == module.__name__


def _known(name: str) -> bool:
    return any(cls.__name__ == name for cls in _errors())


# Commands -------------------------------------------------------------------------------------------------------


@cache
def _commands() -> dict[str, click.Command]:
    """Every command that can be typed, by its words after `lifeboat`."""
    from lifeboat_daemon.cli.program import program

    found: dict[str, click.Command] = {}
    waiting: list[tuple[str, click.Command]] = [("", program)]
    while waiting:
        words, command = waiting.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None
                waiting.append((f"{words} {name}".strip(), child))
        else:
            found[words] = command
    return found


@cache
def _documented_commands() -> dict[str, str]:
    """The sections of docs/commands.md by command: `### lifeboat agents add`."""
    sections = re.split(r"^#+ ", (DOCS / "commands.md").read_text(), flags=re.MULTILINE)
    found = {}
    for section in sections:
        heading, _, text = section.partition("\n")
        if match := re.fullmatch(r"`lifeboat ([a-z -]+)`", heading.strip()):
            found[match[1]] = text
    return found


def test_every_command_has_its_section_and_no_other_is_documented() -> None:
    assert sorted(_documented_commands()) == sorted(words for words in _commands() if not _commands()[words].hidden)


def test_every_option_and_argument_is_documented_and_no_other() -> None:
    wrong = {}
    for words, command in _commands().items():
        text = _documented_commands().get(words, "")
        said = set(re.findall(r"`(--?[a-z][a-z-]*)", text))
        real = {option for item in command.params if isinstance(item, click.Option) for option in item.opts}
        if command.hidden or real == said | {"--json"} & real:
            continue
        wrong[words] = {"missing": sorted(real - said - {"--json"}), "gone": sorted(said - real)}
    assert wrong == {}


def test_every_command_says_in_one_line_what_it_does() -> None:
    assert [words for words, command in _commands().items() if not command.get_short_help_str()] == []


def _names_a_command(text: str) -> bool:
    """Whether `lifeboat ...` begins with the words of a command or of a group of commands."""
    words = text.split()[1:]
    return not words or any(
        words[: len(known)] == known or known[: len(words)] == words for known in (name.split() for name in _commands())
    )


def test_what_an_error_advises_can_be_typed() -> None:
    advised = {cls.fix for cls in _errors() if cls.fix and cls.fix.startswith("lifeboat")}
    assert sorted(fix for fix in advised if not _names_a_command(fix)) == []


# All pages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_a_page_shows_exist(page: Path) -> None:
    shown = re.findall(r"(?:^\$ |`)(lifeboat(?: [a-z][a-z-]*)+)", page.read_text(), flags=re.MULTILINE)
    assert [text for text in shown if not _names_a_command(text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_that_a_page_names_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    named = re.findall(r"(?:^\$ |`)make ([a-z-]+)", page.read_text(), flags=re.MULTILINE)
    assert [name for name in named if name not in targets] == []
