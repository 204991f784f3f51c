"""How many requests a WebDAV server gets for a push, from its log: docs/webdav.md has the same figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.core.machines import Machine
from support.core.object_store import Conditions
from support.core.webdav_machines import TOKEN, shorten_waits
from support.core.webdav_servers import small_server
from support.paths import ROOT


@pytest.mark.parametrize(
    ("conditions", "pushed"),
    [
        (Conditions.COMPARED, {"GET": 3, "MOVE": 1, "PUT": 2}),
        (Conditions.IGNORED, {"GET": 6, "MOVE": 2, "PUT": 2}),
    ],
)
def test_a_push_of_one_change_costs_the_requests_that_the_page_says(
    conditions: Conditions, pushed: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_waits(monkeypatch)
    with small_server(conditions) as server:
        laptop = Machine(tmp_path / "laptop")
        laptop.add(name="ada")
        laptop.add_remote("home", server.url(), token=TOKEN, sealed=True)
        laptop.push()
        for day in range(3):
            laptop.write("notes.md", f"day {day}\n")
            laptop.capture()
            server.asked.clear()
            assert laptop.push().state == "ok"
            assert server.counts() == pushed
    figures = f"{pushed['GET']} GET, {pushed['PUT']} PUT and {pushed['MOVE']} MOVE"
    assert figures in " ".join((ROOT / "docs/webdav.md").read_text().split())
