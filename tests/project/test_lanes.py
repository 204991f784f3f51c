"""Which tests a run takes: nothing is left out for good, and every folder says what its changes can affect."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import lanes
from support.packages import PACKAGES
from support.parallel import BENCHMARK, recorded_seconds
from support.paths import ROOT, TESTS

KNOWN = lanes.load_lanes()
seconds_of_parts = st.dictionaries(
    st.sampled_from(["soak", "scale", "real", "bench"]),
    st.lists(st.floats(0, 900), min_size=lanes.PARTS, max_size=lanes.PARTS),
    min_size=1,
)


def test_every_folder_with_tests_stands_in_exactly_one_target() -> None:
    folders = [folder for target in KNOWN.fast.values() for folder in target]
    folders += [target.folder for target in KNOWN.slow.values() if target.name != "bench"]
    there = {f"tests/{path.name}" for path in TESTS.iterdir() if path.is_dir() and any(path.rglob("test_*.py"))}
    assert Counter(folders) == Counter(there)
    assert not list(TESTS.glob("test_*.py"))


@pytest.mark.parametrize(("folder", "package"), PACKAGES.items())
def test_every_folder_of_the_product_says_which_slow_targets_its_changes_affect(folder: str, package: str) -> None:
    root = ROOT / folder / package
    folders = [root, *(path for path in root.iterdir() if path.is_dir() and any(path.rglob("*.py")))]
    missing = {path.relative_to(ROOT).as_posix() for path in folders} - {*KNOWN.affects}
    assert not missing


def test_every_folder_of_packaging_says_which_slow_targets_its_changes_affect() -> None:
    folders = [path.relative_to(ROOT).as_posix() for path in (ROOT / "packaging").iterdir() if path.is_dir()]
    assert len(folders) > 3
    assert not {*folders, "packaging"} - {*KNOWN.affects}


def test_every_folder_of_the_map_exists_and_names_targets_that_exist() -> None:
    assert not [folder for folder in KNOWN.affects if not (ROOT / folder).is_dir() or folder.endswith("/")]
    assert not {name for names in KNOWN.affects.values() for name in names} - {*KNOWN.slow}


def test_every_recorded_module_exists() -> None:
    modules = [module for module in recorded_seconds() if not module.startswith(BENCHMARK)]
    assert len(modules) > 100
    assert not [module for module in modules if not (ROOT / module).is_file()]


@pytest.mark.parametrize(
    ("changed", "affected"),
    [
        (["docs/purge.md"], []),
        (["core/lifeboat_core/capture/file_capture.py"], ["soak", "real", "bench"]),
        (["core/lifeboat_core/memories/memory_search.py"], ["soak", "bench"]),
        (["endpoint/lifeboat_endpoint/server/serving.py"], ["soak", "scale", "bench"]),
        (["packaging/debian/postinst", "docs/purge.md"], ["package"]),
        (["requirements.lock"], ["package"]),
        (["tests/keys/test_age.py"], []),
    ],
)
def test_what_a_change_affects_is_what_its_longest_folder_says(changed: list[str], affected: list[str]) -> None:
    assert lanes.affected_targets(KNOWN, changed) == affected


def test_a_module_stands_in_exactly_one_part() -> None:
    modules = {f"module {number}": float(number % 7) for number in range(50)}
    parts = lanes.divide_into_parts(modules)
    assert len(parts) == lanes.PARTS
    assert Counter(module for part in parts for module in part) == Counter([*modules])
    lengths = [sum(modules[module] for module in part) for part in parts]
    assert max(lengths) - min(lengths) <= 7


@given(seconds_of_parts, st.integers(0, 10_000))
def test_four_turns_in_a_row_run_every_part(seconds: dict[str, list[float]], turn: int) -> None:
    ran = [lanes.choose_parts(seconds, (), turn + step, allowed=0) for step in range(lanes.PARTS)]
    for name in seconds:
        assert sorted(part for each in ran for part in each[name]) == [0, 1, 2, 3]


@given(seconds_of_parts, st.integers(0, 10_000), st.floats(0, 4000))
def test_more_parts_of_what_is_affected_keep_to_the_time(
    seconds: dict[str, list[float]], turn: int, allowed: float
) -> None:
    least = lanes.choose_parts(seconds, (), turn, allowed)
    chosen = lanes.choose_parts(seconds, {"soak", "real"}, turn, allowed)
    assert all(set(least[name]) <= set(chosen[name]) for name in seconds)
    added = sum(seconds[name][part] for name in seconds for part in set(chosen[name]) - set(least[name]))
    assert added <= max(0.0, allowed - sum(seconds[name][part] for name in seconds for part in least[name])) + 1e-6
    assert all(chosen[name] == least[name] for name in seconds if name not in ("soak", "real"))


def test_all_parts_of_what_is_affected_are_run_where_there_is_time() -> None:
    seconds = {"soak": [100.0] * 4, "real": [100.0] * 4}
    assert lanes.choose_parts(seconds, {"soak"}, 2, 500.0) == {"soak": [0, 1, 2, 3], "real": [2]}


def test_each_target_is_the_first_one_in_its_turn() -> None:
    names = [*KNOWN.slow]
    turns = [lanes.in_turn(names, turn) for turn in range(len(names))]
    assert [turn[0] for turn in turns] == names
    assert all(sorted(turn) == sorted(names) for turn in turns)
