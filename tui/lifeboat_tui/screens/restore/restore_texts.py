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
    "database": "Lifeboat writes single rows of this database",
}
ALL_OR_NOTHING = "If the restore was interrupted, the next lifeboat command completes it or discards it as a whole."
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
        said = ", ".join(f"{count} to {what}" for what, count in each.rows.items() if count) or "no row changes"
        rows.append(
            TableRow(f"rows {each.path}", (TableCell("ROWS", "accent"), each.path, "", TableCell(said, "muted")))
        )
    if plan.files.same:
        same = count_text(plan.files.same, "file")
        rows.append(
            TableRow("same", (TableCell("SAME", "muted"), same, "", TableCell("these files stay unchanged", "muted")))
        )
    return rows


def _item_row(item: Item) -> TableRow:
    note = item.reason or _BASES.get(item.basis, item.basis)
    kind = "" if item.kind == "file" else f" ({item.kind})"
    cells = (TableCell(item.action.upper(), _KINDS.get(item.action, "")), f"{item.name}{kind}", format_size(item.size))
    return TableRow(f"item {item.name}", (*cells, TableCell(note, "muted")))


def describe_restore_plan(plan: Plan, wanted: RestoreChoices, verified: tuple[str, ...]) -> Iterator[str]:
    """Yield source, target and size of the restore."""
    proof = f", verified {', '.join(_place(each) for each in verified)}" if verified else ""
    source = "" if wanted.remote is None else f" on the remote {wanted.remote}"
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
        return "none stored"
    back = sum(each.outcome == "injected" for each in plan.credentials)
    left = len(plan.credentials) - back
    return f"{back} will be restored{f', {left} will not' if left else ''} (press i to restore none)"


def list_plan_notes(plan: Plan, wanted: RestoreChoices) -> Iterator[tuple[str, str]]:
    """Yield (kind of a style, sentence) for everything that the user should know before the restore."""
    if not plan.is_signed:
        yield (
            "error",
            (
                "This sequence has no valid signature, so a person or a program may have changed it. If "
                "you press R, you must type a phrase to confirm."
            ),
        )
        yield from (("error", line) for line in list_hazards(plan))
        if wanted.with_credentials:
            yield (
                "error",
                (
                    "Credentials are restored only from a sequence with a valid signature. Press i to "
                    "restore without credentials."
                ),
            )
    yield from (
        ("error", f"{each.name} cannot be written to the target folder: {each.reason}") for each in plan.unholdable
    )
    yield from (("warning", warning) for warning in plan.warnings)
    if plan.running:
        yield "warning", f"{plan.running} is running. Stop it, then press Ctrl-R to reload the preview."
    for missing in plan.capabilities_missing:
        needs = (
            f": {missing.host_requirements or missing.reason}" if missing.host_requirements or missing.reason else ""
        )
        yield "warning", f"{missing.name} will not work, because a requirement is missing on this machine{needs}"
    yield from (("", line) for line in map(_credential, plan.credentials))
    yield "", _safety(plan, wanted)


def list_hazards(plan: Plan | None) -> list[str]:
    """Return what tools of this machine would execute or follow from an unsigned state."""
    if plan is None:
        return [
            "The preview lists the files that programs on this machine could execute. Nothing is written "
            "before you accept that list too."
        ]
    if not plan.executable:
        return ["Lifeboat found no file in this sequence that a runtime or another known program would run by itself."]
    return [f"a program on this machine could run: {line}" for line in plan.executable]


def _credential(each: Credential) -> str:
    where = (
        f"will be restored into {each.where}"
        if each.outcome == "injected"
        else f"will not be restored: {each.reason or 'unknown reason'}"
    )
    todo = f"; {each.reissue}" if each.reissue else ""
    return f"{each.label} {where}{todo}"


def _safety(plan: Plan, wanted: RestoreChoices) -> str:
    if not plan.changes:
        return "The workspace is the same as this sequence, so there is nothing to restore."
    if wanted.in_place:
        return f"The current workspace is captured first. You can undo the restore for {KEPT}."
    if plan.files.overwritten or plan.files.removed:
        return f"Replaced files are kept for {KEPT}, so that you can undo the restore."
    return "The restore replaces no existing file."


def describe_restored(done: Done) -> Iterator[tuple[str, str]]:
    """Yield what was restored as (kind of a style, sentence)."""
    if done.kind == "undo":
        yield "success", f"The last restore of {done.name} to {done.to} was undone."
    elif done.left_out:
        lost = count_text(len(done.left_out), "file")
        yield (
            "warning",
            f"Restored sequence {done.sequence} of {done.name} to {done.to}, but {lost} could not be restored.",
        )
    else:
        yield "success", f"Restored sequence {done.sequence} of {done.name} to {done.to}."
    yield "", f"Files: {format_file_counts(done.files)}."
    if done.kind != "undo":
        yield "", f"Memories: {done.records.restored} restored."
        yield from _credentials_done(done)
    if done.safety is not None:
        yield "", f"The state from before the restore was captured as sequence {done.safety}."
    yield from (("warning", warning) for warning in done.warnings)
    yield from (
        ("warning", f"{each.name} will not work, because a requirement is missing on this machine.")
        for each in done.capabilities_missing
    )
    if done.adopted:
        yield "", f"This machine is now the writer of {done.name}; the previous writer can no longer push."
    if done.undo:
        yield (
            "",
            f"To undo this restore within {KEPT}: press u, or run lifeboat undo "
            f"{quote_argument(make_plain(done.name))}",
        )


def _credentials_done(done: Done) -> Iterator[tuple[str, str]]:
    counts = done.credentials
    if counts.injected or counts.skipped:
        left = f", {counts.skipped} not restored" if counts.skipped else ""
        yield "", f"Credentials: {counts.injected} restored{left}."
    for each in done.credential_details:
        if each.reissue or each.outcome != "injected":
            why = each.reason or "restored"
            yield "warning", f"{each.label}: {why}{f'; {each.reissue}' if each.reissue else ''}"
    for capability in done.capabilities_without:
        yield "warning", f"{capability.name} does not work without {', '.join(capability.credentials)}"


_HELPS = {
    "target_changed": "The new preview below shows the current files. Press R to restore.",
    "busy": "When the other command has finished, press R to try again.",
    "runtime_running": "Stop the runtime, because it would overwrite the restored files. Then press R to try again.",
    "disk_full": "Free some disk space and press R, or press esc to choose another folder.",
    "unreachable": "Press R to try again, or esc to choose another source.",
    "network": "Press R to try again, or esc to choose another source.",
    "target_refused": "Press esc to choose another folder.",
    "names_do_not_fit": "Press esc to choose another folder.",
    "key_locked": "Press U to unlock your key, or i to restore without credentials.",
    "needs_key": "Press 4 to open the screen of your key, or i to restore without credentials.",
    "keyring_locked": "Unlock the keyring of your desktop, or press i to restore without credentials.",
    "unsigned": "Press A to accept this sequence anyway; you have to type a phrase.",
    "signed_by_another": "Press A to restore this sequence anyway, without credentials; you have to type a phrase.",
    "signed_by_compromised": "Press A to restore this sequence anyway, without credentials; you have to type a phrase.",
    "device_revoked": "Press A to restore this sequence anyway, without credentials; you have to type a phrase.",
    "nothing_to_restore": "Press esc to change what is restored.",
    "unknown_sequence": "Press esc to choose another sequence.",
    "moved_elsewhere": "Press R to make this machine the writer of the agent.",
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
        yield f"To fix this: {error.fix}"


def build_takeover_dialog(error: LifeboatError, machine: str) -> ConfirmDialog:
    """Return the dialog that confirms that this machine takes an agent over, by typing the name of the other one."""
    lines = [
        f"{error.message}.",
        "If the agent still runs on the other machine, stop it there first. Otherwise both copies change "
        "independently.",
    ]
    return ConfirmDialog("Make this machine the writer of the agent?", lines, yes="Become the writer", phrase=machine)
