"""An agent whose files people wrote by hand, annotations and all, moves to ZeroClaw and comes home."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_core.home.context import Context
from support.adapters.openclaw_workspaces import NEW, OLD, make_state_dir
from support.cli.cli_client import run
from support.core.migrating import Traveller, tree_of


def every_record(ada: Traveller) -> dict[str, str]:
    """Superseded ones too, by id."""
    with Context.open().vault(ada.agent.id) as vault:
        return {line.id: json_codec.decode_json(line.line)["content"] for line in vault.state().records()}


@pytest.mark.parametrize("layout", [OLD, NEW])
def test_no_memory_is_made_or_lost_on_the_way_there_and_back(isolated_home: Path, tmp_path: Path, layout: str) -> None:
    made = make_state_dir(isolated_home / ".openclaw", layout=layout)
    run("agents", "add", made.workspace)
    juniper = Traveller("Juniper")
    before, tree = every_record(juniper), tree_of(made.workspace)
    juniper.adopt("zeroclaw", tmp_path / "claw/agents/juniper/workspace")
    assert every_record(juniper) == before
    assert juniper.sync()["changed"] is False
    juniper.adopt("openclaw", made.workspace)
    assert every_record(juniper) == before
    assert tree_of(made.workspace) == tree
