from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.errors import NotAWorkspace, UnknownRuntime
from support.adapters import openclaw_workspaces as workspaces
from support.patience import patience


def test_adapters_are_found_by_entry_point() -> None:
    assert adapter_registry.load_adapters()["openclaw"].runtime == "openclaw"


def test_an_unknown_runtime_is_named_beside_those_that_are_known() -> None:
    with pytest.raises(UnknownRuntime, match=r"'letta' is none of: .*openclaw"):
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
