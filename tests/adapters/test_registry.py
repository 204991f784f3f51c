from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.errors import AdapterOutdated, NotAWorkspace, UnknownRuntime
from support.adapters import openclaw_workspaces as workspaces
from support.patience import patience


def test_adapters_are_found_by_entry_point() -> None:
    assert adapter_registry.load_adapters()["openclaw"].runtime == "openclaw"


def test_an_unknown_runtime_is_named_beside_those_that_are_known() -> None:
    with pytest.raises(UnknownRuntime, match=r"'letta' is not a known runtime; the known runtimes are: .*openclaw"):
        adapter_registry.load_adapter("letta")


def test_a_workspace_is_recognised(tmp_path: Path) -> None:
    assert (
        adapter_registry.recognise_workspace(workspaces.make_workspace(tmp_path / "ws", large=False)).runtime
        == "openclaw"
    )


def test_a_folder_of_code_is_not_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("rules for a code base\n")
    (tmp_path / "README.md").write_text("a code base\n")
    with pytest.raises(NotAWorkspace):
        adapter_registry.recognise_workspace(tmp_path)


@pytest.mark.parametrize(("runtime", "other"), [("openclaw", "zeroclaw"), ("zeroclaw", "openclaw")])
def test_one_runtime_does_not_import_the_other(runtime: str, other: str) -> None:
    program = f"""
import sys
from lifeboat_adapters import adapter_registry
assert adapter_registry.load_adapter({runtime!r}).runtime == {runtime!r}
sys.exit(any(name.startswith("lifeboat_adapters.{other}") for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=patience()).returncode == 0


# Adapters for an earlier contract -----------------------------------------------------------------------------------

_EARLIER = "support.adapters.earlier_adapters"


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Install an adapter for the runtime `notebook` beside the real ones."""
    points = dict(adapter_registry._points())

    def installed(value: str) -> None:
        points["notebook"] = EntryPoint("notebook", value, adapter_registry.GROUP)
        monkeypatch.setattr(adapter_registry, "_points", lambda: points)

    return installed


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (f"{_EARLIER}:WITHOUT_BASE", "not a lifeboat_adapters.contract.Adapter"),
        (f"{_EARLIER}:HALF_MOVED", "must be in the attribute credentials .*: secrets"),
        (
            f"{_EARLIER}:WITHOUT_GROUP",
            "the attribute databases of the adapter is not a lifeboat_adapters.contract.DatabaseSupport",
        ),
        (f"{_EARLIER}:ABSENT", "cannot be loaded"),
        ("lifeboat_adapters.base:ADAPTER", "cannot be loaded"),
    ],
)
def test_an_adapter_for_an_earlier_contract_is_refused(
    install: Callable[[str], None], value: str, problem: str
) -> None:
    install(value)
    with pytest.raises(AdapterOutdated, match=problem) as caught:
        adapter_registry.load_adapter("notebook")
    assert "notebook" in caught.value.message


def test_a_refused_adapter_hides_no_other(install: Callable[[str], None]) -> None:
    install(f"{_EARLIER}:HALF_MOVED")
    assert "openclaw" in adapter_registry.load_adapters()
    assert list(adapter_registry.find_refused_adapters()) == ["notebook"]


def test_a_folder_that_may_belong_to_a_refused_adapter_names_it(install: Callable[[str], None], tmp_path: Path) -> None:
    install(f"{_EARLIER}:HALF_MOVED")
    with pytest.raises(AdapterOutdated):
        adapter_registry.recognise_workspace(tmp_path)


def test_the_adapters_of_lifeboat_are_not_refused() -> None:
    assert adapter_registry.find_refused_adapters() == {}
