"""Texts of the restore wizard: the plan, the result, and errors."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.documents.restore_documents import Credential, Done, Files, Item, Plan
from lifeboat_core.texts.human_text import count_text, quote_argument, time_text
from lifeboat_tui.cell_text import format_size, make_plain
from lifeboat_tui.screens.restore.restore_command import RestoreChoices
from lifeboat_tui.widgets.question_dialogs import ConfirmDialog
from lifeboat_tui.widgets.row_table import TableCell, TableRow

KEPT = "seven days"
ORDER = ("remove", "overwrite", "create", "skip")
"""Operations in the order of the preview, those that lose data first."""
_KINDS = {"remove": "error", "overwrite": "warning", "create": "success", "skip": "muted", "same": "muted"}
_BASES = {
    "raw": "",
    "artifact": "",
    "merged": "with memories that changed after it was written",
    "structured": "generated from memories",
    "database": "row by row",
}
ALL_OR_NOTHING = "A restore is atomic: the next command finishes or discards an interrupted one."
"""Sentence for a restore with unknown result."""


def format_file_counts(files: Files) -> str:
    counts = {
        "overwritten": files.overwritten,
        "new": files.created,
        "removed": files.removed,
        "the same": files.same,
        "left out": files.skipped,
    }
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none"


def build_restore_rows(plan: Plan) -> list[TableRow]:
    """Return the operations per path, those that lose data first, then rows of databases, then unchanged files."""
    known = {action: at for at, action in enumerate(ORDER)}
    items = sorted(plan.items, key=lambda item: (known.get(item.action, len(known)), item.name))
    rows = [_item_row(item) for item in items]
    for each in plan.databases:
        said = ", ".join(f"{count} to {what}" for what, count in each.rows.items() if count) or "nothing to change"
        rows.append(
            TableRow(f"rows {each.path}", (TableCell("ROWS", "accent"), each.path, "", TableCell(said, "muted")))
        )
    if plan.files.same:
        same = count_text(plan.files.same, "file")
        rows.append(TableRow("same", (TableCell("SAME", "muted"), same, "", TableCell("nothing is written", "muted"))))
    return rows


def _item_row(item: Item) -> TableRow:
    note = item.reason or _BASES.get(item.basis, item.basis)
    kind = "" if item.kind == "file" else f" ({item.kind})"
    cells = (TableCell(item.action.upper(), _KINDS.get(item.action, "")), f"{item.name}{kind}", format_size(item.size))
    return TableRow(f"item {item.name}", (*cells, TableCell(note, "muted")))


def describe_restore_plan(plan: Plan, wanted: RestoreChoices, verified: tuple[str, ...]) -> Iterator[str]:
    """Yield source, target and size of the restore."""
    proof = f", verified {', '.join(_place(each) for each in verified)}" if verified else ""
    source = "" if wanted.remote is None else f" in {wanted.remote}"
    yield f"From   sequence {plan.sequence}{source}, {time_text(plan.time)}{proof}"
    where = "in place" if wanted.in_place else "the agent itself" if wanted.is_adopted else "a copy"
    yield f"To     {plan.to} ({where}), {plan.runtime}"
    only = f"only {' '.join(wanted.paths)}: " if wanted.paths else ""
    yield f"Files  {only}{format_file_counts(plan.files)}. Other files are not changed."
    yield f"Credentials  {_credentials_head(plan)}"


def _place(name: str) -> str:
    return "on this machine" if name == "local" else f"in {name}"


def _credentials_head(plan: Plan) -> str:
    if not plan.with_credentials:
        return "not included (press i to include them)"
    if not plan.credentials:
        return "none to put back"
    back = sum(each.outcome == "injected" for each in plan.credentials)
    left = len(plan.credentials) - back
    return f"{back} put back{f', {left} left out' if left else ''} (press i to leave them out)"


def list_plan_notes(plan: Plan, wanted: RestoreChoices) -> Iterator[tuple[str, str]]:
    """Yield (kind of a style, sentence) for everything that the user should know before the restore."""
    if not plan.is_signed:
        yield "error", "This sequence is not signed, so it may have been changed. R asks you to type a phrase first."
        yield from (("error", line) for line in list_hazards(plan))
        if wanted.with_credentials:
            yield "error", "Credentials are restored only from signed sequences. Press i to leave them out."
    yield from (("error", f"not possible there: {each.name}: {each.reason}") for each in plan.unholdable)
    yield from (("warning", warning) for warning in plan.warnings)
    if plan.running:
        yield "warning", f"Stop {plan.running}, then press ^r to reload."
    for missing in plan.capabilities_missing:
        needs = (
            f": {missing.host_requirements or missing.reason}" if missing.host_requirements or missing.reason else ""
        )
        yield "warning", f"This machine lacks what {missing.name} needs{needs}"
    yield from (("", line) for line in map(_credential, plan.credentials))
    yield "", _safety(plan, wanted)


def list_hazards(plan: Plan | None) -> list[str]:
    """Return what tools of this machine would execute or follow from an unsigned state."""
    if plan is None:
        return ["The preview lists what may be executed here. Nothing is written before you accept that as well."]
    if not plan.executable:
        return ["It contains nothing that a known tool would execute."]
    return [f"may be executed: {line}" for line in plan.executable]


def _credential(each: Credential) -> str:
    where = f"restored into {each.where}" if each.outcome == "injected" else f"left out: {each.reason or 'unknown'}"
    todo = f"; {each.reissue}" if each.reissue else ""
    return f"{each.label} {where}{todo}"


def _safety(plan: Plan, wanted: RestoreChoices) -> str:
    if not plan.changes:
        return "The workspace equals this sequence: there is nothing to do."
    if wanted.in_place:
        return f"The current workspace is captured first. You can undo the restore for {KEPT}."
    if plan.files.overwritten or plan.files.removed:
        return f"Replaced files are kept for {KEPT}, so that you can undo the restore."
    return "No existing file is replaced."


def describe_restored(done: Done) -> Iterator[tuple[str, str]]:
    """Yield what was restored as (kind of a style, sentence)."""
    if done.kind == "undo":
        yield "success", f"The last restore of {done.name} was undone in {done.to}."
    elif done.left_out:
        lost = count_text(len(done.left_out), "file")
        yield "warning", f"Restored sequence {done.sequence} of {done.name} to {done.to}, without {lost}."
    else:
        yield "success", f"Restored sequence {done.sequence} of {done.name} to {done.to}."
    yield "", f"Files: {format_file_counts(done.files)}."
    if done.kind != "undo":
        yield "", f"Memories: {done.records.restored}."
        yield from _credentials_done(done)
    if done.safety is not None:
        yield "", f"The state before the restore is sequence {done.safety}."
    yield from (("warning", warning) for warning in done.warnings)
    yield from (("warning", f"This machine lacks what {each.name} needs.") for each in done.capabilities_missing)
    if done.adopted:
        yield "", f"This machine now writes {done.name}; the previous machine can no longer push."
    if done.undo:
        yield (
            "",
            f"To undo it within {KEPT}: press u, or run lifeboat undo {quote_argument(make_plain(done.name))}",
        )


def _credentials_done(done: Done) -> Iterator[tuple[str, str]]:
    counts = done.credentials
    if counts.injected or counts.skipped:
        left = f", {counts.skipped} left out" if counts.skipped else ""
        yield "", f"Credentials: {counts.injected} restored{left}."
    for each in done.credential_details:
        if each.reissue or each.outcome != "injected":
            why = each.reason or "restored"
            yield "warning", f"{each.label}: {why}{f'; {each.reissue}' if each.reissue else ''}"
    for capability in done.capabilities_without:
        yield "warning", f"{capability.name} does not work without {', '.join(capability.credentials)}"


_HELPS = {
    "target_changed": "The preview below shows the current state. Press R to restore.",
    "busy": "Press R to try again when it has finished.",
    "runtime_running": "Stop it, then press R to try again. Otherwise it would overwrite the restored files.",
    "disk_full": "Free some space and press R, or press esc to choose another folder.",
    "unreachable": "Press R to try again, or esc to choose another remote or this machine.",
    "network": "Press R to try again, or esc to choose another remote or this machine.",
    "target_refused": "Press esc to choose another folder.",
    "names_do_not_fit": "Press esc to choose another folder.",
    "key_locked": "Press U to unlock it, or i to leave the credentials out.",
    "needs_key": "Press 4 to open the keys, or i to leave the credentials out.",
    "keyring_locked": "Unlock the keyring of your desktop, or press i to leave the credentials out.",
    "unsigned": "Press A to accept it; you have to type a phrase.",
    "signed_by_another": "Press A to accept it without credentials; you have to type a phrase.",
    "signed_by_compromised": "Press A to accept it without credentials; you have to type a phrase.",
    "device_revoked": "Press A to accept it without credentials; you have to type a phrase.",
    "nothing_to_restore": "Press esc to choose something else.",
    "unknown_sequence": "Press esc to choose another one.",
    "moved_elsewhere": "Press R to take the agent over to this machine.",
}
"""Advice on this screen, by error code."""
UNPROVEN = frozenset({"unsigned", "signed_by_another", "signed_by_compromised", "device_revoked"})
"""Error codes that a typed phrase can overcome."""
UNCERTAIN = frozenset({"command_lost", "worker_failed", "cancelled"})
"""Error codes after which the result has to be looked up."""


def describe_trouble(error: LifeboatError) -> Iterator[str]:
    """Yield what failed, and the advice of this screen or the command that helps."""
    yield f"{error.title}: {error.message}".rstrip(".") + "."
    helps = _HELPS.get(error.code)
    if helps is not None:
        yield helps
    elif error.fix:
        yield f"What helps: {error.fix}"


def build_takeover_dialog(error: LifeboatError, machine: str) -> ConfirmDialog:
    """Return the dialog that confirms that this machine takes an agent over, by typing the name of the other one."""
    lines = [
        f"{error.message}.",
        "If the agent still runs there, stop it first. Otherwise both copies change independently.",
    ]
    return ConfirmDialog("Take over the agent?", lines, yes="Take it over", phrase=machine)
