"""Print the findings of a doctor, as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from lifeboat_alf.common.doctor_checks import DoctorCheckResult, DoctorLevel
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.documents.doctor_documents import Examination, Finding
from lifeboat_core.texts.human_text import count_text

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
        for one in (each for each in found if not quiet(each)):
            finding = one.finding
            output.line(f"{finding.level:<8} {finding.subject}: {finding.result}", style=_STYLES[finding.level])
            if finding.fix:
                output.verbatim(f"         {finding.fix}")
        if held := sum(map(quiet, found)):
            done = f"passed {count_text(held, 'conformance check')}"
            output.line(f"{'ok':<8} tested with temporary agents: it {done}; --json lists each check")
        output.line(_sum_up(broken, len(found)), style="bold")

    findings = tuple(Finding(one.check, one.title, **asdict(one.finding)) for one in found)
    output.document(Examination(not broken, findings), text)
    return 1 if broken else 0


def _sum_up(broken: int, checks: int) -> str:
    checked = count_text(checks, "check")
    return f"{broken} of {checked} found a problem." if broken else f"No problem found ({checked})."
