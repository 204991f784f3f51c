"""Pictures of every screen at three sizes and without colours. `make pictures` updates them; look at them
afterwards."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from support.paths import TESTS
from support.tui import scenes
from support.tui.scenes import Scene

pytestmark = pytest.mark.anyio


class Picture(SingleFileSnapshotExtension):
    """Snapshot extension that writes one SVG per picture, to be opened in a browser."""

    _write_mode = WriteMode.TEXT
    file_extension = "svg"
    _file_extension = "svg"


@pytest.fixture
def picture(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Picture)


@pytest.mark.parametrize("size", scenes.SIZES)
@pytest.mark.parametrize("scene", scenes.SCENES, ids=lambda scene: scene.name)
async def test_a_screen_looks_as_it_did(
    scene: Scene, size: str, picture: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    if size == "no-color":
        monkeypatch.setenv("NO_COLOR", "1")
    assert re.sub(r"terminal-\d+", "terminal-0", await scenes.drawn(scene, size)) == picture


async def test_every_stored_picture_belongs_to_a_scene() -> None:
    stored = {path.stem for path in (TESTS / "tui" / "__snapshots__" / "test_pictures").glob("*.svg")}
    drawn = {f"test_a_screen_looks_as_it_did[{scene.name}-{size}]" for scene in scenes.SCENES for size in scenes.SIZES}
    assert stored == drawn
