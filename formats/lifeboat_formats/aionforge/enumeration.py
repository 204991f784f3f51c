"""Lists what an instance holds, and whether the list is complete.

Releases with a census report that themselves. Older ones have no list: nodes captured earlier, known sessions, the
results of many searches, and the nodes that those name are combined. Such a list is never called complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lifeboat_alf.common import ids
from lifeboat_formats.aionforge import nodes
from lifeboat_formats.aionforge.instance import AionforgeInstance
from lifeboat_formats.aionforge.nodes import AionforgeNode
from lifeboat_formats.interchange.contract import FormatNotice

INCOMPLETE = "enumeration_incomplete"
WORK_INCOMPLETE = "work_incomplete"
_QUERIES = (
    *("the", "a", "user", "agent", "I", "is", "has", "was", "prefers", "uses", "works on", "is based in"),
    *("project", "meeting", "decision", "error", "how to", "today", "remember", "question", "name", "always", "never"),
)
_WHY = (
    "the export may be incomplete, because Aionforge 0.3.0 and older cannot list all memories. It contains "
    "memories already captured here, memories of the named sessions, and search results"
)
_MOST_WORDS = 60
_MOST_ROUNDS = 50
_WORD = re.compile(r"[^\W\d_]{4,30}")


@dataclass(slots=True)
class ListedNodes:
    """Ids of everything that was found, each once, in order of appearance. `cores` are those of core blocks."""

    ids: dict[str, None] = field(default_factory=dict)
    cores: dict[str, None] = field(default_factory=dict)
    notices: list[FormatNotice] = field(default_factory=list)

    def add(self, found: Iterable[str]) -> None:
        self.ids.update(dict.fromkeys(found))


def list_nodes(instance: AionforgeInstance, known: Iterable[str] = (), sessions: Iterable[str] = ()) -> ListedNodes:
    """List everything that the principal may see. `known` are ids and `sessions` session ids from earlier. Raises
    InstanceFailed."""
    found = ListedNodes()
    if instance.lists_everything:
        found.add(instance.census())
        _search(instance, found, _QUERIES[:1])
    else:
        found.add(known)
        for session in sessions:
            found.add(instance.session(session))
        _search(instance, found, _QUERIES)
        found.notices.append(FormatNotice(INCOMPLETE, _WHY))
    _work(instance, found)
    return found


def read_nodes(instance: AionforgeInstance, found: ListedNodes) -> Iterator[AionforgeNode]:
    """Yield all listed nodes except core blocks.

    Without a census also yield the nodes that those name, the rest of their sessions, and the results of searches for
    their words. Their ids are added to `found`.
    """
    waiting = [id for id in found.ids if id not in found.cores]
    walk = _NodeWalk(instance)
    for _ in range(_MOST_ROUNDS):
        for node in instance.read(waiting):
            yield node
            walk.take(node)
        if instance.lists_everything:
            return
        waiting = [id for id in dict.fromkeys(walk.more()) if id not in found.ids and id not in found.cores]
        if not waiting:
            return
        found.add(waiting)


@dataclass(slots=True)
class _NodeWalk:
    """Collects what nodes lead to. Each session and each word is asked for once."""

    instance: AionforgeInstance
    named: list[str] = field(default_factory=list)
    sessions: dict[str, bool] = field(default_factory=dict)
    words: dict[str, bool] = field(default_factory=dict)

    def take(self, node: AionforgeNode) -> None:
        """Note what a node leads to."""
        names = (node.fields.get(name) for name in ("supersedes", "superseded_by", "parent"))
        self.named.extend(nodes.normal_id(id) for id in names if isinstance(id, str) and ids.is_uuid(id))
        session = node.fields.get("session_id")
        if isinstance(session, str) and session:
            self.sessions.setdefault(session, False)
        for word in _WORD.findall(node.text[:400])[:8]:
            if len(self.words) < _MOST_WORDS:
                self.words.setdefault(word.lower(), False)

    def more(self) -> Iterator[str]:
        """Yield the ids that the notes lead to and that were not asked for yet."""
        yield from self.named
        self.named = []
        for session in [name for name, was_asked in self.sessions.items() if not was_asked]:
            self.sessions[session] = True
            yield from self.instance.session(session)
        for word in [word for word, was_asked in self.words.items() if not was_asked]:
            self.words[word] = True
            yield from (hit.id for hit in self.instance.search(word) if hit.kind != nodes.CORE)


def list_core_ids(instance: AionforgeInstance) -> list[str]:
    """Return the ids of core blocks, which every search returns."""
    found = ListedNodes()
    _search(instance, found, _QUERIES[:1])
    return list(found.cores)


def _search(instance: AionforgeInstance, found: ListedNodes, queries: Iterable[str]) -> None:
    for query in queries:
        for hit in instance.search(query):
            if not ids.is_uuid(hit.id):
                continue
            (found.cores if hit.kind == nodes.CORE else found.ids)[hit.id] = None


def _work(instance: AionforgeInstance, found: ListedNodes) -> None:
    if not instance.has("work_query"):
        return
    listed, is_all = instance.work()
    found.add(listed)
    if not is_all:
        text = "some work items may be missing, because Aionforge lists at most 200 for each status"
        found.notices.append(FormatNotice(WORK_INCOMPLETE, text))
