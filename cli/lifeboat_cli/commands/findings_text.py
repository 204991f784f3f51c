"""Print the findings of a doctor, as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict

from lifeboat_alf.common.doctor_checks import DoctorCheckResult, DoctorFinding, DoctorLevel
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.documents.doctor_documents import Examination, Finding
from lifeboat_core.texts.human_text import count_text, join_names

_ORDER = (DoctorLevel.ERROR, DoctorLevel.WARNING, DoctorLevel.OK)
"""What needs attention comes first."""
_STYLES = {DoctorLevel.OK: "green", DoctorLevel.WARNING: "yellow", DoctorLevel.ERROR: "red"}


def print_findings(
    output: CommandOutput,
    found: Sequence[DoctorCheckResult],
    *,
    quiet: Callable[[DoctorCheckResult], bool] = lambda one: False,
) -> int:
    """Print the findings and return the exit status: 1 if something is broken. Findings for which `quiet` is true are
    counted and are in the JSON, but get no line of their own."""
    broken = sum(one.finding.level is DoctorLevel.ERROR for one in found)

    def text() -> None:
        shown = [each for each in found if not quiet(each)]
        with output.pager():
            for finding in _merge_equal(each.finding for each in shown):
                _print_finding(output, finding)
            if held := sum(map(quiet, found)):
                passed = f"passed {count_text(held, 'conformance check')} with temporary agents"
                output.item(_label(DoctorLevel.OK), f"the remote {passed}; to list each check: --json")
            output.line(_sum_up(found), style="bold")

    findings = tuple(Finding(one.check, one.title, **asdict(one.finding)) for one in found)
    output.document(Examination(not broken, findings), text)
    return 1 if broken else 0


def _merge_equal(findings: Iterable[DoctorFinding]) -> list[DoctorFinding]:
    """Return what needs attention first. Findings that say the same of several agents become one line."""
    subjects: dict[tuple[DoctorLevel, str, str | None], list[str]] = {}
    for each in findings:
        subjects.setdefault((each.level, each.result, each.fix), []).append(each.subject)
    merged = [DoctorFinding(level, join_names(names), result, fix) for (level, result, fix), names in subjects.items()]
    return sorted(merged, key=lambda each: _ORDER.index(each.level))


def _print_finding(output: CommandOutput, finding: DoctorFinding) -> None:
    output.item(_label(finding.level), f"{finding.subject}: {finding.result}", style=_STYLES[finding.level])
    if finding.fix:
        output.verbatim(f"{'':<8} {finding.fix}")


def _label(level: DoctorLevel) -> str:
    return f"{level:<8}"


def _sum_up(found: Sequence[DoctorCheckResult]) -> str:
    checked = count_text(len(found), "check")
    levels = [one.finding.level for one in found]
    broken, doubtful = levels.count(DoctorLevel.ERROR), levels.count(DoctorLevel.WARNING)
    warned = f", {count_text(doubtful, 'warning')}" if doubtful else ""
    return f"{broken} of {checked} found a problem{warned}." if broken else f"No problem found in {checked}{warned}."
