"""Metrics for Prometheus are those of all processes together, and name no tenant."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from lifeboat_endpoint.server import server_metrics
from lifeboat_endpoint.server.server_metrics import FAMILIES, ServerMetrics
from lifeboat_endpoint.work import worker_metrics as worker_figures
from lifeboat_vault import errors
from lifeboat_vault.store import timed_operations
from lifeboat_vault.store.timed_operations import ConnectionCounts, TimedOperation
from support.endpoint.served_apps import ServedApp, bearer, client, push_delta, served
from support.paths import ROOT

__all__ = ["client", "served"]
PAGE = ROOT / "docs" / "endpoint-operating.md"


def samples(text: str) -> dict[str, float]:
    """Return the samples by name and labels."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def told_by(found: ServerMetrics) -> dict[str, float]:
    return samples(found.text()[0].decode())


def test_a_process_that_was_killed_is_left_out_of_the_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(server_metrics.SHARED, str(tmp_path))
    names = ["counter_7.db", "gauge_livesum_7.db", "gauge_livemin_7.db", "gauge_livesum_77.db"]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    server_metrics.forget_process(7)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counter_7.db", "gauge_livesum_77.db"]


def test_a_page_of_figures_that_is_written_later_has_its_place_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are mapped into memory: on a full disk a page without a block would end the process."""
    monkeypatch.setenv(server_metrics.SHARED, str(tmp_path))
    server_metrics._make_room()
    files = sorted(tmp_path.iterdir())
    kinds = ("counter", "gauge_livemin", "gauge_livesum", "histogram")
    assert [file.name for file in files] == [f"{kind}_{os.getpid()}.db" for kind in kinds]
    assert all(file.stat().st_blocks * 512 >= file.stat().st_size >= 1 << 20 for file in files)


def test_without_room_a_process_keeps_its_figures_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(server_metrics.SHARED, str(tmp_path / "gone"))
    server_metrics._make_room()
    assert server_metrics.SHARED not in os.environ


def test_what_was_asked_of_a_database_is_counted_with_its_errors() -> None:
    found = ServerMetrics()
    timed_operations.set_operation_listener(found.operations)
    with TimedOperation("database", "statement"):
        pass
    with pytest.raises(errors.VaultBusy), TimedOperation("database", "statement"):
        raise errors.VaultBusy("it does not answer")
    with pytest.raises(ValueError, match="odd"), TimedOperation("objects", "reading"):
        raise ValueError("odd")
    figures = told_by(found)
    assert figures['lifeboat_operation_seconds_count{operation="statement",system="database"}'] == 2
    errors_of = "lifeboat_operation_errors_total"
    assert figures[f'{errors_of}{{error="vault_busy",operation="statement",system="database"}}'] == 1
    assert figures[f'{errors_of}{{error="other",operation="reading",system="objects"}}'] == 1


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (201, "taken"),
        (200, "known"),
        (409, "behind"),
        (422, "invalid"),
        (401, "invalid"),
        (413, "too_large"),
        (429, "refused"),
        (503, "busy"),
        (507, "full"),
        (500, "failed"),
        (499, "failed"),
    ],
)
def test_a_push_is_counted_by_what_became_of_it(status: int, result: str) -> None:
    found = ServerMetrics()
    found.push(status)
    assert told_by(found)[f'lifeboat_pushes_total{{result="{result}"}}'] == 1


def test_connections_are_told_by_what_they_are_for() -> None:
    found = ServerMetrics()
    found.connected("vault", ConnectionCounts(3, 2, 1))
    figures = told_by(found)
    assert figures['lifeboat_database_connections{kind="vault",state="used"}'] == 3
    assert figures['lifeboat_database_connections{kind="vault",state="idle"}'] == 2
    assert figures['lifeboat_database_waiting{kind="vault"}'] == 1


@pytest.mark.parametrize("served", [{"token_rate": 0.001, "token_burst": 8}], indirect=True)
def test_a_running_server_counts_pushes_keys_refusals_and_readiness(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client, captures=2)
    push_delta(client, machine, 1)
    client.get("/readyz")
    while client.get("/token").status_code == 200:
        pass
    figures = samples(client.get("/metrics", headers=bearer(served.new_token("admin"))).text)
    assert figures['lifeboat_pushes_total{result="taken"}'] == 2
    assert figures['lifeboat_refusals_total{limit="token"}'] == 1
    assert figures['lifeboat_ready{part="database"}'] == figures['lifeboat_ready{part="key"}'] == 1
    unwrapped = figures['lifeboat_operation_seconds_count{operation="unwrap",system="key"}']
    assert figures["lifeboat_key_lookups_total"] > unwrapped > 0
    machine_words = (machine.agent_id, served.tenants["home"], served.token)
    assert not any(word in name for word in machine_words for name in figures)


def test_whoever_accepts_openmetrics_gets_it(served: ServedApp, client: httpx.Client) -> None:
    headers = {**bearer(served.new_token("admin")), "Accept": "application/openmetrics-text; version=1.0.0"}
    answer = client.get("/metrics", headers=headers)
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")


def test_every_figure_of_the_page_is_told_and_every_one_that_is_told_is_on_the_page() -> None:
    rows = re.findall(r"^\| `(lifeboat_\w+)` \| ([^|]*) \|", PAGE.read_text(), re.M)
    on_page = {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    told_there = {family.told_as: family.labels for family in FAMILIES}
    assert {name: on_page.get(name) for name in told_there} == told_there
    source = Path(worker_figures.__file__).read_text()
    of_workers = {name for name in on_page if name not in told_there}
    assert of_workers == {
        f"{name}_total" if name == "lifeboat_jobs" else name for name in re.findall(r'"(lifeboat_\w+)"', source)
    }


def test_what_stands_on_the_page_is_what_a_server_answers(served: ServedApp, client: httpx.Client) -> None:
    served.pushed(client)
    text = client.get("/metrics", headers=bearer(served.new_token("admin"))).text
    found = {family.name for family in text_string_to_metric_families(text)}
    assert {family.name for family in FAMILIES} <= found


def test_a_worker_tells_of_its_operations_too() -> None:
    found = worker_figures.WorkerMetrics(SimpleNamespace(counts=list))  # type: ignore[arg-type]
    with TimedOperation("objects", "writing"):
        pass
    figures = samples(found.text().decode())
    assert figures['lifeboat_operation_seconds_count{operation="writing",system="objects"}'] == 1
