"""Measures the figures of `scaling_figures.json` on this machine, with a shared endpoint and many agents.

    python -m benchmarks.scaling_measure [--agents N] [--to FILE]

Needs PostgreSQL, some gigabytes in the temporary folder and, for 100,000 agents, at least ten minutes. It also prints
what a push costs with few and with many agents.
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import msgspec
from benchmarks import measure, pushing, scaling_model, shared_agents, shared_rows, small_objects
from benchmarks.scaling_model import Figures, Shape
from benchmarks.sender import Sender
from benchmarks.shared_rows import Cost, Shared

from lifeboat_alf.common import ids
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.service.bundle_receiver import SentBundle
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_vault.vault import Retention, Vault

SHAPES = {"quiet": (200, 1), "normal": (6_500, 1), "busy": (18_500, 1), "load": (pushing.LOG, pushing.MEMORIES)}
"""Characters of a log that is rewritten, and number of new memories of 300 characters."""
AGENTS = 100_000
_SEQUENCES = 1_000
_AUDIT = 2_000
_UPDATED = 200_000
_FIXED = ("vault", "bucket", "place", "decision", "agent", "pin")
HOW = {
    "shapes": "50 pushes of each kind over HTTPS, one at a time, each to another agent whose vault the server has not "
    "open, among all agents; processors of all processes of the API and of PostgreSQL, pg_stat_statements, "
    "pg_current_wal_lsn, pg_stat_user_tables once the server had ended",
    "row_bytes": "pg_total_relation_size after a vacuum, less the bodies, for each row",
    "agent_bytes": "the same of the rows that an agent has before it holds anything",
    "hot_pages": "pages read from the disk for each of those pushes, right after PostgreSQL was started anew",
    "thin_cpu": f"one thinning of an agent with {_SEQUENCES:,} sequences, 5 minutes apart, in process",
    "verify_cpu": "a verification of the whole of that agent, in process",
    "audit_rows": f"{_AUDIT:,} rows for the endpoint's audit that differ, flushed",
    "vacuum_rows": f"a vacuum of {_UPDATED:,} rows of memories that had been updated",
}


def measured(folder: Path, fleets: Sequence[int]) -> tuple[Figures, dict[int, tuple[Cost, Cost]]]:
    """Return the figures for the largest of `fleets`, and what a push costs with each of them."""
    with shared_rows.stores() as (cluster, objects):
        place = Shared.prepare(folder / "shared", cluster, objects, "bench")
        costs, made = shared_rows.in_fleets(place, folder, fleets, list(SHAPES.values()))
        sizes = shared_agents.bytes_of(cluster, place.database)
        spares = pushing.made(folder / "spares", len(SHAPES), shared_rows.TIMES)
        with place.served(1) as server:
            pushing.register(server, spares)
        shared_agents.settle(cluster, place.database)
        cluster.restart()
        shapes, read = {}, 0.0
        for base, (name, spare) in enumerate(zip(SHAPES, spares, strict=True), shared_rows.TIMES):
            cost = _visited(place, made, spare, base)
            shapes[name] = _shape(name, cost, made, base, place)
            read = read or cost.counts.read
        thin, verify, audit = _in_process(place, folder)
        every = sum(count for table, (count, _) in sizes.items() if table == "place")
        figures = Figures(
            machine=f"{os.cpu_count()} cores of a virtual machine, {platform.system()}, PostgreSQL {cluster.version()}",
            how=HOW,
            shapes=shapes,
            row_bytes={name: each for name, (_, each) in sizes.items() if name not in (*_FIXED, "redaction")},
            agent_bytes=sum(sizes[name][0] * sizes[name][1] for name in _FIXED) / every,
            hot_pages=read,
            thin_cpu=thin,
            verify_cpu=verify,
            audit_rows=audit,
            vacuum_rows=_vacuumed(place),
        )
    return figures, costs


# Pushes ---------------------------------------------------------------------------------------------------------------


def _visited(place: Shared, made: Sequence[pushing.Bundles], spare: pushing.Bundles, base: int) -> Cost:
    order = Random(base).sample(list(made), len(made))
    with place.served(1) as server:
        shared_rows.warm(place, server, spare, 0)
        before = place.counts()
        cost = shared_rows.pushed(place, server, [(one, base) for one in order])
    left = place.counts().since(before, len(made))
    cost.counts = replace(cost.counts, dead=left.dead - left.hot)
    return cost


def _shape(name: str, cost: Cost, made: Sequence[pushing.Bundles], base: int, place: Shared) -> Shape:
    log, memories = SHAPES[name]
    counts = cost.counts
    return Shape(
        log=log,
        memories=memories,
        delta=sum(one.deltas[base].stat().st_size for one in made) / len(made),
        body=_bodies(place, made, base),
        api_cpu=cost.api,
        database_cpu=counts.cpu,
        median=measure.median(cost.times),
        p99=measure.quantile(cost.times, 0.99),
        statements=counts.statements,
        transactions=counts.transactions,
        commits=counts.commits,
        wal=counts.wal,
        pages=counts.pages,
        dead=counts.dead,
    )


def _bodies(place: Shared, made: Sequence[pushing.Bundles], base: int) -> float:
    """Return the bytes that one of these pushes added to rows."""
    with place.cluster.connected(place.database) as connection:
        row = connection.execute(
            """select sum(octet_length(o.body))::float8 from lifeboat_vault.object o join (
            select place, object, first from lifeboat_vault.entry union all
            select place, object, first from lifeboat_vault.record) u on u.place = o.place and u.object = o.id
            join lifeboat_vault.place p on p.number = o.place where p.agent = any(%s) and u.first = %s""",
            ([one.agent_id for one in made], base + 1),
        ).fetchone()
    assert row is not None
    return float(row[0] or 0) / len(made)


# In process -----------------------------------------------------------------------------------------------------------


def _in_process(place: Shared, folder: Path) -> tuple[float, float, float]:
    """Return the seconds of a thinning per sequence and of a verification per object, for this process and PostgreSQL
    together, and audit rows per second."""
    os.environ.update(small_objects.ENVIRONMENT)
    with Endpoint.open(place.folder / "endpoint") as endpoint:
        tenant = next(one for one in endpoint.control.tenants() if one.name == "bench")
        space = endpoint.space(tenant.id)
        agent = _with_history(space, folder)
        with space.vault(agent) as vault:
            objects = sum(1 for _ in vault._metadata.rows("select id from object"))
            verify = _effort(place, lambda: vault.verify(trusted=None)) / objects
            thin = _effort(place, lambda: vault.thin(Retention(), datetime.now(UTC))) / _SEQUENCES
        begun = time.perf_counter()
        for number in range(_AUDIT):
            endpoint.control.note(None, "bench", str(number))
        endpoint.control.flush()
        return thin, verify, _AUDIT / (time.perf_counter() - begun)


def _with_history(space: TenantSpace, folder: Path) -> str:
    agent_id, apart = ids.make_id("2026-10-01T08:00:00.000Z"), timedelta(minutes=5)
    space.register(agent_id, "Bench history", "openclaw")
    start = datetime.now(UTC) - timedelta(hours=1) - _SEQUENCES * apart
    vault = Vault.create(folder / "history", agent_id)
    sender = Sender(agent_id, vault, Random(8), start=start, step=apart)
    for number in range(_SEQUENCES):
        sender.capture(2_000, records=1)
        data = sender.snapshot() if number == 0 else sender.delta(number - 1, number)
        kind, base = ("snapshot", None) if number == 0 else ("delta", number - 1)
        space.receive(agent_id, SentBundle(kind, io.BytesIO(data), len(data), base=base))  # type: ignore[arg-type]
    vault.close()
    return agent_id


def _effort(place: Shared, work: object) -> float:
    assert callable(work)
    before = time.process_time() + place.cluster.cpu()
    work()
    return time.process_time() + place.cluster.cpu() - before


def _vacuumed(place: Shared) -> float:
    """Return vacuumed rows per second."""
    with place.cluster.connected(place.database) as connection:
        connection.execute("alter table lifeboat_vault.record set (autovacuum_enabled = false)")
        done = connection.execute(
            """update lifeboat_vault.record set last = last where ctid = any(array(
            select ctid from lifeboat_vault.record tablesample system (50) limit %s))""",
            (_UPDATED,),
        ).rowcount
        begun = time.perf_counter()
        connection.execute("vacuum lifeboat_vault.record")
        return done / (time.perf_counter() - begun)


# --------------------------------------------------------------------------------------------------------------------


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lifeboat-bench-") as made:
        yield Path(made)


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures for docs/scaling.md, from this machine.")
    parser.add_argument("--agents", type=int, default=AGENTS, help="How many there are.")
    parser.add_argument("--to", type=Path, default=scaling_model.FILE, help="Where the figures go.")
    chosen = parser.parse_args()
    fleets = sorted({10, min(1_000, chosen.agents), chosen.agents})
    with _folder() as folder:
        figures, costs = measured(folder, fleets)
    chosen.to.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2) + b"\n")
    print(measure.table(shared_rows.fleet_rows(costs)))
    print(f"written: {chosen.to}", file=sys.stderr)


if __name__ == "__main__":
    main()
