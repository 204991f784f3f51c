"""Show a plan, and what it would change in the text of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lifeboat_adapters.item_fates import count_outcomes
from lifeboat_adapters.memory_stores import DatabaseWrite
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.seams.file_operations import FileOperations, SystemFiles, read_all
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_core.restore.credential_fates import CredentialFate
from lifeboat_core.restore.file_decisions import PlanItem, RestoreAction
from lifeboat_core.restore.restore_plan import RestorePlan
from lifeboat_core.restore.restore_staging import FileStager
from lifeboat_core.restore.secret_hiding import HideFile
from lifeboat_core.restore.wanted_contents import FILE, MERGED
from lifeboat_core.texts.human_text import count_text, time_text
from lifeboat_core.texts.safe_text import name_text
from lifeboat_core.texts.unified_diffs import unified_diff_lines

LARGEST_BYTES = 256 * 1024
"""Larger files take seconds to compare line by line, and the result is not readable."""
MOST_LINES = 200
MOST_NAMES = 50


class FileDiff(NamedTuple):
    """`text` is a unified diff; `cut` says that lines were left out."""

    name: str
    text: str
    cut: bool


def make_unified_diff(name: str, old: bytes | None, new: bytes | None, most_lines: int = MOST_LINES) -> FileDiff | None:
    """Return the difference between two texts (None: missing). Return None if one is binary or too large, or both are
    equal."""
    texts = _text(old), _text(new)
    if texts[0] is None or texts[1] is None or texts[0] == texts[1]:
        return None
    shown = name_text(name)
    before = "/dev/null" if old is None else f"a/{shown}"
    after = "/dev/null" if new is None else f"b/{shown}"
    lines = list(unified_diff_lines(texts[0].splitlines(), texts[1].splitlines(), before, after))
    return FileDiff(name, "\n".join(lines[:most_lines]), len(lines) > most_lines)


def _text(data: bytes | None) -> str | None:
    if data is None:
        return ""
    if len(data) > LARGEST_BYTES or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def diff_plan(plan: RestorePlan, hide: HideFile) -> Iterator[FileDiff]:
    """Yield the diffs of every text file that a plan overwrites or removes. Credentials of the state stay cut, and
    `hide` masks those in files on the disk."""
    files = FilesBeneath(SystemFiles(), [plan.target])
    stage = FileStager(files, plan.state, None)
    for item in plan.items:
        # Files in the state directory are not shown: they may have secrets that no state knows.
        if (
            item.kind == FILE
            and item.root == plan.target
            and item.action in (RestoreAction.OVERWRITE, RestoreAction.REMOVE)
        ):
            found = _diff(files, plan, stage, item, hide)
            if found is not None:
                yield found


def _diff(
    files: FileOperations, plan: RestorePlan, stage: FileStager, item: PlanItem, hide: HideFile
) -> FileDiff | None:
    if item.wanted is not None and item.wanted.cuts:
        return None
    try:
        old = hide(_archive_path(plan, item), read_all(files, item.root / item.name))
        new = stage.bytes_of(item.wanted) if item.wanted is not None else None
    except (OSError, BodyAbsent):
        return None
    return None if old is None else make_unified_diff(item.name, old, new)


def _archive_path(plan: RestorePlan, item: PlanItem) -> str:
    if item.wanted is not None:
        return item.wanted.path
    prefix = archive_layout.raw_prefix if item.root == plan.target else archive_layout.home_prefix
    return prefix(plan.runtime) + item.name


def describe_plan(plan: RestorePlan) -> Iterator[str]:
    """Yield the lines that describe a plan: what happens to which file, and what is left out and why."""
    time = time_text(plan.state.sequence.time)
    yield f"Sequence {plan.sequence} of {plan.agent_name} ({time}) into"
    yield f"  {name_text(plan.target)}"
    shown = [
        item
        for item in plan.items
        if item.action not in (RestoreAction.SAME, RestoreAction.SKIP) and not item.companion
    ]
    yield from (_item_line(plan, item) for item in shown[:MOST_NAMES])
    if len(shown) > MOST_NAMES:
        yield f"  and {len(shown) - MOST_NAMES} more"
    yield from (line for write in plan.databases for line in _row_lines(write))
    if plan.count(RestoreAction.SAME):
        yield f"  unchanged {count_text(plan.count(RestoreAction.SAME), 'file')}"
    yield from plan.warnings
    yield from (_fate_line(fate) for fate in plan.fates)
    yield from (f"could run on this machine: {line}" for line in plan.executable)
    yield from (
        f"the target file system cannot store {name_text(each.name)}: {each.reason}" for each in plan.unholdable
    )


def _row_lines(write: DatabaseWrite) -> Iterator[str]:
    """Yield what becomes of the rows of a database, and of their sources by kind."""
    rows = ", ".join(f"{count} to {operation}" for operation, count in write.counts.items() if count)
    if rows:
        yield f"  {write.path.name}, rows: {rows}"
    for kind in sorted({fate.kind for fate in write.fates}):
        counts = count_outcomes(fate for fate in write.fates if fate.kind == kind)
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
        yield f"  {write.path.name}, {kind}: {outcomes}"


def _item_line(plan: RestorePlan, item: PlanItem) -> str:
    """Describe one file. Those in the state directory have their full path, because both folders may have an `.env`."""
    if item.root == plan.target:
        return f"  {item.action:<9} {name_text(item.name)}"
    is_merged = item.action == RestoreAction.OVERWRITE and item.wanted is not None and item.wanted.basis == MERGED
    return f"  {'add to' if is_merged else item.action:<9} {name_text(item.root / item.name)}"


def _fate_line(fate: CredentialFate) -> str:
    """Describe where a credential goes, or why it is left out."""
    label = name_text(fate.label)
    return (
        f"credential {label} -> {fate.where}" if fate.is_injected else f"credential {label} is left out: {fate.reason}"
    )


def describe_diffs(plan: RestorePlan, hide: HideFile) -> Iterator[str]:
    """Yield the changed lines of every text file that a plan overwrites or removes."""
    for diff in diff_plan(plan, hide):
        yield diff.text
        if diff.cut:
            yield f"(the remaining changes of {name_text(diff.name)} are omitted)"
