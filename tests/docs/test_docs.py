"""Documentation and program agree: everything is documented, and everything documented exists."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import msgspec
import pytest

from lifeboat_adapters.contract import (
    Adapter,
    CredentialSupport,
    DatabaseSupport,
    HookSupport,
    PlacementSupport,
)
from lifeboat_adapters.folder import folder_profile
from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.settings.settings_table import SETTINGS
from lifeboat_formats.interchange import format_registry as formats
from support.adapters import openclaw_workspaces
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run
from support.docs import doc_pages
from support.docs.doc_pages import DOCS, ROOT
from support.packages import HEADLESS, PACKAGES

PAGES = [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    DOCS.rglob("*.md")
)


# Commands and errors: pages that follow from the code -------------------------------------------------------------


def test_the_page_of_commands_is_current() -> None:
    assert (DOCS / "commands.md").read_text() == doc_pages.commands_page(), "make docs writes it anew"


def test_the_page_of_errors_is_current() -> None:
    assert (DOCS / "errors.md").read_text() == doc_pages.errors_page(), "make docs writes it anew"


def test_the_example_of_a_profile_is_the_one_that_is_tested() -> None:
    assert (DOCS / "folder-profiles.md").read_text() == doc_pages.folder_profiles_page(), "make docs writes it anew"


def test_every_key_of_a_profile_stands_on_its_page() -> None:
    page = (DOCS / "folder-profiles.md").read_text()
    tables = [folder_profile.FolderProfile, *folder_profile.TABLES]
    keys = {field.name for table in tables for field in msgspec.structs.fields(table)}
    assert {key for key in keys if f"`{key}`" not in page} == set()


def test_the_page_of_the_dashboard_has_every_screen_and_every_key() -> None:
    assert (DOCS / "dashboard.md").read_text() == doc_pages.dashboard_page(), "make docs writes it anew"


def test_the_tables_of_the_formats_are_those_that_the_code_applies() -> None:
    assert (DOCS / "interchange.md").read_text() == doc_pages.interchange_page(), "make docs writes it anew"


@pytest.mark.parametrize("name", formats.list_formats())
def test_every_format_shows_its_tables_and_says_what_it_is(name: str) -> None:
    chosen = formats.load_format(name)
    assert all(table.rows for table in chosen.mappings()) and chosen.mappings()
    assert f"| `{name}` | [{chosen.title}]" in (DOCS / "interchange.md").read_text()


def test_every_function_that_an_adapter_must_answer_stands_on_its_page() -> None:
    groups = (Adapter, CredentialSupport, DatabaseSupport, HookSupport, PlacementSupport)
    own = {name for group in groups for name in group.__abstractmethods__}
    text = (DOCS / "adapters.md").read_text()
    assert sorted(name for name in own if f"`{name}`" not in text) == []


@pytest.mark.parametrize("outcome", ItemOutcome)
def test_every_outcome_of_a_receipt_is_explained(outcome: ItemOutcome) -> None:
    assert f"| `{outcome}` |" in (DOCS / "adapters.md").read_text()


def test_every_command_and_option_says_what_it_does() -> None:
    silent = []
    for words, command in doc_pages.commands().items():
        if not command.help:
            silent.append(words)
        options = [item for item in command.params if isinstance(item, click.Option)]
        silent += [f"{words} {option.opts[0]}" for option in options if not option.help]
    assert silent == []


def test_every_error_has_a_title_and_a_code_for_scripts() -> None:
    for cls in doc_pages.error_kinds():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", cls.code), cls
        assert cls.title and not cls.title.endswith("."), cls
        assert cls.exit_status in (1, 3), cls


def test_an_error_code_means_one_thing() -> None:
    meanings: dict[str, set[tuple[str, int]]] = {}
    for cls in doc_pages.error_kinds():
        meanings.setdefault(cls.code, set()).add((cls.title, cls.exit_status))
    assert {code: found for code, found in meanings.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    "package", [name for folder, name in PACKAGES.items() if (ROOT / folder / name / "errors.py").is_file()]
)
def test_the_tree_on_top_of_errors_py_names_every_class_below(package: str) -> None:
    module = importlib.import_module(f"{package}.errors")
    tree = re.findall(r"(?:\+-- |^)([A-Z]\w+)", module.__doc__ or "", flags=re.MULTILINE)
    known = {cls.__name__ for cls in doc_pages.errors()}
    assert [name for name in tree if name not in known | {"Errors"}] == []
    assert [name for name in _own_errors(module) if name not in tree] == []


def _own_errors(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        if isinstance(value, type) and issubclass(value, LifeboatError) and value.__module__ == module.__name__:
            yield name


def test_what_an_error_advises_can_be_typed() -> None:
    advised = {cls.fix for cls in doc_pages.error_kinds() if cls.fix and cls.fix.startswith("lifeboat")}
    assert sorted(fix for fix in advised if not _names_a_command(fix)) == []


def _names_a_command(text: str) -> bool:
    """Return whether `lifeboat ...` begins with the words of a command, or is the beginning of one."""
    words = [word for word in text.split()[1:] if not word.startswith("-")]
    known = [name.split() for name in doc_pages.commands()]
    return not words or any(words[: len(name)] == name or name[: len(words)] == words for name in known)


# Settings -------------------------------------------------------------------------------------------------------


def _table(page: str) -> dict[str, list[str]]:
    """Return the rows of a page's tables whose first cell is code: {code: other cells}."""
    rows = {}
    for line in (DOCS / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        found = re.fullmatch(r"`([^`]+)`", cells[0])
        if line.startswith("|") and found:
            rows[found[1]] = cells[1:]
    return rows


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_every_setting_is_documented_with_its_default_and_effect() -> None:
    documented = {name: cells for name, cells in _table("settings.md").items() if name.islower()}
    wanted = {setting.name: [f"`{_spelled(setting.default)}`", setting.effect] for setting in SETTINGS.values()}
    assert {name: [cells[0], cells[1]] for name, cells in documented.items()} == wanted


def test_every_variable_of_the_environment_is_documented() -> None:
    sources = (path.read_text() for package in HEADLESS for path in _sources(package))
    read = {name for text in sources for name in re.findall(r'"(LIFEBOAT_[A-Z_]+)"', text)}
    assert read == {name for name in _table("settings.md") if name.startswith("LIFEBOAT_")}


def _sources(package: str) -> Iterator[Path]:
    return Path(str(importlib.import_module(package).__file__)).parent.rglob("*.py")


# The format -----------------------------------------------------------------------------------------------------


def test_every_addition_to_the_format_is_documented(isolated_home: Path, tmp_path: Path) -> None:
    """Additions are our own entries, and fields of manifests that the published schemas do not have."""
    workspace = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw", large=True).workspace
    run("agents", "add", workspace)
    (workspace / "SOUL.md").write_text("# Soul\n\nSomebody else.\n")
    (workspace / "MEMORY.md").write_text("# MEMORY\n\n## New\n\nOnly this.\n")
    run("sync")
    run("alf", "export", "openclaw", workspace, "-o", tmp_path / "whole.alf")
    run("alf", "export", "openclaw", workspace, "-o", tmp_path / "change.alf-delta", "--since", "0")
    whole, change = ArchiveFile(tmp_path / "whole.alf"), ArchiveFile(tmp_path / "change.alf-delta")
    own = {re.sub(r"\d+$", "<n>", name) for name in (*whole.bodies, *change.bodies) if name.startswith("lifeboat/")}
    own |= whole.manifest.keys() - _SPECIFIED
    own |= change.manifest["changes"].keys() - {"identity", "principals", "credentials", "memory", "attachments"}
    text = (DOCS / "format.md").read_text()
    assert sorted(name for name in own if name not in text) == []


_SPECIFIED = {"alf_version", "created_at", "agent", "runtime_hints", "sync", "layers", "raw_sources", "checksum"}


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
def test_links_to_a_heading_lead_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#: ]*)#([^)]+)\)", page.read_text())
    targets = [((page.parent / path).resolve() if path else page, fragment) for path, fragment in links]
    assert [(path.name, name) for path, name in targets if path.suffix == ".md" and name not in _anchors(path)] == []


def _anchors(page: Path) -> set[str]:
    """Return the fragments of a page's headings, as GitHub and the generator of the site form them."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE)
    texts = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in texts}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_that_a_page_names_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    named = re.findall(r"(?:^\$ |`)make ([a-z-]+)", page.read_text(), flags=re.MULTILINE)
    assert [name for name in named if name not in targets] == []


_MODULE = re.compile(r"`([a-z0-9_/]+\.py)`")


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", DOCS / "architecture.md"], ids=lambda page: page.name)
def test_modules_that_a_page_names_are_in_the_tree(page: Path) -> None:
    known = [path.as_posix() for folder in (*PACKAGES, "tests", "packaging") for path in (ROOT / folder).rglob("*.py")]
    named = set(_MODULE.findall(page.read_text()))
    assert named and {name for name in named if not any(path.endswith(f"/{name}") for path in known)} == set()
