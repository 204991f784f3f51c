"""Invented files of every AICF dialect, as bytes. No person or company in them is real."""

from __future__ import annotations

import gzip
import json

from lifeboat_formats.aicf.syntax.document_parts import Dialect


def numbered(text: str) -> bytes:
    """Return lines with numbers from 1."""
    lines = text.strip("\n").split("\n")
    return "".join(f"{number}|{line}\n" for number, line in enumerate(lines, 1)).encode()


SPECIFIED = numbered("""
@AICF_VERSION
version=3.1

@SESSION:boat_7
app_name=harbour_desk
user_id=skipper_4
created_at=2026-02-03T07:00:00Z
last_update_time=2026-02-03T08:10:00Z
status=completed
event_count=12

@CONVERSATION:talk_1
timestamp_start=2026-02-03T07:00:00Z
timestamp_end=2026-02-03T08:10:00Z
messages=12
tokens=900
topic=mooring_plan
participants=skipper_4|assistant
platform=desk

@STATE
status=completed
actions=chose a berth \\| told the crew
flow=question|look at tides|decision

@STATE:user
user:preferred_language=Portuguese
user:login_count=15

@STATE:app
app:default_model=small-1

@STATE:temp
temp:step=3

@INSIGHTS
@INSIGHTS the quay floods at spring tide|DATA|HIGH|HIGH|memory_type=semantic
@INSIGHTS moor with two lines \\\\ then a spring|GENERAL|MEDIUM|LOW|memory_type=procedural
@INSIGHTS the cat fell in on\\nMonday|HARBOUR|LOW|HIGH|memory_type=episodic

@DECISIONS
@DECISIONS take berth nine|HIGH|HIGH|it is deep enough

@LINKS
@LINKS talk_1->insight_001|related_to
@LINKS decision_001->insight_001|depends_on
@LINKS talk_1->talk_99|supports

@EMBEDDING:talk_1
model=text-embedding-3-small
dimension=4
vector=0.25,-0.5,0.125,1e-3
indexed_at=2026-02-03T08:11:00Z
keywords=tide|berth

@CONSOLIDATION:week_1
source_items=talk_1|talk_0
consolidated_at=2026-02-07T00:00:00Z
method=semantic_clustering
semantic_theme=mooring
key_facts=berth nine|spring tide floods
information_preserved=95.5%
compression_ratio=0.955

@HARBOUR_LOG:north
wind=force 6
gusts=9

""")

MIXED = b"""1|@AICF_VERSION
2|version=3.1
3|
4|@CONVERSATION:talk_2
5|timestamp_start=2026-03-01T10:00:00Z
6|timestamp_end=2026-03-01T10:30:00Z
8|messages=4
topic=the pump
that broke twice
9|
12|@STATE
13|status=in_progress
cleanup=\"\"\"wash the bilge
12|oil the pump
call the yard\"\"\"
14|actions=look for a seal
"""

BLOCKS = b"""1|@CONVERSATION:talk_3
id=talk_3
timestamp=2026-03-02T09:00:00Z
role=user
content=Is berth 4 free \\| or berth 5?

2|@MEMORY:episodic
id=mem_1
content=The crew sang on the pier, c:\\nautical\\tools
importance=0.8
tags=song|pier

3|@DECISION:dec_1
timestamp=2026-03-02T09:05:00Z
description=Paint the hull blue
impact=MEDIUM
confidence=HIGH
source=talk_3

4|\\@STATE:user
user:colour=blue
"""

COMPILED = b"""@METADATA:
project=harbour
version=1.2

@SESSION:
id=boat_8
app=desk

@CONVERSATION:
m1|2026-03-03T09:00:00Z|user|Where is the spare anchor?
m2|2026-03-03T09:00:05Z|assistant|In the forepeak \\| under the sails

@MEMORY:
semantic|2026-03-03T09:01:00Z|The spare anchor lies in the forepeak|0.9
episodic|2026-03-03T09:02:00Z|The skipper looked for it for an hour

@STATE:
user|language|pt
session|mood|calm

@INSIGHTS:
Keep a list of = what lies where|GENERAL|HIGH|0.9

@DECISIONS:
Label the lockers|so that everybody finds things

@WORK:
w1|open|Print labels

@LINKS:
related_to|m1|w1
"""

BY_HAND = b"""# notes of the boat
```plaintext
@AICF_VERSION 3.1.0
@CONVERSATION:winter
timestamp_start=2026-01-05T10:00:00+01:00
messages=2
topic = "laying up"

@INSIGHTS:engine:CRITICAL
Drain the water before frost
priority=CRITICAL

@STANDARDS|ropes|knots
always a bowline

@DECISIONS
decision_1=Lift the boat in November
decision_2=Sell the old dinghy

@state:user
{"tea": "black", "sugar": false}
```
"""

STREAM = numbered("""
@CONVERSATION:talk_5
timestamp_start=2026-03-05T08:00:00Z
messages=1

@STATE
status=completed

@INSIGHT:talk_5_1
text=The lock opens at eight
category=GENERAL
priority=HIGH
confidence=MEDIUM
timestamp=2026-03-05T08:00:00Z

@STATE
status=completed

@conversations count=1
@insights count=1
""")

ESCAPED_BLOCKS = (
    b"\\@CONVERSATION:talk_6\\ntimestamp_start=2026-03-06T08:00:00Z\\ntopic=fuel\\nmessages=3\n"
    b"\\@MEMORY:semantic\\ncontent=Diesel is cheaper \\| at the north pier\\nimportance=0.4\n"
    b"\\@STATE:user\\nuser:fuel=diesel\n"
)

SCHEMA_DATA = b"""@AICF_VERSION
2.0.0
@CONVERSATIONS
@SCHEMA
C#|TIMESTAMP|TITLE|SUMMARY
@DATA
1|20260105T101500Z|Tides|How the table is read
2|20260106T090000Z|Knots|What = holds \\| what slips

@DECISIONS
@SCHEMA
D#|TIMESTAMP|DECISION|WHY
@DATA
1|20260106T091000Z|Use a bowline|It comes undone again

@LINKS
C:1->D:1|led to it

@HIERARCHY
A:1[A:2,A:3]

@NOTES
The almanac of 1998 = the good one.
# it lies on the chart table
"""

SCHEMA_INDEX = b"""2.0.0
@PROJECT
harbour
@COUNTS
conversations=2
@RECENT_ACTIVITY
20260106T091000Z|decision|Use a bowline
"""

POSITIONAL = b"""1|CONV|conv_001|10|500
2|DATA|conv_001|berth|nine
3|CONV|conv_002|4|120
"""

EIGHT_COLUMNS = b"""C1|20240105|D|ANCHOR|bought a new one|the old one dragged|done|shop.txt
C2|20240106|T|PAINT|blue for the hull|skipper likes it|open|hull.md
"""

JSON_EXPORT = json.dumps(
    {
        "version": "1.0",
        "metadata": {
            "title": "Charts",
            "created": "2024-05-01T10:00:00Z",
            "modified": "2024-05-01T10:20:00Z",
            "source": "desk",
            "platform": "desk",
            "participants": [{"role": "user", "name": "Skipper"}],
            "context": {},
        },
        "messages": [
            {"role": "user", "content": "Which chart is newest?", "timestamp": "2024-05-01T10:00:00Z", "metadata": {}},
            {
                "role": "assistant",
                "content": "The one of 2023 \u2014 \u00e9dition 4",
                "timestamp": None,
                "metadata": {},
            },
        ],
    },
    indent=2,
).encode()

JSON_WEB = json.dumps(
    {
        "version": "3.0",
        "type": "conversation",
        "id": "web_1",
        "timestamp": "2025-02-01T10:00:00Z",
        "source": "web",
        "platform": "web",
        "content": "About the mast",
        "messages": [{"role": "user", "content": "Is the mast straight?"}],
        "decisions": [{"decision": "Tighten the backstay", "rationale": "it leans forward"}],
        "code_changes": [],
        "insights": ["Wood bends in the sun"],
        "technical_context": {"tools": ["level"]},
        "todos": ["Buy a level", {"text": "Measure again", "done": False}],
        "metadata": {"pages": 1},
    },
    ensure_ascii=False,
).encode()

JSON_LISTS = b"""{
\t"conversations": [ {"id": "a", "topic": "wind"} , {"id":"b","topic":"rain"} ],
\t"decisions": [
\t\t{"id": "d1", "decision": "Stay in port", "impact": "HIGH"}
\t]
}
"""

XML = b"""<?xml version="1.0"?>
<AICF version="1.0">
  <conversation id="x1"><message role="user">Fish &amp; chips at the quay?</message></conversation>
</AICF>
"""

END_TAGS = b"""@SUMMARY
topic: winter work
- sand the deck
- oil the teak
[10:02] skipper: we need more varnish
@SUMMARY_END

@DECISIONS
- varnish twice
@DECISIONS_END
Made by hand.
"""

TAGGED_LINES = b"""@TIMESTAMP:2026-04-01T08:00:00Z
@CONTENT:
The crew met at eight.
# Agenda
rope = 20 m | chain = 10 m
@ACTION:buy rope
@MESSAGE:user
Who pays for the rope?
@MESSAGE:assistant
The club does.
"""

KEY_CELLS = b"""version|3.0.0-alpha
timestamp|2026-05-01T08:00:00Z
conversationId|conv_9
userIntents|2026-05-01T08:00:00Z|find a crew|HIGH;2026-05-01T08:05:00Z|leave on Sunday|LOW
aiActions|2026-05-01T08:01:00Z|listed three names
workingOn|crew list
"""

WATCHER = b"""1|@CONVERSATION|conv_10|2026-05-02T08:00:00Z
topic|spare parts
exchange|2026-05-02T08:00:00Z|user|Do we have a spare impeller?
exchange|2026-05-02T08:00:10Z|assistant|Two, in the red box
insight|the red box is full
decision|buy no more impellers
"""

MANUAL = b"""@CONVERSATION:old_1
@FLOW
asked|looked|found
@DETAILS:engine
The belt squeals when cold.
@INSIGHTS
A cold belt slips|rubber hardens|HIGH
@DECISIONS
Replace the belt|it is ten years old|IMPACT:HIGH
"""

PLAIN = b"Dear crew,\nthe boat is called \xe2\x80\xa8Lark\xc2\x85 and 1|2 = 3.\n"

WINDOWS = SPECIFIED.replace(b"\n", b"\r\n")
MIXED_ENDS = b"\xef\xbb\xbf@INSIGHTS\r\n@INSIGHTS a|GENERAL|LOW|LOW\r@DECISIONS\n@DECISIONS b|c\r\n\r\n"

DIALECTS: dict[str, tuple[bytes, Dialect]] = {
    "D1-specified": (SPECIFIED, Dialect.SPECIFIED),
    "D1-windows": (WINDOWS, Dialect.SPECIFIED),
    "D2-mixed-numbers": (MIXED, Dialect.MIXED),
    "D3-blocks": (BLOCKS, Dialect.BLOCKS),
    "D4-compiled": (COMPILED, Dialect.COMPILED),
    "D4-by-hand": (BY_HAND, Dialect.COMPILED),
    "D4-mixed-ends": (MIXED_ENDS, Dialect.COMPILED),
    "D5-stream": (STREAM, Dialect.STREAM),
    "D6-escaped-blocks": (ESCAPED_BLOCKS, Dialect.ESCAPED_BLOCKS),
    "D7-schema-data": (SCHEMA_DATA, Dialect.SCHEMA_DATA),
    "D7-index": (SCHEMA_INDEX, Dialect.SCHEMA_DATA),
    "D8-positional": (POSITIONAL, Dialect.POSITIONAL),
    "D9-eight-columns": (EIGHT_COLUMNS, Dialect.EIGHT_COLUMNS),
    "D10a-json-export": (JSON_EXPORT, Dialect.JSON),
    "D10b-json-web": (JSON_WEB, Dialect.JSON),
    "D10c-json-lists": (JSON_LISTS, Dialect.JSON),
    "D11-xml": (XML, Dialect.XML),
    "D12-end-tags": (END_TAGS, Dialect.END_TAGS),
    "D13-tagged-lines": (TAGGED_LINES, Dialect.TAGGED_LINES),
    "D14-key-cells": (KEY_CELLS, Dialect.KEY_CELLS),
    "D15-watcher": (WATCHER, Dialect.WATCHER),
    "D16-manual": (MANUAL, Dialect.MANUAL),
    "plain": (PLAIN, Dialect.UNKNOWN),
}
"""A name, the file, and what it is read as."""

FILES: dict[str, bytes] = {name: data for name, (data, _) in DIALECTS.items()}


def packed(data: bytes) -> bytes:
    """Return a file as `.aicf.gz` with a name and a time in it, as other writers make it."""
    return gzip.compress(data, 6, mtime=1_700_000_000)
