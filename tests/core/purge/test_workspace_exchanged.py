"""An agent exchanges a folder of its workspace for a link during a purge: nothing outside is read or changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.seams import held_folder
from lifeboat_core.purge import local_file_search, workspace_purge
from support.core.protected import Protected
from support.core.purged_here import purge
from support.exchanging import ExchangingFiles, everything_in, exchange, needs_exchange

pytestmark = needs_exchange
LINE = "The passport number is C01X00T47."
NOTE = f"# Day\n\n## Papers\n\n{LINE}\n\n## Weather\n\nSunny.\n"


class Jail:
    """An agent whose folder `memory` has a purged line, and can be exchanged for a link to an outside folder with the
    same line."""

    def __init__(self, folder: Path) -> None:
        self.files = ExchangingFiles(folder / "openclaw" / "workspace")
        self.ada = Protected(folder, files=self.files)
        self.memory, self.link, self.outside = (
            self.ada.workspace / "memory",
            self.ada.workspace / "swap",
            folder / "out",
        )
        self.outside.mkdir()
        for name in ("2026-11-11.md", "2026-11-12.md"):
            self.ada.write(f"memory/{name}", NOTE)
            (self.outside / name).write_text(NOTE)
        self.ada.add(name="ada")
        purge(self.ada, texts=["C01X00T47"])
        self.link.symlink_to(self.outside)
        self.before = everything_in(self.outside)

    def exchange(self) -> None:
        exchange(self.memory, self.link)

    def settle(self) -> None:
        self.files.heal()
        if self.memory.is_symlink():
            self.exchange()

    def cut(self) -> list[str]:
        with self.ada.context.vault(self.ada.agent.id) as vault:
            return workspace_purge.purge_workspace(
                self.ada.context,
                self.ada.agent,
                vault,
                workspace_purge.plan_workspace_purge(self.ada.context, self.ada.agent, vault),
            )


@pytest.fixture
def jail(tmp_path: Path) -> Jail:
    return Jail(tmp_path)


@pytest.mark.parametrize("walk", ["in one call", "by components"])
@pytest.mark.parametrize("every", [1, 2, 3])
def test_nothing_outside_is_cut_while_the_agent_exchanges_a_folder_again_and_again(
    jail: Jail, every: int, walk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if walk == "by components":
        monkeypatch.setattr(held_folder, "load_openat2", lambda: None)
    jail.files.before = lambda number: jail.exchange() if number % every == 0 else None
    jail.cut()
    assert everything_in(jail.outside) == jail.before


def test_nothing_outside_is_cut_whenever_the_agent_exchanges_a_folder(jail: Jail) -> None:
    """Exchange once before each operation; the rest is purged when the agent leaves its folder alone."""
    number, reached = 0, 1
    while number < reached:
        number += 1
        jail.settle()
        for name in ("2026-11-11.md", "2026-11-12.md"):
            jail.ada.write(f"memory/{name}", NOTE)
        jail.files.before = lambda count, number=number: jail.exchange() if count == number else None  # type: ignore[misc]
        jail.cut()
        reached = max(reached, jail.files.count)
        assert everything_in(jail.outside) == jail.before, number
    jail.settle()
    jail.cut()
    left = [path for path in jail.memory.iterdir() if path.suffix == ".md" and LINE in path.read_text()]
    assert reached > 12
    assert left == []


def test_what_changed_its_place_between_the_plan_and_the_cut_is_not_in_the_list(jail: Jail) -> None:
    with jail.ada.context.vault(jail.ada.agent.id) as vault:
        cuts = workspace_purge.plan_workspace_purge(jail.ada.context, jail.ada.agent, vault)
        assert len(cuts) == 2
        jail.exchange()
        assert workspace_purge.purge_workspace(jail.ada.context, jail.ada.agent, vault, cuts) == []
    assert everything_in(jail.outside) == jail.before


@pytest.mark.parametrize("every", [1, 2, 3, 5])
def test_a_search_through_the_workspace_sees_nothing_outside(jail: Jail, every: int) -> None:
    word = "only outside"
    for name in ("2026-11-11.md", "2026-11-12.md", "more.md"):
        (jail.outside / name).write_text(word)
    jail.files.before = lambda number: jail.exchange() if number % every == 0 else None
    looked = local_file_search.search_local_files(jail.ada.context, jail.ada.agent, PurgeTerms([word]))
    assert looked.sights == []


def test_a_search_names_a_folder_that_could_not_be_listed(jail: Jail) -> None:
    if os.geteuid() == 0:
        pytest.skip("root lists every folder")
    (jail.ada.workspace / "closed").mkdir(mode=0)
    looked = local_file_search.search_local_files(jail.ada.context, jail.ada.agent, PurgeTerms(["word"]))
    assert any(name.endswith("closed") for name in looked.unread)
    (jail.ada.workspace / "closed").chmod(0o700)
