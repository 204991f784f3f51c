"""Files that OpenClaw's configuration includes: where they are read, and which links on the way are followed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.openclaw import config_includes

OUTSIDE = {"channels": {"telegram": {"botToken": "1234567890:FAKE-outside"}}}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / ".openclaw"
    folder.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "part.json5").write_text(json.dumps(OUTSIDE))
    return folder


def read(state: Path, named: str, config: Path | None = None) -> config_includes.ResolvedConfig:
    config = config or state / "openclaw.json"
    config.write_text(json.dumps({"$include": named}))
    return config_includes.read_resolved_config(config, state)


def test_no_link_in_the_place_of_an_included_file_leads_out_of_the_runtimes_folder(state: Path) -> None:
    (state / "part.json5").symlink_to("../elsewhere/part.json5")
    with pytest.raises(RuntimeConfigError, match="the path of the file contains a symbolic link"):
        read(state, "./part.json5")


def test_no_link_in_the_place_of_a_folder_leads_out_of_the_runtimes_folder(state: Path) -> None:
    (state / "parts").symlink_to("../elsewhere")
    with pytest.raises(RuntimeConfigError, match="the path of the file contains a symbolic link"):
        read(state, "./parts/part.json5")


def test_no_link_of_an_included_file_that_a_part_includes_leads_out(state: Path) -> None:
    (state / "parts").mkdir()
    (state / "parts/first.json5").write_text('{ $include: "./second.json5" }')
    (state / "parts/second.json5").symlink_to("../../elsewhere/part.json5")
    with pytest.raises(RuntimeConfigError, match="the path of the file contains a symbolic link"):
        read(state, "./parts/first.json5")


def test_no_link_leads_out_where_the_configuration_lies_elsewhere(state: Path, tmp_path: Path) -> None:
    (state / "part.json5").symlink_to("../elsewhere/part.json5")
    config = tmp_path / "configs" / "openclaw.json"
    config.parent.mkdir()
    with pytest.raises(RuntimeConfigError, match="the path of the file contains a symbolic link"):
        read(state, str(state / "part.json5"), config)


def test_a_link_from_one_file_of_the_runtimes_folder_to_another_is_followed(state: Path) -> None:
    (state / "kept").mkdir()
    (state / "kept/part.json5").write_text("{ gateway: { port: 1 } }")
    (state / "part.json5").symlink_to("kept/part.json5")
    whole = read(state, "./part.json5")
    assert whole.values == {"gateway": {"port": 1}}
    assert whole.inside(state) == {"kept/part.json5": ()}


def test_a_runtimes_folder_on_another_disk_includes_its_own_files(state: Path, tmp_path: Path) -> None:
    (state / "part.json5").write_text("{ gateway: { port: 1 } }")
    state.rename(tmp_path / "disk")
    state.symlink_to(tmp_path / "disk")
    whole = read(state, "./part.json5")
    assert whole.values == {"gateway": {"port": 1}}
    assert whole.inside(state) == {"part.json5": ()}


def test_a_file_that_the_configuration_names_outside_of_the_folder_is_read(state: Path) -> None:
    whole = read(state, "../elsewhere/part.json5")
    assert whole.values == OUTSIDE
    assert whole.inside(state) == {}


def test_a_link_that_takes_the_place_of_an_included_file_while_it_is_read_is_not_followed(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = state / "part.json5"
    part.write_text("{}")
    look = os.path.realpath

    def exchanged(path: str | os.PathLike[str]) -> str:
        found = look(path)
        if Path(path) == part and not part.is_symlink():
            part.unlink()
            part.symlink_to("../elsewhere/part.json5")
        return found

    monkeypatch.setattr(os.path, "realpath", exchanged)
    with pytest.raises(RuntimeConfigError, match="the path of the file contains a symbolic link"):
        read(state, "./part.json5")
