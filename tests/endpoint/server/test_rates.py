"""Rate limits hold for all processes together, and cost little far from the limit."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_endpoint.server.rates import rates_file
from lifeboat_endpoint.server.rates.rates_file import FileRates
from lifeboat_endpoint.server.rates.rates_shared import SHARE, SharedRates
from lifeboat_endpoint.server.rates.token_buckets import address_key
from lifeboat_vault import errors
from support.patience import patience

SECRET = b"k" * 32


# Of one machine -------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "tokens"
    rates_file.make_rates_file(path)
    return path


def test_two_processes_of_a_machine_share_a_bucket(file: Path) -> None:
    here, there = FileRates(file, 1.0, 3.0), FileRates(file, 1.0, 3.0)
    assert [here.take("a", 10.0), there.take("a", 10.0), here.take("a", 10.0)] == [0.0, 0.0, 0.0]
    assert there.take("a", 10.5) == pytest.approx(0.5)
    assert there.take("b", 10.5) == 0.0
    assert here.take("a", 11.0) == 0.0


def passed(path: str, many: int) -> int:
    rates_file._PATIENCE = patience()
    rates = FileRates(Path(path), 0.001, 500.0)
    return sum(1 for _ in range(many) if not rates.take("a", time.monotonic()))


def test_no_more_than_the_burst_passes_however_many_processes_take(file: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        found = pool.starmap_async(passed, [(str(file), 200)] * 4).get(patience())
    assert sum(found) == 500


def test_a_group_that_is_full_gives_up_its_fullest_bucket(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates_file, "_GROUPS", 1)
    rates = FileRates(file, 0.001, 3.0)
    for _ in range(3):
        rates.take("busy", 1.0)
    for number in range(100):
        rates.take(f"key {number}", 1.0)
    assert rates.take("busy", 1.0) > 0


def test_a_file_that_was_cut_off_or_written_over_refuses_nobody(file: Path) -> None:
    rates = FileRates(file, 1.0, 2.0)
    file.write_bytes(b"\xff" * file.stat().st_size)
    assert rates.take("a", 1.0) == 0.0
    os.truncate(file, 16)
    assert [rates.take("b", 1.0) for _ in range(3)] == [0.0, 0.0, 1.0]


def test_a_process_that_was_stopped_with_the_lock_holds_nobody_up(file: Path) -> None:
    rates = FileRates(file, 1.0, 2.0)
    with file.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert [rates.take("a", 1.0) for _ in range(3)] == [0.0, 0.0, 1.0]


def test_no_key_stands_in_the_file(file: Path) -> None:
    FileRates(file, 1.0, 2.0).take("192.0.2.7", 1.0)
    assert b"192.0.2.7" not in file.read_bytes()


# Of many machines -----------------------------------------------------------------------------------------------------


class Model:
    """Does what the rows of a database do, with a clock that the test sets."""

    def __init__(self) -> None:
        self.levels: dict[bytes, tuple[float, float]] = {}
        self.now = 0.0
        self.asked = 0
        self.away = False

    def take(self, key: bytes, wanted: float, rate: float, burst: float) -> tuple[float, float]:
        self.asked += 1
        if self.away:
            raise errors.VaultBusy("the database does not answer")
        level, at = self.levels.get(key, (burst, self.now))
        level = min(burst, level + (self.now - at) * rate)
        given = min(wanted, float(int(level)))
        self.levels[key] = (level - given, self.now)
        return given, level - given


def processes(model: Model, count: int, rate: float = 1000.0, burst: float = 2000.0) -> list[SharedRates]:
    return [SharedRates(model, lambda: SECRET, rate, burst) for _ in range(count)]


def test_who_is_far_from_the_limit_asks_nobody() -> None:
    model = Model()
    (one,) = processes(model, 1)
    for second in range(1000):
        for _ in range(10):
            assert one.take("token", float(second)) == 0.0
    assert (model.asked, model.levels) == (0, {})


def test_who_is_near_the_limit_asks_once_for_many() -> None:
    model = Model()
    (one,) = processes(model, 1)
    taken = sum(1 for _ in range(1500) if not one.take("token", 0.0))
    assert (taken, model.asked) == (1500, 15)


def test_what_was_refused_is_refused_again_without_asking() -> None:
    model = Model()
    (one,) = processes(model, 1, rate=0.2, burst=20.0)
    waits = [one.take("192.0.2.7", 0.0) for _ in range(1000)]
    assert waits[:20] == [0.0] * 20 and waits[20] == pytest.approx(5.0)
    assert model.asked == 21
    model.now = 5.1
    assert one.take("192.0.2.7", 5.1) == 0.0


@given(
    st.integers(1, 6),
    st.sampled_from([(1000.0, 2000.0), (10.0, 30.0), (0.2, 20.0)]),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 400), st.floats(0, 2)), max_size=40),
)
def test_the_limit_holds_within_what_is_promised(
    count: int, limit: tuple[float, float], steps: list[tuple[int, int, float]]
) -> None:
    rate, burst = limit
    model = Model()
    found = processes(model, count, rate, burst)
    passed = 0
    for which, many, seconds in steps:
        passed += sum(1 for _ in range(many) if not found[which % count].take("token", model.now))
        model.now += seconds
    most = burst + rate * model.now
    ahead = max(1, int(min(burst / 16, rate / 10)))
    assert passed <= most + count * (SHARE * most + ahead + 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 60)), min_size=1, max_size=30))
def test_nobody_below_the_limit_is_refused(bursts: list[tuple[int, int]]) -> None:
    """Four processes, each with tokens in advance: no request below the burst less those tokens is refused."""
    model = Model()
    found = processes(model, 4)
    left = 2000 - 4 * 100
    for which, many in bursts:
        many = min(many, left)
        left -= many
        assert all(not found[which].take("token", 0.0) for _ in range(many))


def test_while_the_database_is_away_each_process_keeps_the_limit_by_itself() -> None:
    model = Model()
    model.away = True
    (one,) = processes(model, 1, rate=1.0, burst=20.0)
    assert sum(1 for _ in range(100) if not one.take("token", 0.0)) == 20
    assert model.asked == 1
    model.away = False
    assert one.take("token", 2.0) == 0.0
    assert model.asked == 2


def test_a_key_that_is_away_lets_each_process_keep_the_limit_by_itself() -> None:
    def away() -> bytes:
        raise errors.KeySourceRefused("the key service does not answer")

    one = SharedRates(Model(), away, 1.0, 20.0)
    assert sum(1 for _ in range(100) if not one.take("token", 0.0)) == 20


def test_only_digests_reach_the_rows() -> None:
    model = Model()
    processes(model, 1, 0.2, 20.0)[0].take("192.0.2.7", 0.0)
    assert [len(key) for key in model.levels] == [16]
    assert not any(b"192" in key for key in model.levels)


def test_threads_that_ask_at_once_get_no_more_than_there_is() -> None:
    model, guard = Model(), threading.Lock()
    plain = model.take

    def take(*asked: Any) -> tuple[float, float]:
        with guard:
            return plain(*asked)

    model.take = take  # type: ignore[method-assign]
    (one,) = processes(model, 1, 0.001, 64.0)
    found: list[float] = []
    threads = [
        threading.Thread(target=lambda: found.extend(one.take("token", 0.0) for _ in range(30))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience())
    assert sum(1 for wait in found if not wait) in (64, 65)  # and the share that the process grants itself


# Whose bucket ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:0:7::1", "2001:db8:0:7::/64"),
        ("2001:db8:0:7:aaaa::2", "2001:db8:0:7::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
        ("no address", "no address"),
    ],
)
def test_one_machine_has_one_bucket_however_many_addresses_it_has(address: str, key: str) -> None:
    assert address_key(address) == key
