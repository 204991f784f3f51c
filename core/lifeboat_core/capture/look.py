"""The look at a workspace before anything is read: where it is, what lies in it, and whether that can be right."""

from __future__ import annotations

import hashlib
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass

from lifeboat_adapters.contract import Adapter, Installation, Root
from lifeboat_alf import codec, layout
from lifeboat_alf.system_texts import refusal_reason
from lifeboat_core.capture import ignore, names, scan
from lifeboat_core.capture.commit import SEEN_AT
from lifeboat_core.capture.installed import Installed, advice, find, taken_as_it_stands
from lifeboat_core.capture.read import OverLimit, Unstable
from lifeboat_core.capture.report import CAPTURE
from lifeboat_core.capture.scan import FOLDER, HeldRoots, Scan
from lifeboat_core.capture.seen import Known, StatKey
from lifeboat_core.capture.session import Session

RULES, ROOT, IGNORE, MOUNTS = "rules", "root", "ignore", "mounts"
_NEVER_SEEN = StatKey(-1, -1, -1, -1, 0)


@dataclass(frozen=True, slots=True)
class Look:
    """What was found. `known` is what the last capture saw; `trusted` says that it is of the head, so that unchanged
    stats can be believed. `started_ns` is the file system's time of the look."""

    adapter: Adapter
    installed: Installed
    roots: list[Root]
    scan: Scan
    known: dict[str, Known]
    trusted: bool
    ignore: str
    rules: str
    started_ns: int

    @property
    def installation(self) -> Installation:
        return self.installed.installation

    @property
    def is_empty(self) -> bool:
        """Whether the workspace holds nothing to keep."""
        return not any(name.startswith(self.workspace.prefix) for name in self.scan.found)

    @property
    def workspace(self) -> Root:
        return self.roots[0]


def look(session: Session, *, full: bool) -> Look | None:
    """Find and scan the workspace; None, with the outcome set, when it is missing. Raises AdapterError at first."""
    # Files carry the time of the file system, whatever clock the program is given.
    started_ns = time.time_ns()
    adapter = session.context.adapter(session.agent.runtime)
    installed = find(session, adapter)
    if installed is None:
        return None
    roots = list(adapter.roots(installed.installation))
    held = scan.HeldRoots(session.context.files, roots)
    text = _ignore_text(session, held, roots[0])
    rules = _rules(adapter, roots, text)
    known, trusted = _known(session, roots, full=full)
    found = scan.walk(
        held,
        roots[:1] if installed.lost else roots,
        adapter,
        ignore.parse(text),
        known if trusted and session.db.get(RULES) == rules else {},
    )
    found.unread.update({root.prefix: installed.lost for root in roots[1:] if installed.lost})
    found.miss(session.db.get(MOUNTS) or ())
    seen = Look(adapter, installed, roots, found, known, trusted, text, rules, started_ns)
    return None if _is_missing(session, seen) else seen


def _ignore_text(session: Session, files: HeldRoots, workspace: Root) -> str:
    """The text of `.lifeboatignore`; the one last seen while it cannot be read."""
    try:
        data = files.read_ignore_file(workspace)
    except FileNotFoundError:
        return ""
    except (OSError, OverLimit, Unstable) as error:
        session.report.unread[ignore.FILE_NAME] = refusal_reason(error)
        return str(session.db.get(IGNORE) or "")
    if data.count(b"\n") > ignore.MOST_LINES:
        session.report.unread[ignore.FILE_NAME] = f"more than {ignore.MOST_LINES} lines"
        return str(session.db.get(IGNORE) or "")
    return data.decode("utf-8", "replace")


def _rules(adapter: Adapter, roots: list[Root], text: str) -> str:
    """Equal as long as every name would be placed as it was."""
    parts = [adapter.runtime, adapter.splitter_version, text]
    return hashlib.sha256(
        codec.encode([*parts, [[root.prefix, str(root.folder), root.only] for root in roots]])
    ).hexdigest()


def _known(session: Session, roots: list[Root], *, full: bool) -> tuple[dict[str, Known], bool]:
    head = session.head
    if head is not None and not full and session.db.get(SEEN_AT) == head.number:
        return session.db.seen(), True
    return dict(_from_head(session, roots)), False


def _from_head(session: Session, roots: list[Root]) -> Iterator[tuple[str, Known]]:
    """Names that the head says were there, without a stat: every one of them is read."""
    if session.state is None:
        return
    for number, root in enumerate(roots):
        # Of an artifact and a raw file of one name the artifact is dropped before anything is looked up here.
        for prefix in (layout.ARTIFACTS, root.prefix) if number == 0 else (root.prefix,):
            for entry in session.state.entries(prefix):
                if not entry.path.startswith(f"{root.prefix}db/"):
                    relative = names.native_name(entry.path[len(prefix) :], entry.meta.get("name_hex"))
                    mode = stat.S_IFDIR if entry.meta.get("type") == FOLDER else 0
                    yield root.prefix + relative, Known(entry.path, _NEVER_SEEN._replace(mode=mode), False)


def _is_missing(session: Session, seen: Look) -> bool:
    """Whether the workspace went, was emptied, or is another folder that holds little of what was there."""
    workspace = seen.workspace
    if workspace.prefix in seen.scan.missing_roots:
        session.missing(f"{workspace.folder} is not there")
        return True
    held = [name for name in seen.known if name.startswith(workspace.prefix)]
    if not held or session.kind != CAPTURE or workspace.prefix in seen.scan.unread or taken_as_it_stands(session):
        return False
    if seen.is_empty and not seen.scan.skipped:
        session.missing(f"{workspace.folder} is empty; {advice(session)}")
        return True
    return _was_replaced(session, seen, held)


def _was_replaced(session: Session, seen: Look, held: list[str]) -> bool:
    """Another folder under the same name is only believed when most of what was there is there again: devices get
    other numbers over a reboot, and a restore puts a new folder in place."""
    known = session.db.get(ROOT)
    if known is None or known == seen.scan.files.identity_of(seen.workspace):
        return False
    still = sum(1 for name in held if name in seen.scan.found)
    if still * 2 >= len(held):
        return False
    count = f"{still} of {len(held)} files"
    session.missing(f"{seen.workspace.folder} is another folder than before, with {count}; {advice(session)}")
    return True
