"""What `doctor` prints: problems first, one line for what several agents share, and nothing broken at 80 columns."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from lifeboat_alf.common.doctor_checks import DoctorCheckResult, DoctorFinding, DoctorLevel
from lifeboat_cli.commands.findings_text import print_findings
from lifeboat_cli.terminal.output import CommandOutput

_SIGNED, _ALONE = "the newest state matches its signature", "its only copy is on this disk"
_FOUND = [
    DoctorCheckResult("vaults", "Vaults", DoctorFinding(DoctorLevel.OK, "ada", _SIGNED)),
    DoctorCheckResult("vaults", "Vaults", DoctorFinding(DoctorLevel.OK, "bo", _SIGNED)),
    DoctorCheckResult("copies", "Copies", DoctorFinding(DoctorLevel.WARNING, "ada", _ALONE, "lifeboat remote add")),
    DoctorCheckResult(
        "disk", "Disk", DoctorFinding(DoctorLevel.ERROR, "/srv/ada", "the disk is full" + ", really" * 9)
    ),
]


def _printed(*, as_json: bool = False) -> tuple[int, str]:
    output, said = CommandOutput(as_json=as_json), io.StringIO()
    output.console = Console(file=said, width=80, height=100, force_terminal=True, color_system=None, soft_wrap=True)
    return print_findings(output, _FOUND), said.getvalue()


def test_problems_come_first_and_equal_findings_are_one_line() -> None:
    status, said = _printed()
    lines = said.splitlines()
    assert status == 1
    assert [line[:8].strip() for line in lines if line[:8].strip()] == ["error", "warning", "ok", "1 of 4 c"]
    assert "ok       ada and bo: the newest state matches its signature" in lines
    assert lines[-1] == "1 of 4 checks found a problem, 1 warning."


def test_further_lines_begin_below_the_first_word_of_the_finding() -> None:
    lines = _printed()[1].splitlines()
    assert lines[0].startswith("error    /srv/ada: the disk is full") and lines[1].startswith("         really")
    assert max(map(len, lines)) <= 80


def test_json_has_every_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert _printed(as_json=True)[0] == 1
    assert len(json.loads(capsys.readouterr().out)["findings"]) == len(_FOUND)
