from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_adapters.contract import NextStep
from lifeboat_adapters.zeroclaw import ADAPTER
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import zeroclaw_installs as installs
from support.adapters import zeroclaw_restores as restores

PROGRAM = Path("/opt/example/bin/zeroclaw")
VECTORS = '[memory]\nembedding_provider = "openai"\n'


def steps(install: installs.Install, settings: str = "", program: Path | None = PROGRAM) -> list[NextStep]:
    config = install.home / "config.toml"
    config.write_text(config.read_text().replace("[memory]\n", settings or "[memory]\n"))
    return ADAPTER.placement.next_steps(replace(restores.located(install), program=program), MemoryState())


def commands(found: list[NextStep]) -> list[str]:
    return [" ".join(step.command[1:]) for step in found]


def test_the_vectors_are_computed_again_and_the_installation_is_checked(tmp_path: Path) -> None:
    assert commands(steps(installs.make_install(tmp_path / "home"))) == ["memory reindex", "doctor"]


def test_an_early_configuration_can_be_brought_up_to_date(tmp_path: Path) -> None:
    assert commands(steps(installs.make_install(tmp_path / "home", "0.5.9")))[0] == "config migrate"


@pytest.mark.parametrize(
    ("settings", "program", "automatic"), [(VECTORS, PROGRAM, True), (VECTORS, None, False), ("", PROGRAM, False)]
)
def test_the_re_index_runs_by_itself_where_there_are_vectors_and_a_program(
    tmp_path: Path, settings: str, program: Path | None, automatic: bool
) -> None:
    assert steps(installs.make_install(tmp_path / "home"), settings, program)[0].automatic is automatic


def test_notes_have_no_vectors_to_compute(tmp_path: Path) -> None:
    install = installs.make_install(tmp_path / "home")
    config = install.home / "config.toml"
    config.write_text(config.read_text().replace("sqlite.default", "markdown"))
    assert commands(steps(install)) == ["doctor"]


def test_commands_are_for_this_home(tmp_path: Path) -> None:
    install = installs.make_install(tmp_path / "home")
    assert {step.environment["ZEROCLAW_CONFIG_DIR"] for step in steps(install)} == {str(install.home)}
