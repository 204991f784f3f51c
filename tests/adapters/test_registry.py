from __future__ import annotations

from pathlib import Path

import openclaw_workspaces as workspaces
import pytest

from lifeboat_adapters import registry
from lifeboat_adapters.errors import NotAWorkspace, UnknownRuntime


def test_adapters_are_found_by_entry_point() -> None:
    assert registry.adapters()["openclaw"].runtime == "openclaw"


def test_an_unknown_runtime_is_named_beside_those_that_are_known() -> None:
    with pytest.raises(UnknownRuntime, match=r"'letta' is none of: .*openclaw"):
        registry.adapter("letta")


def test_a_workspace_is_recognised(tmp_path: Path) -> None:
    assert registry.recognise(workspaces.make_workspace(tmp_path / "ws", large=False)).runtime == "openclaw"


def test_a_folder_of_code_is_not_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("rules for a code base\n")
    (tmp_path / "README.md").write_text("a code base\n")
    with pytest.raises(NotAWorkspace):
        registry.recognise(tmp_path)
