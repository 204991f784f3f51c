"""The page of scaling says what follows from its figures, and the model and the simulation do what they say."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from benchmarks import scaling, scaling_model
from benchmarks import scaling_day as days
from benchmarks.scaling_model import HABITS, Prices

THERE = days.Cell(processes=2, cores=2, api=0.005, database=0.004, memory=0.0005, wait=0.01, spread=0.3)


def test_the_page_has_the_tables_that_follow_from_the_figures() -> None:
    text, made = scaling.PAGE.read_text(), scaling.sections(scaling_model.figures())
    found = re.findall(r"<!-- (\w+): python -m benchmarks\.scaling -->", text)
    assert sorted(found) == sorted(made)
    assert text == scaling.page(text, made), "python -m benchmarks.scaling --write"


def test_every_figure_says_how_it_was_measured() -> None:
    known = scaling_model.figures()
    assert set(known.how) == {name for name in type(known).__struct_fields__ if name not in ("machine", "how")}


# The model ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("days_kept", "kept"), [(1, 10), (7, 10 + 6 * 9), (90, 64 + 83), (97, 148)])
def test_sequences_stay_as_the_retention_says(days_kept: int, kept: int) -> None:
    assert scaling_model.kept_sequences(10, 9, days_kept) == kept


def test_an_agent_that_does_more_costs_more() -> None:
    known = scaling_model.figures()
    costs = [sum(scaling_model.monthly(habit, known, Prices(), 2).values()) for habit in HABITS]
    assert costs == sorted(costs) and costs[0] > 0


def test_a_key_is_asked_for_at_most_once_in_each_process_and_span() -> None:
    everything = scaling_model.key_calls(100_000, 1_000, 24, processes=4, cache=300)
    assert everything == pytest.approx(4 * 288)
    assert scaling_model.key_calls(1, 10, 24, processes=4, cache=300) == pytest.approx(10, rel=0.01)


def test_what_stops_growing_first_comes_first() -> None:
    walls = scaling_model.walls(scaling_model.figures(), 2)
    assert [wall.agents for wall in walls] == sorted(wall.agents for wall in walls)
    assert all(0 < wall.agents < math.inf for wall in walls)


def test_databases_are_filled_to_a_half_of_what_stops_them() -> None:
    known = scaling_model.figures()
    first = scaling_model.walls(known, 2)[0].agents
    assert scaling_model.shards(int(first * 0.49), known, 2) == 1
    assert scaling_model.shards(int(first * 0.51), known, 2) == 2


# The simulation -------------------------------------------------------------------------------------------------------


def test_a_day_is_the_same_each_time_and_has_every_push() -> None:
    once = days.weekday(500)
    assert once == days.weekday(500)
    wanted = sum(habit.pushes for habit in HABITS for _ in range(round(500 * scaling_model.MIX[habit.name])))
    assert len(once) == wanted
    assert once == sorted(once) and all(0 <= moment < scaling_model.DAY for moment, _, _ in once)


def test_a_push_that_comes_alone_waits_for_nobody() -> None:
    even = replace(THERE, spread=0.0)
    answers = days.served([(float(second), second, 1) for second in range(10)], even)
    assert [end - moment for moment, end in answers] == pytest.approx([0.019] * 10)


def test_more_than_the_processes_can_do_waits_longer_and_longer() -> None:
    found = days.herd(10_000, THERE, 1.0)
    assert found.p99 == pytest.approx(10_000 * THERE.api / THERE.processes, rel=0.1)
    assert days.herd(10_000, THERE, 300.0).p99 < 0.1


def test_after_an_outage_every_agent_that_waited_comes_back_once() -> None:
    arrivals = [(float(second), second % 40, 1) for second in range(0, 7_200, 10)]
    found = days.outage(arrivals, THERE, 600, 4_200, 0.25)
    assert found.waiting == 40 // math.gcd(40, 10)
    assert found.refused >= found.waiting
    assert 0 <= found.half <= found.most <= found.all <= 3_600 * 1.25


def test_a_crowd_is_as_many_fleets_as_it_says() -> None:
    arrivals = days.weekday(2_000)
    one, four = len(days.crowd(arrivals, 1)), len(days.crowd(arrivals, 4))
    assert four / one == pytest.approx(4, rel=0.2)
