"""How many requests a bucket gets for a push, from the log of its server: docs/buckets.md has the same figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_core.remotes.probed_store import writer_lease
from support.core.buckets import TOKEN
from support.core.machines import Machine
from support.core.object_store import Conditions, object_store
from support.paths import ROOT


@pytest.mark.parametrize(
    ("conditions", "pushed", "unchanged"),
    [
        (Conditions.COMPARED, {"GET": 3, "PUT": 2}, {"GET": 3}),
        (Conditions.IGNORED, {"GET": 6, "PUT": 2}, {"GET": 3}),
    ],
)
def test_a_push_of_one_change_costs_the_requests_that_the_page_says(
    conditions: Conditions,
    pushed: dict[str, int],
    unchanged: dict[str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_lease, "SETTLING_NEW", 0.01)
    with object_store(conditions) as store:
        laptop = Machine(tmp_path / "laptop")
        laptop.add(name="ada")
        laptop.add_remote("home", store.url(), token=TOKEN, sealed=True)
        laptop.push()
        for day in range(3):
            laptop.write("notes.md", f"day {day}\n")
            laptop.capture()
            store.asked.clear()
            assert laptop.push().state == "ok"
            assert store.counts() == pushed
        store.asked.clear()
        assert laptop.push().state == "ok"
        assert store.counts() == unchanged
    figures = f"{pushed['GET']} GET and {pushed['PUT']} PUT"
    assert figures in " ".join((ROOT / "docs/buckets.md").read_text().split())
