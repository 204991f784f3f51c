"""Metrics for Prometheus: the content of the file, read by a parser that accepts only the format."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.errors import SystemRefused
from lifeboat_core.health.agent_status import WORST_FIRST, AgentStatus
from lifeboat_core.health.remote_health import RemoteFacts
from lifeboat_daemon.notices import metrics_file
from lifeboat_daemon.notices.metrics_file import AgentMetrics, DaemonMetrics

ADA = AgentStatus(
    "0197fd80-0000-7000-8000-000000000001",
    "ada",
    "openclaw",
    "/srv/ada/agent",
    state="overdue",
    sequence=7,
    last_captured_at="2026-11-20T12:00:00.500Z",
    last_verified_at="2026-11-20T10:00:00.000Z",
    pending=2,
    vault_bytes=4096,
)
FIGURES = DaemonMetrics([AgentMetrics(ADA, captures=3, failures=1)], "2026-11-20T09:00:00.000Z", "0.1.0")
BEA = AgentStatus("0197fd80-0000-7000-8000-000000000002", "bea", "openclaw", "/srv/ada/bea")

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
_SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? (-?[0-9.e+]+)')
_LABEL = re.compile(r'([a-z]+)="((?:[^"\\\n]|\\[\\n"])*)"')


def parsed(text: str) -> Samples:
    """Return the samples of a text file. Every family must be described once, before its samples, which must be
    adjacent."""
    assert text.endswith("\n")
    found: Samples = {}
    described: list[str] = []
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            described.append(line.split(" ")[2])
            assert described.count(described[-1]) == 1 and len(line.split(" ", 3)) == 4
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == described[-1] and kind == ("counter" if name.endswith("_total") else "gauge")
        else:
            sample = _SAMPLE.fullmatch(line)
            assert sample is not None, line
            assert sample[1] == described[-1]
            key = (sample[1], frozenset((name, _plain(value)) for name, value in _LABEL.findall(sample[2] or "")))
            assert key not in found
            found[key] = float(sample[3])
    return found


def _plain(value: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), value)


def of(samples: Samples, name: str, agent: AgentStatus = ADA, **labels: str) -> float:
    return samples[(f"lifeboat_agent_{name}", frozenset({"agent": agent.id, "name": agent.name, **labels}.items()))]


def test_every_figure_is_there() -> None:
    found = parsed(metrics_file.render_metrics(FIGURES))
    assert of(found, "last_verified_timestamp_seconds") == 1795168800
    assert of(found, "last_captured_timestamp_seconds") == 1795176000.5
    assert of(found, "pending_files") == 2 and of(found, "sequence") == 7 and of(found, "vault_bytes") == 4096
    assert of(found, "captures_total") == 3 and of(found, "failures_total") == 1
    assert found[("lifeboat_daemon_up", frozenset())] == 1
    assert found[("lifeboat_daemon_start_timestamp_seconds", frozenset())] == 1795165200
    assert found[("lifeboat_build_info", frozenset({("version", "0.1.0")}))] == 1


def test_every_second_copy_has_its_figures() -> None:
    remote = RemoteFacts("server", state="waiting", sequence=5, pending=2, verified_at="2026-11-20T10:00:00.000Z")
    status = replace(BEA, remotes=(remote,))
    found = parsed(metrics_file.render_metrics(DaemonMetrics([AgentMetrics(status)])))
    labels = {"agent": BEA.id, "name": "bea", "remote": "server"}
    of_remote = {
        name.removeprefix("lifeboat_remote_"): value
        for (name, given), value in found.items()
        if name.startswith("lifeboat_remote_") and given == frozenset(labels.items())
    }
    assert of_remote == {
        "last_verified_timestamp_seconds": 1795168800,
        "last_acknowledged_timestamp_seconds": 0,
        "sequence": 5,
        "pending_sequences": 2,
    }
    assert found[("lifeboat_remote_state", frozenset({**labels, "state": "waiting"}.items()))] == 1
    assert found[("lifeboat_remote_state", frozenset({**labels, "state": "ok"}.items()))] == 0


def test_an_agent_is_in_one_state_and_every_word_is_there() -> None:
    found = parsed(metrics_file.render_metrics(FIGURES))
    states = {word: of(found, "state", state=word) for word in WORST_FIRST}
    assert [word for word, value in states.items() if value] == ["overdue"]


def test_what_never_happened_is_very_long_ago() -> None:
    found = parsed(metrics_file.render_metrics(DaemonMetrics([AgentMetrics(BEA)])))
    assert of(found, "last_verified_timestamp_seconds", BEA) == 0 and of(found, "sequence", BEA) == -1


def test_without_agents_and_at_the_end_there_are_figures_too() -> None:
    found = parsed(metrics_file.render_metrics(DaemonMetrics([], running=False)))
    assert found == {("lifeboat_daemon_up", frozenset()): 0}


@given(names=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4))
def test_any_name_comes_back(names: list[str]) -> None:
    agents = [AgentStatus(f"id-{number}", name, "openclaw", "/x") for number, name in enumerate(names)]
    found = parsed(metrics_file.render_metrics(DaemonMetrics([AgentMetrics(each) for each in agents])))
    assert all(of(found, "sequence", each) == -1 for each in agents)


# The file -------------------------------------------------------------------------------------------------------


def test_the_file_is_written_whole_for_everybody_and_only_when_something_changed(tmp_path: Path) -> None:
    target = tmp_path / "lifeboat.prom"
    assert metrics_file.write_metrics(SystemFiles(), str(target), FIGURES)
    assert parsed(target.read_text()) and target.stat().st_mode & 0o777 == 0o644
    before = target.stat()
    assert not metrics_file.write_metrics(SystemFiles(), str(target), FIGURES)
    assert (target.stat().st_ino, target.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert metrics_file.write_metrics(SystemFiles(), str(target), DaemonMetrics(FIGURES.agents, running=False))
    assert os.listdir(tmp_path) == ["lifeboat.prom"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemRefused):
        metrics_file.write_metrics(SystemFiles(), str(tmp_path / "nowhere" / "x.prom"), FIGURES)


def test_figures_follow_from_what_the_daemon_knows() -> None:
    counters = {ADA.id: {"captures": 3, "failures": 1}}
    daemon = {"started_at": FIGURES.started_at, "version": "0.1.0", "running": True, "pid": 7}
    made = DaemonMetrics.of({"agents": [ADA.to_json()], "verdict": "overdue"}, counters, daemon)
    assert metrics_file.render_metrics(made) == metrics_file.render_metrics(FIGURES)
