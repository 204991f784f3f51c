"""Who an agent is goes with it into another runtime, and what is edited there comes home as just that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.core.migrating import AIEOS, ada_in_zeroclaw


@pytest.mark.parametrize("generation", ["0.8.3", "0.5.9"])
def test_an_edit_of_the_profile_in_openclaw_changes_one_place_of_the_aieos_document(
    tmp_path: Path, generation: str
) -> None:
    ada, install = ada_in_zeroclaw(tmp_path, generation)
    home = install.workspace(install.agents[0])
    workspace = tmp_path / "open" / "workspace"
    ada.adopt("openclaw", workspace, "--state-dir", str(tmp_path / "open" / ".openclaw"))
    profile = workspace / "IDENTITY.md"
    name = AIEOS["identity"]["names"]["first"]
    text = profile.read_text()
    assert f"**Name:** {name}" in text
    profile.write_text(text.replace(f"**Name:** {name}", "**Name:** Vega"))
    ada.sync()
    ada.adopt("zeroclaw", home)
    wanted: Any = json.loads(json.dumps(AIEOS))
    wanted["identity"]["names"]["first"] = "Vega"
    assert json.loads((home / "identity.json").read_text()) == wanted
