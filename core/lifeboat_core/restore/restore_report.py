"""The report of a restore: its receipt, and what the command prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec

from lifeboat_adapters.persona.derivation_files import iter_table_rows
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import reason_code, reason_text
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_core.agents import withheld_items
from lifeboat_core.restore import full_receipt
from lifeboat_core.restore.credential_fates import CredentialFate, find_lacking_capabilities
from lifeboat_core.restore.database_plan import is_table
from lifeboat_core.restore.file_decisions import PlanItem, RestoreAction
from lifeboat_core.restore.plan_warnings import DAMAGED_RECORD
from lifeboat_core.restore.restore_plan import RestorePlan
from lifeboat_core.restore.restore_summary import summarize_restore
from lifeboat_core.restore.state_things import MEMORY, ROW
from lifeboat_core.restore.wanted_contents import DAMAGED
from lifeboat_core.state.state_documents import load_credentials
from lifeboat_core.texts.readable_json import make_printable
from lifeboat_vault.errors import VaultDamaged


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The receipt. `files` counts created, overwritten, same, removed and skipped names. `steps` are the runtime's own
    commands that ran, with their results; `next` those left to the user. `safety` is the sequence captured before an
    in-place restore, `captured` the one after it, `not_captured` what that one lacks, with the reason. `moved_away` are
    paths of files that were not in place any more when the restore ended; `undo` says whether `lifeboat undo` can take
    it back. `state_dir` is the state directory if one was named. `credential_details` say what became of each
    credential, if they were asked for, and `capabilities_without` which capabilities lack one. `withheld` are archive
    paths of files, ids of memories and names of rows (`PATH#NAME`) that may be missing because this restore did not
    write them. `left_out` is what the state cannot provide, `lacking` every file that lacks credentials: either makes
    the restore a partial one. `without_credentials` names files of the runtime that are written although their
    credentials were cut out. `gaps` are archive paths of files with placeholders. `objects` is the number of things in
    the archive, `outcomes` counts them by outcome, `fates` lists them with equal ones merged. `with_credentials` says
    whether credentials were put back."""

    agent: str
    name: str
    sequence: int
    to: str
    runtime: str
    files: dict[str, int]
    records: dict[str, int]
    credentials: dict[str, int]
    receipt: str
    warnings: list[str]
    time: str
    kind: str = "restore"
    signature: str = "signed"
    in_place: bool = False
    adopted: bool = False
    safety: int | None = None
    captured: int | None = None
    not_captured: dict[str, str] = field(default_factory=dict)
    moved_away: list[str] = field(default_factory=list)
    undo: bool = False
    recovered: bool = False
    skipped: list[JsonObject] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)
    absent: list[JsonObject] = field(default_factory=list)
    capabilities_missing: list[JsonObject] = field(default_factory=list)
    state_dir: str | None = None
    credential_details: list[JsonObject] = field(default_factory=list)
    capabilities_without: list[JsonObject] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    without_credentials: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    steps: list[JsonObject] = field(default_factory=list)
    next: list[JsonObject] = field(default_factory=list)
    objects: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    fates: list[JsonObject] = field(default_factory=list)
    with_credentials: bool = False

    def to_json(self) -> JsonObject:
        document = asdict(self)
        return {**document, "summary": summarize_restore(document)}

    @classmethod
    def from_json(cls, document: JsonObject) -> RestoreReport:
        return msgspec.convert(document, cls)


def draft_report(plan: RestorePlan, time: str, **fields: Any) -> RestoreReport:
    """Return the report of a plan before it is carried out."""
    return RestoreReport(
        agent=plan.agent_id,
        name=plan.agent_name,
        sequence=plan.sequence,
        to=make_printable(str(plan.target)),
        runtime=plan.runtime,
        files=plan.file_counts(),
        credentials=count_credentials(plan, plan.fates),
        receipt=plan.id,
        warnings=[*plan.warnings, *describe_hazards(plan)],
        time=time,
        signature=str(plan.verdict),
        in_place=plan.in_place,
        skipped=_skipped(plan),
        left_out=[*map(_lost, plan.lost()), *map(_lost_memory, plan.lost_memories())],
        absent=[{"filename": make_printable(each.filename), "size": each.size} for each in plan.contents.absent],
        capabilities_missing=plan.capabilities,
        state_dir=_state_dir(plan),
        credential_details=[fate.to_json() for fate in plan.fates],
        capabilities_without=find_lacking_capabilities(plan.state, plan.fates) if plan.filler is not None else [],
        withheld=list_withheld(plan),
        lacking=[make_printable(item.name) for item in plan.lacking()],
        without_credentials=[make_printable(name) for name in plan.without_credentials],
        gaps=list_gaps(plan),
        with_credentials=plan.filler is not None,
        **_receipt(plan, plan.fates),
        **fields,
    )


def describe_hazards(plan: RestorePlan) -> Iterator[str]:
    """Return what is written of an unsigned state and some tool runs or obeys."""
    return (f"could run on this machine: {line}" for line in plan.executable)


def _skipped(plan: RestorePlan) -> list[JsonObject]:
    by_name = plan.warned_by_name()
    return [
        {
            "name": make_printable(item.name),
            "code": full_receipt.decide_end(item).code,
            "reason": reason_text(item.reason) or "",
            "reason_code": reason_code(item.reason) or "",
            "warning": None if item.seen is not None else "named" if (item.root, item.name) in by_name else "counted",
        }
        for item in plan.skipped()
    ]


def _lost(item: PlanItem) -> dict[str, str]:
    return {"name": make_printable(item.name), "code": item.lost, "reason": reason_text(item.reason) or ""}


def _lost_memory(record_id: str) -> dict[str, str]:
    return {"name": f"memory {record_id}", "code": DAMAGED, "reason": DAMAGED_RECORD}


def _receipt(plan: RestorePlan, fates: Sequence[CredentialFate]) -> JsonObject:
    made = full_receipt.make_receipt(plan, fates)
    return {"records": {"restored": made.standing(MEMORY)}, **made.to_json()}


def list_gaps(plan: RestorePlan) -> list[str]:
    """Return the archive paths of files with placeholders instead of their credentials."""
    return sorted(
        item.wanted.path
        for item in plan.lacking()
        if item.wanted is not None and item.wanted.has_gap and item.action != RestoreAction.SKIP
    )


def list_withheld(plan: RestorePlan) -> list[str]:
    """Return what may be missing because this restore does not write it: files, and memories by id, out of which
    credentials were cut and that are not there; damaged files; and rows, which the runtime may get later by its own
    commands."""
    absent = (item.wanted for item in plan.skipped() if item.wanted is not None and item.seen is None)
    damaged = {item.wanted.path for item in plan.lost() if item.wanted is not None and item.lost == DAMAGED}
    rows = {name for write in plan.databases for name in (*write.withheld, *plan.inventory.damaged_records)}
    return sorted({*_rows_left(plan)} | rows | damaged | {wanted.path for wanted in absent if wanted.cuts})


def _rows_left(plan: RestorePlan) -> Iterator[str]:
    told = (fate for write in plan.databases for fate in write.fates if fate.kind == ROW)
    written = {fate.name for fate in told if fate.outcome in full_receipt.STANDING}
    for table in filter(is_table, plan.contents.rows):
        try:
            lines = plan.state.body(table.path).split(b"\n")
        except (BodyAbsent, VaultDamaged, KeyError):
            yield table.path  # the rows are unknown, so the whole file is withheld
            continue
        left = (line for number, line in enumerate(lines, 1) if f"{table.path}#{number}" not in written)
        for values in iter_table_rows(b"\n".join(left)):
            name = withheld_items.list_row_names(plan.adapter, table.path, values)[0]
            yield withheld_items.make_row_name(table.path, name)


def _state_dir(plan: RestorePlan) -> str | None:
    if plan.options.state_dir is None or plan.installation is None:
        return None
    return make_printable(str(plan.installation.state_dir))


def with_fates(report: RestoreReport, plan: RestorePlan, fates: Sequence[CredentialFate]) -> RestoreReport:
    """Return the report after credentials were given to the runtime."""
    return replace(
        report,
        credentials=count_credentials(plan, fates),
        credential_details=[fate.to_json() for fate in fates],
        capabilities_without=find_lacking_capabilities(plan.state, fates),
        **_receipt(plan, fates),
    )


def count_credentials(plan: RestorePlan, fates: Sequence[CredentialFate]) -> dict[str, int]:
    """Return how many credentials were restored and how many were not."""
    injected = sum(fate.is_injected for fate in fates) if fates else len(plan.filled())
    return {"injected": injected, "skipped": len(load_credentials(plan.state)) - injected}
