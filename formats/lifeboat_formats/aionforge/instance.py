"""The tools of a running instance as functions that follow pages, check answers and return nodes.

Available tools are asked for, never inferred from a version. Releases up to 0.3.0 answer with text only and cannot list
their content. Later ones also answer with data and have `memory_census`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from lifeboat_alf.common import ids
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aionforge import aionforge_mapping, nodes, text_form
from lifeboat_formats.aionforge.mcp_client import AnswerLost, InstanceConnection, ToolAnswer
from lifeboat_formats.aionforge.nodes import AionforgeNode
from lifeboat_formats.aionforge.text_form import UnreadableAnswer

READ_AT_ONCE = 16
CENSUS = "memory_census"
_CENSUS_PAGE, _SESSION_PAGE, _WORK_PAGE, _SEARCH_PAGE, _AUDIT_PAGE = 200, 200, 200, 100, 50
_DEEPEST_TREE = 8
_MOST_PAGES = 100_000
AUDIT_KINDS = (
    *("capture", "forget", "purge", "quarantine", "unforget", "pin", "unpin", "attest", "promote", "demote"),
    *("core_edit", "skill_save", "skill_deprecate", "skill_version_diff", "canonicalize", "summarize", "distill"),
    *("link_evolve", "induce_skill", "reliability_update", "importance_recompute", "consolidation_failed"),
    *("subliminal_guard_warning", "drift_warning", "cooled", "namespace_denied", "clock_skew_rejected"),
    *("residue_rejected", "supersedes_rejected", "invalid_signature", "key_rotation", "agent_retired"),
    "work_status_change",
)


class InstanceHit(NamedTuple):
    """A search result."""

    id: str
    kind: str


@dataclass(slots=True)
class AionforgeInstance:
    """An instance, queried as one principal. Every method raises InstanceFailed."""

    connection: InstanceConnection

    @property
    def lists_everything(self) -> bool:
        """Return whether the instance has a census."""
        return CENSUS in self.connection.tools

    def has(self, tool: str) -> bool:
        """Return whether the instance has a tool."""
        return tool in self.connection.tools

    def ask(self, tool: str, *, writes: bool = False, **arguments: Any) -> ToolAnswer:
        """Call a tool once. The principal is passed as the parameters of the tool require."""
        given = {name: value for name, value in arguments.items() if value is not None}
        return self.connection.call(tool, {**self._asking(tool, writes=writes), **given})

    def _asking(self, tool: str, *, writes: bool) -> JsonObject:
        asked, known = self.connection.address.principal, self.connection.tools.get(tool, frozenset())
        if not asked.agent_id or tool in ("server_status", "consolidation_status"):
            return {}
        teams: JsonObject = {"teams": list(asked.teams)} if asked.teams else {}
        if "principal" in known or not known:
            return {"principal": {"agent_id": asked.agent_id, **teams}}
        return {"agent_id": asked.agent_id, **teams} if writes else {"viewer": f"agent:{asked.agent_id}", **teams}

    # What there is ----------------------------------------------------------------------------------------------

    def census(self) -> list[str]:
        """Return the ids of all nodes, each once. Raises AnswerLost if the list does not match its total: a part must
        not pass for the whole."""
        found: dict[str, None] = {}
        total: int | None = None
        for answer in self._pages(CENSUS, {"mode": "list", "kind": "all", "limit": _CENSUS_PAGE}):
            page = _listed(answer, CENSUS)
            total = _total(answer, CENSUS) if total is None else total
            found.update(dict.fromkeys(page))
        if total is not None and len(found) < total:
            raise AnswerLost(f"Aionforge listed only {len(found)} of {total} nodes", fix="try again")
        return list(found)

    def counts(self) -> str:
        """Return the number of nodes of each kind as opaque text, equal as long as nothing changed."""
        answer = self.ask(CENSUS, mode="counts")
        return repr(answer.structured) if answer.structured is not None else answer.text

    def session(self, session_id: str) -> list[str]:
        """Return the ids of the episodes of a session."""
        asked = {"session_id": session_id, "limit": _SESSION_PAGE, "include_superseded": True}
        pages = self._pages("session_manifest", asked)
        return list(dict.fromkeys(id for answer in pages for id in _listed(answer, "session_manifest")))

    def search(self, query: str) -> list[InstanceHit]:
        """Return at most a hundred hits, always including core blocks."""
        answer = self.ask("search", query=query, limit=_SEARCH_PAGE, include_superseded=True)
        found = (answer.structured or {}).get("memories")
        if isinstance(found, list):
            return [
                InstanceHit(nodes.normal_id(str(each.get("id"))), str(each.get("kind")))
                for each in found
                if _has_id(each)
            ]
        with reading_answer("search"):
            said = list(text_form.parse_memories(answer.text))
        return [
            InstanceHit(nodes.normal_id(each.attributes.get("id", "")), each.attributes.get("kind", ""))
            for each in said
        ]

    def work(self) -> tuple[list[str], bool]:
        """Return the ids of work items, and whether the list is complete: an instance lists at most 200 of each
        status."""
        found: dict[str, None] = {}
        full = False
        for status in aionforge_mapping.WORK_STATUSES:
            listed = text_form.ids_by_line(self.ask("work_query", work_status=status, limit=_WORK_PAGE).text)
            full = full or len(listed) >= _WORK_PAGE
            found.update(dict.fromkeys(listed))
        # A full page may hide items. Their trees name some of them.
        for root in list(found) if full else ():
            tree = self.ask("work_tree", root_id=root, depth=_DEEPEST_TREE).text
            found.update(dict.fromkeys(text_form.ids_by_line(tree)))
        return list(found), not full

    def audit(self, kind: str) -> list[JsonObject]:
        """Return the audit events of a kind, newest page first."""
        found: list[JsonObject] = []
        for answer in self._pages("audit_history", {"kind": kind, "limit": _AUDIT_PAGE}):
            events = (answer.structured or {}).get("events")
            if isinstance(events, list):
                found.extend({"kind": kind, **each} for each in events if isinstance(each, dict))
            else:
                found.extend({"kind": kind, "line": line} for line in answer.text.splitlines()[1:] if line.strip())
        return found

    def newest_audit(self, kind: str) -> str:
        """Return the newest page of audit events of a kind as opaque text, equal as long as nothing happened."""
        return self.ask("audit_history", kind=kind, limit=_AUDIT_PAGE).text

    # Reading ----------------------------------------------------------------------------------------------------

    def read(self, wanted: Iterable[str]) -> Iterator[AionforgeNode]:
        """Yield whole nodes, read 16 at a time. Ids that do not exist or may not be read yield nothing."""
        some: list[str] = []
        for id in wanted:
            some.append(id)
            if len(some) == READ_AT_ONCE:
                yield from self._read(some)
                some = []
        if some:
            yield from self._read(some)

    def _read(self, some: Sequence[str]) -> list[AionforgeNode]:
        answer = self.ask("read_memory", memory_ids=list(some), full=True)
        asked = {nodes.normal_id(id) for id in some}
        with reading_answer("read_memory"):
            found = _nodes(answer)
        unasked = [node for node in found if node.id not in asked]
        if unasked:
            raise AnswerLost("Aionforge answered read_memory with other memories than requested")
        return found

    # Pages ------------------------------------------------------------------------------------------------------

    def _pages(self, tool: str, arguments: JsonObject) -> Iterator[ToolAnswer]:
        """Yield all pages. Raises AnswerLost if they repeat or do not end."""
        after: JsonObject | None = None
        seen: set[tuple[str, ...]] = set()
        for _ in range(_MOST_PAGES):
            answer = self.ask(tool, **arguments, after=after)
            yield answer
            after = _next(answer, tool)
            if after is None:
                return
            cursor = tuple(map(str, after.values()))
            if cursor in seen:
                break
            seen.add(cursor)
        raise AnswerLost(f"the list that Aionforge returns for {tool} repeats its pages without end")


def _nodes(answer: ToolAnswer) -> list[AionforgeNode]:
    structured = (answer.structured or {}).get("memories")
    if isinstance(structured, list):
        return [nodes.node_from_data(each) for each in structured]
    said = text_form.parse_figures(answer.text, "read_memory").get("found")
    found = [nodes.node_from_text(each) for each in text_form.parse_memories(answer.text)]
    if said is None or not said.isdecimal() or int(said) != len(found):
        raise UnreadableAnswer("the number of memories in the answer differs from the number that the answer states")
    return found


def _listed(answer: ToolAnswer, tool: str) -> list[str]:
    """Return the ids on a page of a list."""
    said = answer.structured
    if said is not None:
        found = _list_in(said, tool).get("memories" if tool == CENSUS else "episodes")
        if not isinstance(found, list) or not all(map(_has_id, found)):
            raise AnswerLost(f"the answer of Aionforge to {tool} does not contain a list")
        return [nodes.normal_id(each["id"]) for each in found]
    with reading_answer(tool):
        tagged = [nodes.normal_id(each.attributes.get("id", "")) for each in text_form.parse_memories(answer.text)]
        count = text_form.parse_figures(answer.text, tool).get("count")
    found = tagged or text_form.ids_by_line("\n".join(answer.text.splitlines()[1:]))
    if count is None or not count.isdecimal() or int(count) != len(found):
        raise AnswerLost(
            f"the number of entries in the answer of Aionforge to {tool} differs from the number that the answer states"
        )
    return found


def _list_in(said: JsonObject, tool: str) -> JsonObject:
    return as_object(said.get("list")) if tool == CENSUS else said


def _total(answer: ToolAnswer, tool: str) -> int | None:
    """Return the number of entries from this page on."""
    said = None if answer.structured is None else _list_in(answer.structured, tool).get("total_visible")
    if said is None:
        with reading_answer(tool):
            said = text_form.parse_figures(answer.text, tool).get("total_visible", "")
    return int(said) if str(said).isdecimal() else None


def _next(answer: ToolAnswer, tool: str) -> JsonObject | None:
    """Return where the next page begins, stated as data or as `<time>|<id>`."""
    said = answer.structured
    found = None if said is None else _list_in(said, tool).get("next")
    if found is None and said is None:
        with reading_answer(tool):
            found = text_form.parse_figures(answer.text, _HEADS.get(tool, tool)).get("next")
    if isinstance(found, str):
        time, _, id = found.rpartition("|")
        found = {_CLOCKS.get(tool, "ingested_at"): time, "id": id} if time and id else None
    return found if isinstance(found, dict) and found else None


_HEADS = {"audit_history": "audit"}
_CLOCKS = {"audit_history": "occurred_at"}


@contextmanager
def reading_answer(tool: str) -> Iterator[None]:
    """Raise AnswerLost if the answer of a tool cannot be parsed."""
    try:
        yield
    except UnreadableAnswer as error:
        raise AnswerLost(f"the answer of Aionforge to {tool} cannot be read: {error}") from None


def _has_id(found: Any) -> bool:
    return isinstance(found, dict) and isinstance(found.get("id"), str) and ids.is_uuid(found["id"])
