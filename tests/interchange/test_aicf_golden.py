"""What invented files of older dialects say, by meaning: when, who, about what."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from lifeboat_adapters.aicf.document import parse
from lifeboat_adapters.aicf.pieces import Piece, pieces_of

DAY = "2026-10-02T08:00:00.000Z"


class Expected(NamedTuple):
    """A memory that a file has to give: words in its text, its time, its role and its topic, where it has them."""

    words: str
    event: str | None
    role: str | None = None
    topic: str | None = None


GOLDEN: dict[str, tuple[str, list[Expected]]] = {
    "block with timestamp": (
        "@CONVERSATION:c1\ntimestamp=2026-10-02T08:00:00Z\nrole=user\ncontent=Where is the boat?\n",
        [Expected("Where is the boat?", DAY, "user")],
    ),
    "block with date": (
        "@CONVERSATION:c1\ndate=2026-10-02T08:00:00Z\ntitle=The boat\nmessages=4\n",
        [Expected("The boat", DAY, None, "The boat")],
    ),
    "numbered block with user topics": (
        "1|@CONVERSATION:c1\n2|timestamp_start=2026-10-02T08:00:00Z\n3|user_topics=boats\n4|messages=2\n",
        [Expected("boats", DAY, None, "boats")],
    ),
    "unknown block with a date": (
        "@VOYAGE:v1\ndate=2026-10-02T08:00:00Z\nport=Lisbon\n",
        [Expected("Lisbon", DAY)],
    ),
    "work with a date": (
        "@WORK:w1\ncreated_at=2026-10-02T08:00:00Z\nstatus=open\ndescription=Scrape the hull\n",
        [Expected("Scrape the hull", DAY)],
    ),
    "decision with created_at": (
        "@DECISION:d1\ncreated_at=2026-10-02T08:00:00Z\ndescription=Paint it red\nrationale=It is seen from afar\n",
        [Expected("Paint it red", DAY)],
    ),
    "insight with date": (
        "@INSIGHT:i1\ndate=2026-10-02\ntext=Red fades\n",
        [Expected("Red fades", "2026-10-02T00:00:00.000Z")],
    ),
    "tag per line": (
        "@TIMESTAMP:2026-10-02T08:00:00Z\n@MESSAGE:user\nWhere is the boat?\n@MESSAGE:assistant\nIn the harbour.\n",
        [Expected("Where is the boat?", DAY, "user"), Expected("In the harbour.", DAY, "assistant")],
    ),
    "time under its tag": (
        "@TIMESTAMP:\n2026-10-02T08:00:00Z\n@CONTENT:\nThe boat is red.\n",
        [Expected("The boat is red.", DAY)],
    ),
    "rows after a time": (
        "@TIMESTAMP:2026-10-02T08:00:00Z\n@INSIGHTS\nRed fades|GENERAL|HIGH|HIGH\n",
        [Expected("Red fades", DAY)],
    ),
}


def memories(text: str) -> list[Piece]:
    return [piece for piece in pieces_of(parse(text.encode())) if piece.made is not None]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_file_says_when_who_and_about_what(name: str) -> None:
    text, expected = GOLDEN[name]
    found = memories(text)
    for want in expected:
        (piece,) = (each for each in found if each.made is not None and want.words in each.made.text)
        made = piece.made
        assert made is not None
        assert made.event == want.event
        assert made.own.get("role") == want.role
        if want.topic is not None:
            assert f"topic:{want.topic}" in (made.fields.get("tags") or [])


def test_a_time_set_in_the_file_is_not_that_of_a_block_with_its_own() -> None:
    text = "@TIMESTAMP:2026-10-01T08:00:00Z\n@MEMORY:semantic\ntimestamp=2026-10-02T08:00:00Z\ncontent=Red.\n"
    (piece,) = (each for each in memories(text) if each.made is not None and "Red." in each.made.text)
    assert piece.made is not None and piece.made.event == DAY


def test_a_text_that_is_no_time_sets_none() -> None:
    (piece,) = memories("@VOYAGE:v1\ndate=soon\nport=Lisbon\n")
    assert piece.made is not None and piece.made.event is None
