"""Kinds of remotes: a kind of another package works, and no code outside of a kind looks at the scheme of an
address."""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.doctor_checks import DoctorLevel
from lifeboat_cli.doctor.check_remotes import check
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_kinds, remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.manage_remotes import add_remote, parse_remote_access
from lifeboat_core.remotes.remote_conformance import run_conformance
from lifeboat_vault.errors import RemoteUnreachable
from support.core.protected import SteadyClock

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests/support/core/sqlite_remote.py"
"""The kind to which docs/remote-kinds.md links."""
DECIDING = {"endpoint_kind.py", "folder_kind.py", "bucket_address.py", "alf_service.py"}
"""The kinds, and the addresses of files that the service of another program gives out."""
SCHEME = re.compile(r"(file|https?)(:(//)?)?")


@pytest.fixture
def sqlite_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The example of the page, installed as a package of its own; the address of a remote."""
    site = tmp_path / "site"
    metadata = site / "sqlite_remote-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sqlite-remote\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[lifeboat.remotes]\nsqlite = sqlite_remote:REMOTE_KIND\n")
    shutil.copy(EXAMPLE, site)
    monkeypatch.syspath_prepend(site)
    remote_kinds.list_schemes.cache_clear()
    yield f"sqlite://{tmp_path}/boat.db"
    remote_kinds.list_schemes.cache_clear()
    sys.modules.pop("sqlite_remote", None)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    around = {"LIFEBOAT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    opened = Context.open(around, clock=SteadyClock())
    opened.keys().ensure()
    return opened


def test_the_kind_on_the_page_does_what_every_second_copy_must(sqlite_kind: str, context: Context) -> None:
    config, _ = add_remote(context, "boat", parse_remote_access(sqlite_kind), sealed=True)
    failed = [(each.name, each.message) for each in run_conformance(context, config) if not each.ok]
    assert failed == []


def test_the_kind_on_the_page_does_not_take_a_missing_database_for_an_empty_one(
    sqlite_kind: str, context: Context, tmp_path: Path
) -> None:
    config, _ = add_remote(context, "boat", parse_remote_access(sqlite_kind), sealed=True)
    (tmp_path / "boat.db").unlink()
    with pytest.raises(RemoteUnreachable, match="unable to open"):
        remote_kinds.open_remote(context, config).agents()


@pytest.mark.parametrize("url", ["sqlite:///srv/boat.db", "file://host/share"])
def test_doctor_names_an_address_that_no_installed_kind_takes(url: str, context: Context) -> None:
    remote_registry.save_remote(context, RemoteConfig("boat", url))
    assert [(each.level, each.subject) for each in check(context)] == [(DoctorLevel.ERROR, "boat")]


def test_a_kind_that_is_not_installed_is_taken_for_one_that_needs_the_network() -> None:
    assert remote_kinds.needs_network(RemoteConfig("boat", "sqlite:///srv/boat.db"))


def _decisions(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that compare something with a scheme, or take the scheme out of an address of a remote."""
    for node in (each for each in ast.walk(tree) if isinstance(each, ast.expr)):
        texts = [
            each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        is_question = isinstance(node, ast.Compare) and "scheme" in ast.unparse(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_question = node.func.attr in ("startswith", "removeprefix") and "url" in ast.unparse(node.func)
        if is_question and any(SCHEME.fullmatch(text) for text in texts):
            yield node.lineno


def test_nothing_outside_of_a_kind_decides_by_the_scheme_of_an_address() -> None:
    paths = [path for package in ("core", "daemon", "cli", "tui") for path in (ROOT / package).rglob("*.py")]
    asked = [path for path in paths if path.name not in DECIDING and "network" not in path.parts]
    found = [f"{path.relative_to(ROOT)}:{line}" for path in asked for line in _decisions(ast.parse(path.read_text()))]
    assert found == []
