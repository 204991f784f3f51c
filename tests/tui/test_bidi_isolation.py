"""Right-to-left text does not reorder other cells of the dashboard."""

from __future__ import annotations

import copy
import re

import pytest
from textual.driver import Driver

from lifeboat_core.texts.safe_text import END_OF_ISOLATE, ISOLATE
from lifeboat_tui.bidi_isolation import isolate_right_to_left, make_isolating_driver
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.widgets.row_table import RowTable, TableRow
from support.tui.pilots import dashboard, recorded, settled

NAME = "\u05e9\u05dc\u05d5\u05dd"
ISOLATED = f"{ISOLATE}{NAME}{END_OF_ISOLATE}"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (f"\x1b[1m{NAME}   \x1b[0m\x1b[2mb\x1b[0m", f"\x1b[1m{ISOLATED}   \x1b[0m\x1b[2mb\x1b[0m"),
        (f"  {NAME}  5 MB", f"  {ISOLATED}  5 MB"),
        (f"\u2502{NAME}\u2502", f"\u2502{ISOLATED}\u2502"),
        (f"a {NAME} b", f"{ISOLATE}a {NAME} b{END_OF_ISOLATE}"),
        (f"\x1b]8;;{NAME}\x07x", f"\x1b]8;;{NAME}\x07x"),
        ("\x1b[1mcaf\u00e9 \u6f22\x1b[0m", "\x1b[1mcaf\u00e9 \u6f22\x1b[0m"),
    ],
)
def test_each_piece_of_text_is_isolated(written: str, expected: str) -> None:
    assert isolate_right_to_left(written) == expected


def test_a_driver_writes_isolated_pieces() -> None:
    written: list[str] = []

    class Kept(Driver):
        def write(self, data: str) -> None:
            written.append(data)

        def start_application_mode(self) -> None: ...

        def disable_input(self) -> None: ...

        def stop_application_mode(self) -> None: ...

    driver = object.__new__(make_isolating_driver(Kept))
    driver.write(NAME)
    assert written == [ISOLATED]


def with_name(name: str) -> RecordedLink:
    link = recorded()
    for words, shared in link._answers.items():
        answer = link._answers[words] = copy.deepcopy(shared)  # the recording is shared with other tests
        for agent in answer.document.get("agents", ()) if isinstance(answer.document, dict) else ():
            if isinstance(agent, dict) and "name" in agent:
                agent["name"] = name
    return link


@pytest.mark.anyio
@pytest.mark.parametrize("first", [True, False])
async def test_a_row_as_it_reaches_the_terminal_isolates_each_cell_and_no_border(first: bool) -> None:
    async with dashboard(with_name(NAME)) as pilot:
        table = pilot.app.screen.query_one(RowTable)
        cells = (NAME, "plain") if first else ("plain", NAME)
        table.show([TableRow("a", cells * len(table.columns))])
        await settled(pilot)
        console = pilot.app.console
        sent = isolate_right_to_left(
            pilot.app.screen._compositor.render_update(full=True, simplify=first).render_segments(console)
        )
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sent)
        found = re.findall(f"{ISOLATE}([^{ISOLATE}{END_OF_ISOLATE}]*){END_OF_ISOLATE}", shown)
        assert found and all(set(text) <= set(f"{NAME}\u2026 ") or "plain" not in text for text in found)
        assert shown.count(ISOLATE) == shown.count(END_OF_ISOLATE) == len(found)
        outside = re.sub(f"{ISOLATE}[^{END_OF_ISOLATE}]*{END_OF_ISOLATE}", "", shown)
        assert not set(NAME) & set(outside)
