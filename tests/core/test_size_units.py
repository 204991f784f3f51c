"""Sizes are read and printed in one system of units: 1 KB is 1,024 bytes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli import program
from lifeboat_core.settings.settings_table import SETTINGS, parse_size
from support.cli.cli_client import run
from support.docs.doc_pages import ROOT
from support.packages import PACKAGES


@pytest.mark.parametrize("entered", ["1KB", "100KB", "50MB", "999MB", "50GB", "2TB", "20TB"])
def test_a_size_is_printed_as_it_was_entered(entered: str) -> None:
    assert size_text(parse_size(entered)).replace(".0 ", "") == entered


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (1536, "1.5 KB"), (1023 << 10, "1.0 MB"), (5000 << 40, "5000.0 TB")],
)
def test_a_size_has_at_most_three_digits_before_the_point(count: int, text: str) -> None:
    assert size_text(count) == text


def test_the_default_of_every_size_is_printed_as_the_table_of_settings_writes_it() -> None:
    sizes = [setting for setting in SETTINGS.values() if setting.parse is parse_size]
    assert len(sizes) >= 6
    for setting in sizes:
        assert size_text(parse_size(setting.default)).replace(".0 ", "") == str(setting.default).replace(" ", "")


def test_a_quota_is_answered_in_the_units_in_which_it_was_entered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ("--data", str(tmp_path / "endpoint"))
    run("endpoint", "tenant", "add", "office", *data)
    assert program.run_command(["endpoint", "tenant", "quota", "office", "50GB", *data]) == 0
    assert "50.0 GB" in capsys.readouterr().out


def test_no_other_code_divides_bytes_for_people() -> None:
    """A power of ten beside the name of a unit would be the other system."""
    powers = re.compile(r"(10\*\*[369]|1e[369]|1_000_000).*\b[KMG]B\b|\b[KMG]B\b.*(10\*\*[369]|1e[369]|1_000_000)")
    found = [
        f"{path.name}: {line.strip()}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for line in path.read_text().splitlines()
        if powers.search(line)
    ]
    assert found == []
