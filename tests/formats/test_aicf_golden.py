"""The meaning of invented files of older dialects: time, role, topic and text."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aicf.output.file_patching import rejoin_file
from lifeboat_formats.aicf.records import file_memories
from lifeboat_formats.aicf.records.file_pieces import FilePiece
from lifeboat_formats.aicf.syntax.document import Dialect, emit_document, parse_document

DAY = "2026-10-02T08:00:00.000Z"


class Expected(NamedTuple):
    """A memory that a file has to give: words of its text, and its time, role and topic if it has them."""

    words: str
    event: str | None
    role: str | None = None
    topic: str | None = None
    is_decision: bool = False


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


# A file of each dialect: what it says by meaning ----------------------------------------------------------------------

LATER = "2026-10-02T08:05:00.000Z"
MIDNIGHT = "2026-10-02T00:00:00.000Z"

DIALECTS: dict[str, tuple[str, list[Expected]]] = {
    "numbered": (
        "1|@AICF_VERSION\n2|version=3.1\n3|\n4|@CONVERSATION:c1\n5|timestamp_start=2026-10-02T08:00:00Z\n"
        "6|timestamp_end=2026-10-02T08:05:00Z\n7|messages=4\n8|topic=the boat\n9|\n10|@DECISIONS\n"
        "11|@DECISIONS Paint it red|HIGH|HIGH|It is seen from afar\n12|@INSIGHTS\n"
        "13|@INSIGHTS Red fades|DATA|LOW|LOW\n",
        [
            Expected("the boat", DAY, None, "the boat"),
            Expected("Paint it red\n\nRationale: It is seen from afar", LATER, is_decision=True),
            Expected("Red fades", LATER),
        ],
    ),
    "numbers with gaps": (
        "1|@CONVERSATION:c1\n2|timestamp_start=2026-10-02T08:00:00Z\nuser_topics=boats\n9|messages=2\n"
        "10|ai_actions=looked for the boat\n",
        [Expected("actions: looked for the boat", DAY, None, "boats")],
    ),
    "one number for each block": (
        "1|@CONVERSATION:c1\nid=c1\ntimestamp=2026-10-02T08:00:00Z\nrole=user\ncontent=Where is the boat?\n\n"
        "2|@DECISION:d1\ntimestamp=2026-10-02T08:05:00Z\ndecision=Paint it red\nimpact=LOW\n",
        [Expected("Where is the boat?", DAY, "user"), Expected("Paint it red", LATER, is_decision=True)],
    ),
    "compiled": (
        "@METADATA:\nproject=boats\n\n@CONVERSATION:\nm1|2026-10-02T08:00:00Z|user|Where is the boat?\n"
        "m2|2026-10-02T08:05:00Z|assistant|In the harbour.\n\n@DECISIONS:\nPaint it red|It is seen from afar\n",
        [
            Expected("Where is the boat?", DAY, "user"),
            Expected("In the harbour.", LATER, "assistant"),
            Expected("Paint it red\n\nRationale: It is seen from afar", DAY, is_decision=True),
        ],
    ),
    "by hand, with numbered fields": (
        '@CONVERSATION:c1\ntimestamp_start=2026-10-02T08:00:00Z\ntopic = "the boat"\n\n@DECISIONS\n'
        "decision_1=Paint it red\nrationale_1=It is seen from afar\nimpact_1=HIGH\ndecision_2=Sell the dinghy\n"
        "rationale_2=It leaks\n",
        [
            Expected("the boat", DAY, None, "the boat"),
            Expected("Paint it red\n\nRationale: It is seen from afar", DAY, is_decision=True),
            Expected("Sell the dinghy\n\nRationale: It leaks", DAY, is_decision=True),
        ],
    ),
    "numbered fields, all decisions first": (
        "@TIMESTAMP:2026-10-02T08:00:00Z\n@DECISIONS\ndecision_1=Paint it red\ndecision_2=Sell the dinghy\n"
        "rationale_1=It is seen from afar\nrationale_2=It leaks\n",
        [
            Expected("Paint it red\n\nRationale: It is seen from afar", DAY, is_decision=True),
            Expected("Sell the dinghy\n\nRationale: It leaks", DAY, is_decision=True),
        ],
    ),
    "stream": (
        "1|@CONVERSATION:c1\n2|timestamp_start=2026-10-02T08:00:00Z\n3|title=the boat\n4|messages=1\n5|@STATE\n"
        "6|status=completed\n7|\n8|@INSIGHT:i1\n9|text=Red fades\n10|category=DATA\n11|priority=LOW\n"
        "12|confidence=LOW\n13|timestamp=2026-10-02T08:05:00Z\n14|@conversations count=1\n",
        [Expected("the boat", DAY, None, "the boat"), Expected("Red fades", LATER)],
    ),
    "escaped blocks": (
        "\\@CONVERSATION:c1\\ntimestamp_start=2026-10-02T08:00:00Z\\ntopic=the boat\\nmessages=3\n"
        "\\@DECISION:d1\\ntimestamp=2026-10-02T08:05:00Z\\ndescription=Paint it red\n",
        [Expected("the boat", DAY, None, "the boat"), Expected("Paint it red", LATER, is_decision=True)],
    ),
    "schema and data": (
        "@AICF_VERSION\n2.0.0\n@CONVERSATIONS\n@SCHEMA\nC#|TIMESTAMP|TITLE|SUMMARY\n@DATA\n"
        "1|20261002T080000Z|the boat|Where it lies\n",
        [Expected("TITLE: the boat", DAY)],
    ),
    "positions without names": (
        "1|CONV|c1|2|500|2026-10-02T08:00:00Z\n2|DATA|user_message|Where is the boat?\n"
        "3|DATA|assistant_message|2026-10-02T08:05:00Z|In the harbour \\| at berth nine.\n4|DATA|It is red.\n",
        [
            Expected("Conversation c1: 2 messages, 500 tokens", DAY),
            Expected("Where is the boat?", DAY, "user"),
            Expected("In the harbour | at berth nine.", LATER, "assistant"),
            Expected("It is red.", DAY),
        ],
    ),
    "eight columns": (
        "C1|20261002|D|BOAT|paint it red|it is seen from afar|done|boat.txt\n"
        "C2|20261002|T|ROPE|buy rope|the old one is worn|open|shop.txt\n",
        [Expected("paint it red", MIDNIGHT), Expected("buy rope", MIDNIGHT)],
    ),
    "JSON of an editor": (
        '{"version": "1.0", "metadata": {"title": "the boat", "created": "2026-10-02T08:00:00Z"}, "messages": '
        '[{"role": "user", "content": "Where is the boat?"}, {"role": "assistant", "content": "In the harbour."}]}',
        [Expected("user: Where is the boat?\n\nassistant: In the harbour.", DAY, None, "the boat")],
    ),
    "JSON of the web": (
        '{"version": "3.0", "type": "conversation", "timestamp": "2026-10-02T08:00:00Z", "messages": '
        '[{"role": "user", "content": "Red?"}], "decisions": [{"decision": "Paint it red", "rationale": "Seen"}], '
        '"insights": ["Red fades"]}',
        [
            Expected("user: Red?", DAY),
            Expected("Paint it red\n\nRationale: Seen", DAY, is_decision=True),
            Expected("Red fades", DAY),
        ],
    ),
    "JSON lists": (
        '{"conversations": [{"id": "a", "topic": "the boat", "date": "2026-10-02T08:00:00Z"}], '
        '"decisions": [{"decision": "Paint it red", "created_at": "2026-10-02T08:05:00Z"}]}',
        [Expected("the boat", DAY, None, "the boat"), Expected("Paint it red", LATER, is_decision=True)],
    ),
    "XML": (
        '<?xml version="1.0"?>\n<AICF version="1.0"><conversation><topic>the boat</topic>'
        '<timestamp>2026-10-02T08:00:00Z</timestamp><message role="user">Where is it?</message>'
        "</conversation></AICF>\n",
        [Expected("Where is it?", DAY, "user", "the boat")],
    ),
    "XML of two conversations": (
        '<?xml version="1.0"?>\n<AICF version="1.0"><metadata><created>2026-10-02T00:00:00Z</created></metadata>\n'
        '<conversation id="c1"><title>the boat</title><timestamp>2026-10-02T08:00:00Z</timestamp><messages>\n'
        '<message role="user">Where is it?</message>\n<message><role>assistant</role>'
        "<content>In the &lt;old&gt; harbour.</content><timestamp>2026-10-02T08:05:00Z</timestamp></message>\n"
        "</messages><decision><description>Paint it red</description><rationale>It is seen</rationale></decision>"
        "<insight>Red fades</insight><summary>All is well.</summary></conversation>\n"
        '<conversation topic="rope"><message sender="user"><![CDATA[Is a < b?]]></message></conversation></AICF>\n',
        [
            Expected("Conversation c1: the boat", DAY, None, "the boat"),
            Expected("Where is it?", DAY, "user", "the boat"),
            Expected("In the <old> harbour.", LATER, "assistant", "the boat"),
            Expected("Paint it red\n\nRationale: It is seen", DAY, is_decision=True),
            Expected("Red fades", DAY),
            Expected("All is well.", DAY),
            Expected("Conversation: rope", MIDNIGHT, None, "rope"),
            Expected("Is a < b?", MIDNIGHT, "user", "rope"),
        ],
    ),
    "XML with attributes": (
        '<AICF version="1.0"><message role="user" timestamp="2026-10-02T08:00:00Z">Where is it?</message></AICF>\n',
        [Expected("Where is it?", DAY, "user")],
    ),
    "end tags": (
        "@CONVERSATION\n[2026-10-02T08:00:00Z] user: Where is the boat?\n"
        "[2026-10-02T08:05:00Z] assistant: In the harbour.\n@CONVERSATION_END\n"
        "@SUMMARY\ntopic: the boat\n- it is red\n@SUMMARY_END\n@DECISIONS\n- Paint it red\n@DECISIONS_END\n",
        [
            Expected("Where is the boat?", DAY, "user"),
            Expected("In the harbour.", LATER, "assistant"),
            Expected("it is red", DAY, None, "the boat"),
            Expected("Paint it red", DAY, is_decision=True),
        ],
    ),
    "a tag for each line": (
        "@TIMESTAMP:2026-10-02T08:00:00Z\n@CONTENT:\nThe crew met.\n@MESSAGE:user\nWhere is the boat?\n"
        "@TIMESTAMP:2026-10-02T08:05:00Z\n@MESSAGE:assistant\nIn the harbour.\n",
        [
            Expected("The crew met.", DAY),
            Expected("Where is the boat?", DAY, "user"),
            Expected("In the harbour.", LATER, "assistant"),
        ],
    ),
    "keys and cells": (
        "version|3.0.0-alpha\ntimestamp|2026-10-02T08:00:00Z\nconversationId|c1\n"
        "userIntents|2026-10-02T08:00:00Z|find the boat|HIGH\n",
        [Expected("find the boat", DAY)],
    ),
    "written as it went on": (
        "1|@CONVERSATION|c1|2026-10-02T08:00:00Z\ntopic|the boat\nexchange|2026-10-02T08:05:00Z|user|Where is it?\n"
        "insight|Red fades\ndecision|Paint it red\n",
        [
            Expected("the boat", DAY, None, "the boat"),
            Expected("Where is it?", LATER, "user"),
            Expected("Red fades", DAY),
            Expected("Paint it red", DAY, is_decision=True),
        ],
    ),
    "manual": (
        "@CONVERSATION:c1\n@FLOW\nasked|looked|found\n@TIMESTAMP:2026-10-02T08:00:00Z\n@DETAILS:hull\nIt is red.\n"
        "@INSIGHTS\nRed fades|the sun|HIGH\n@DECISIONS\nPaint it red|It is seen from afar|IMPACT:HIGH\n",
        [
            Expected("It is red.", DAY),
            Expected("Red fades", DAY),
            Expected("Paint it red\n\nRationale: It is seen from afar", DAY, is_decision=True),
        ],
    ),
}


OF_DIALECT = {
    Dialect.SPECIFIED: "numbered",
    Dialect.MIXED: "numbers with gaps",
    Dialect.BLOCKS: "one number for each block",
    Dialect.COMPILED: "compiled",
    Dialect.STREAM: "stream",
    Dialect.ESCAPED_BLOCKS: "escaped blocks",
    Dialect.SCHEMA_DATA: "schema and data",
    Dialect.POSITIONAL: "positions without names",
    Dialect.EIGHT_COLUMNS: "eight columns",
    Dialect.JSON: "JSON of the web",
    Dialect.XML: "XML of two conversations",
    Dialect.END_TAGS: "end tags",
    Dialect.TAGGED_LINES: "a tag for each line",
    Dialect.KEY_CELLS: "keys and cells",
    Dialect.WATCHER: "written as it went on",
    Dialect.MANUAL: "manual",
}
"""A file for each dialect that a file can be told to be of."""


def memories(text: str) -> list[tuple[FilePiece, JsonObject]]:
    return list(file_memories.read_memories(text.encode(), "golden.aicf").memories())


@pytest.mark.parametrize("name", [*GOLDEN, *DIALECTS])
def test_a_file_says_when_who_about_what_and_what_was_decided(name: str) -> None:
    text, expected = {**GOLDEN, **DIALECTS}[name]
    found = memories(text)
    for want in expected:
        (record,) = (record for _, record in found if want.words in record["content"])
        assert record["temporal"]["created_at"] == want.event
        assert record["x_aicf"].get("role") == want.role
        topics = [tag for tag in record.get("tags") or [] if tag.startswith("topic:")]
        assert topics == ([] if want.topic is None else [f"topic:{want.topic}"])
        if name in DIALECTS:
            assert (record["category"] == "aicf:decision") is want.is_decision


def test_each_dialect_has_a_file() -> None:
    assert OF_DIALECT.keys() == set(Dialect) - {Dialect.UNKNOWN}
    for dialect, name in OF_DIALECT.items():
        assert parse_document(DIALECTS[name][0].encode()).dialect is dialect


def test_a_file_says_no_more_than_is_expected_of_it() -> None:
    """Every memory of the XML file and of the positional file is expected."""
    for name in ("positions without names", "XML of two conversations"):
        text, expected = DIALECTS[name]
        assert [record["content"] for _, record in memories(text)] == [want.words for want in expected]


@pytest.mark.parametrize("name", DIALECTS)
def test_a_file_of_each_dialect_comes_out_as_it_came_in(name: str) -> None:
    data = DIALECTS[name][0].encode()
    assert emit_document(parse_document(data)) == data


def test_one_message_of_an_xml_file_changes_in_its_place() -> None:
    text = DIALECTS["XML of two conversations"][0]
    names = [str(record["id"]) for _, record in memories(text)]
    now = {name: str(record["content"]) for name, (_, record) in zip(names, memories(text), strict=True)}
    changed = rejoin_file(text, names, {**now, names[1]: "Where & when?"})
    assert changed == text.replace("Where is it?", "Where &amp; when?")
    del now[names[0]]
    without = rejoin_file(text, names, now)
    assert without is not None and "the boat" not in without and "<conversation>\n<message role" in without


def test_one_message_of_a_positional_file_changes_in_its_place() -> None:
    text = DIALECTS["positions without names"][0]
    names = [str(record["id"]) for _, record in memories(text)]
    now = {name: str(record["content"]) for name, (_, record) in zip(names, memories(text), strict=True)}
    changed = rejoin_file(text, names, {**now, names[2]: "At sea | far out."})
    assert changed == text.replace("In the harbour \\| at berth nine.", "At sea \\| far out.")


@pytest.mark.parametrize("tags", ["<conversation>", "<message>", "</message>", "<!--", "<![CDATA[", "<a b='"])
def test_xml_that_is_never_closed_is_read_whole(tags: str) -> None:
    data = f'<AICF version="1.0"><message>Red.</message>{tags * 300}'.encode()
    assert emit_document(parse_document(data)) == data
    assert "Red." in [record["content"] for _, record in memories(data.decode())]


def test_a_time_set_in_the_file_is_not_that_of_a_block_with_its_own() -> None:
    text = "@TIMESTAMP:2026-10-01T08:00:00Z\n@MEMORY:semantic\ntimestamp=2026-10-02T08:00:00Z\ncontent=Red.\n"
    (record,) = (record for _, record in memories(text) if "Red." in record["content"])
    assert record["temporal"]["created_at"] == DAY


def test_a_text_that_is_no_time_sets_none() -> None:
    ((piece, _),) = memories("@VOYAGE:v1\ndate=soon\nport=Lisbon\n")
    assert piece.made is not None and piece.made.event is None


def test_a_dash_inside_a_decision_stays() -> None:
    ((_, record),) = memories("@DECISIONS\nPaint it red - or green\n")
    assert record["content"] == "Paint it red - or green"
