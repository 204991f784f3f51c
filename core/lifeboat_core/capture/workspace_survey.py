"""Locate and scan a workspace before any file is read, and check whether the result is plausible."""

from __future__ import annotations

import hashlib
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass

from lifeboat_adapters.contract import Adapter, CaptureRoot, Installation
from lifeboat_adapters.stable_reads.file_reading import OverLimit, StatKey, Unstable
from lifeboat_alf.archive import archive_layout, archive_names
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_core.capture import ignore_file, root_scan
from lifeboat_core.capture.capture_report import CAPTURE
from lifeboat_core.capture.capture_session import CaptureSession
from lifeboat_core.capture.known_installation import (
    KnownInstallation,
    advise_on_missing,
    find_installation,
    is_workspace_accepted,
)
from lifeboat_core.capture.root_scan import FOLDER, HeldRoots, RootScan
from lifeboat_core.capture.scan_cache import KnownFile
from lifeboat_core.capture.sequence_commit import SEEN_AT

RULES, ROOT, IGNORE, MOUNTS = "rules", "root", "ignore", "mounts"
_NEVER_SEEN = StatKey(-1, -1, -1, -1, 0)


@dataclass(frozen=True, slots=True)
class WorkspaceSurvey:
    """What the scan found. `known` is what the last capture saw; `trusted` says that it belongs to the head, so that
    unchanged stats prove unchanged files. `started_ns` is the file system's time when the scan started."""

    adapter: Adapter
    installed: KnownInstallation
    roots: list[CaptureRoot]
    scan: RootScan
    known: dict[str, KnownFile]
    trusted: bool
    ignore: str
    rules: str
    started_ns: int

    @property
    def installation(self) -> Installation:
        return self.installed.installation

    @property
    def is_empty(self) -> bool:
        """Return whether the workspace has nothing to capture."""
        return not any(name.startswith(self.workspace.prefix) for name in self.scan.found)

    @property
    def workspace(self) -> CaptureRoot:
        return self.roots[0]


def survey_workspace(session: CaptureSession, *, full: bool) -> WorkspaceSurvey | None:
    """Locate and scan the workspace. Return None, with the outcome set in the report, when it is missing. Raises
    AdapterError before the first sequence."""
    # File times come from the system clock, so the injected clock cannot be used here.
    started_ns = time.time_ns()
    adapter = session.context.adapter(session.agent.runtime)
    installed = find_installation(session, adapter)
    if installed is None:
        return None
    roots = list(adapter.roots(installed.installation))
    held = root_scan.HeldRoots(session.context.files, roots)
    text = _ignore_text(session, held, roots[0])
    rules = _rules(adapter, roots, text)
    known, trusted = _known(session, roots, full=full)
    found = root_scan.scan_roots(
        held,
        roots[:1] if installed.lost else roots,
        adapter,
        ignore_file.parse_ignore_file(text),
        known if trusted and session.db.get(RULES) == rules else {},
    )
    found.unread.update({root.prefix: installed.lost for root in roots[1:] if installed.lost})
    found.miss(session.db.get(MOUNTS) or ())
    seen = WorkspaceSurvey(adapter, installed, roots, found, known, trusted, text, rules, started_ns)
    return None if _is_missing(session, seen) else seen


def _ignore_text(session: CaptureSession, files: HeldRoots, workspace: CaptureRoot) -> str:
    """Return the text of `.lifeboatignore`, or the last known one while it cannot be read."""
    try:
        data = files.read_ignore_file(workspace)
    except FileNotFoundError:
        return ""
    except (OSError, OverLimit, Unstable) as error:
        session.report.unread[ignore_file.FILE_NAME] = refusal_reason(error)
        return str(session.db.get(IGNORE) or "")
    if data.count(b"\n") > ignore_file.MOST_LINES:
        session.report.unread[ignore_file.FILE_NAME] = f"the file has more than {ignore_file.MOST_LINES} lines"
        return str(session.db.get(IGNORE) or "")
    return data.decode("utf-8", "replace")


def _rules(adapter: Adapter, roots: list[CaptureRoot], text: str) -> str:
    """Return a digest of everything that decides where names are placed. It is equal as long as every name is placed as
    before."""
    parts = [adapter.runtime, adapter.splitter_version, text]
    return hashlib.sha256(
        json_codec.encode_json([*parts, [[root.prefix, str(root.folder), root.only] for root in roots]])
    ).hexdigest()


def _known(session: CaptureSession, roots: list[CaptureRoot], *, full: bool) -> tuple[dict[str, KnownFile], bool]:
    head = session.head
    if head is not None and not full and session.db.get(SEEN_AT) == head.number:
        return session.db.seen(), True
    return dict(_from_head(session, roots)), False


def _from_head(session: CaptureSession, roots: list[CaptureRoot]) -> Iterator[tuple[str, KnownFile]]:
    """Yield the names that the head says were there, without a stat, so that each of them is read."""
    if session.state is None:
        return
    for number, root in enumerate(roots):
        # The raw file is yielded last, so that it replaces an artifact of the same name.
        for prefix in (archive_layout.ARTIFACTS, root.prefix) if number == 0 else (root.prefix,):
            for entry in session.state.entries(prefix):
                if not entry.path.startswith(f"{root.prefix}db/"):
                    relative = archive_names.to_native_name(entry.path[len(prefix) :], entry.meta.get("name_hex"))
                    mode = stat.S_IFDIR if entry.meta.get("type") == FOLDER else 0
                    yield root.prefix + relative, KnownFile(entry.path, _NEVER_SEEN._replace(mode=mode), False)


def _is_missing(session: CaptureSession, seen: WorkspaceSurvey) -> bool:
    """Return whether the workspace was removed, emptied, or replaced by a folder that has little of what was there."""
    workspace = seen.workspace
    if workspace.prefix in seen.scan.missing_roots:
        session.missing(f"the workspace {workspace.folder} does not exist")
        return True
    held = [name for name in seen.known if name.startswith(workspace.prefix)]
    if not held or session.kind != CAPTURE or workspace.prefix in seen.scan.unread or is_workspace_accepted(session):
        return False
    if seen.is_empty and not seen.scan.skipped:
        session.missing(f"the workspace {workspace.folder} is empty; {advise_on_missing(session)}")
        return True
    return _was_replaced(session, seen, held)


def _was_replaced(session: CaptureSession, seen: WorkspaceSurvey, held: list[str]) -> bool:
    """Return whether another folder stands under the same name. It is accepted if it has most of the former files:
    device numbers change over a reboot, and a restore puts a new folder in place."""
    known = session.db.get(ROOT)
    if known is None or known == seen.scan.files.identity_of(seen.workspace):
        return False
    still = sum(1 for name in held if name in seen.scan.found)
    if still * 2 >= len(held):
        return False
    remaining_files = f"only {still} of the {len(held)} captured files"
    session.missing(
        f"the workspace {seen.workspace.folder} was replaced by another folder with {remaining_files}; "
        f"{advise_on_missing(session)}"
    )
    return True
