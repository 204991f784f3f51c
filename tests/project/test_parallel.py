"""Tests that run in forked processes: every result arrives, a process that dies fails its test alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from support import parallel
from support.paths import TESTS
from support.patience import patience


def run_tests(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a module with this source by pytest, in two processes."""
    (folder / "test_made.py").write_text(source)
    (folder / "conftest.py").write_text('pytest_plugins = ["support.parallel"]\n')
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--processes", "2", *options, "."]
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_ADDOPTS": "", "PY_COLORS": "0"}
    environment.pop("PYTEST_CURRENT_TEST", None)
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=patience(), check=False
    )


def test_every_result_is_reported_with_its_reason_and_its_output(tmp_path: Path) -> None:
    ended = run_tests(
        tmp_path,
        "import pytest, warnings\n"
        "@pytest.mark.parametrize('n', range(30))\n"
        "def test_many(n): assert n != 7, 'seven is wrong'\n"
        "def test_prints(): print('said before it failed'); assert False\n"
        "def test_skips(): pytest.skip('nothing to test here')\n"
        "def test_warns(): warnings.warn('look at this', DeprecationWarning)\n"
        "@pytest.fixture\n"
        "def broken(): yield; raise OSError('broken at its end')\n"
        "def test_ends_badly(broken): pass\n",
        "-rs",
    )
    assert ended.returncode == 1, ended.stderr
    assert "seven is wrong" in ended.stdout and "said before it failed" in ended.stdout
    assert "nothing to test here" in ended.stdout and "look at this" in ended.stdout
    assert "broken at its end" in ended.stdout
    last = ended.stdout.splitlines()[-1]
    assert last.startswith("2 failed, 31 passed, 1 skipped, 1 warning, 1 error")


def test_a_process_that_dies_fails_its_test_and_the_others_are_run(tmp_path: Path) -> None:
    ended = run_tests(
        tmp_path,
        "import os, pytest, signal\n"
        "@pytest.mark.parametrize('n', range(12))\n"
        "def test_one(n):\n"
        "    if n == 3: os.kill(os.getpid(), signal.SIGKILL)\n",
    )
    assert ended.returncode == 1, ended.stderr
    assert "the process of this test ended with -9" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("1 failed, 11 passed")


def test_fixtures_of_a_session_are_made_and_ended_once_in_each_process(tmp_path: Path) -> None:
    ended = run_tests(
        tmp_path,
        "import os, pathlib, pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def server():\n"
        "    yield\n"
        f"    pathlib.Path({str(tmp_path)!r}, f'ended-{{os.getpid()}}').touch(exist_ok=False)\n"
        "@pytest.mark.parametrize('n', range(20))\n"
        "def test_one(server, n): pass\n",
    )
    assert ended.returncode == 0, ended.stdout
    assert 1 <= len([*tmp_path.glob("ended-*")]) <= 2


def test_after_the_first_failure_of_maxfail_nothing_is_begun(tmp_path: Path) -> None:
    ended = run_tests(
        tmp_path,
        "import pathlib, pytest\n"
        "@pytest.mark.parametrize('n', range(2000))\n"
        f"def test_one(n): pathlib.Path({str(tmp_path)!r}, f'ran-{{n}}').touch(); assert False\n",
        "-x",
    )
    assert ended.returncode == 1
    assert "stopping after" in ended.stdout
    assert len([*tmp_path.glob("ran-*")]) < 2000


def test_temporary_folders_of_two_processes_are_apart(tmp_path: Path) -> None:
    body = f"def test_it(tmp_path): pathlib.Path({str(tmp_path)!r}, 'at-' + __name__[-1]).write_text(str(tmp_path))\n"
    for name in "ab":
        (tmp_path / f"test_{name}.py").write_text(f"import pathlib\n{body}")
    ended = run_tests(tmp_path, "def test_nothing(): pass\n")
    assert ended.returncode == 0, ended.stdout
    assert len({path.read_text() for path in tmp_path.glob("at-*")}) == 2


class Item:
    """As much of a test as units are made from."""

    def __init__(self, nodeid: str, scope: str = "function") -> None:
        self.nodeid = nodeid
        definition = SimpleNamespace(scope=scope, baseid=nodeid.partition("::")[0])
        self._fixtureinfo = SimpleNamespace(name2fixturedefs={"made": [definition]})


def test_the_longest_modules_come_first_and_a_long_one_is_handed_out_by_test() -> None:
    items = [Item(f"tests/{name}.py::test_{number}") for name in ("short", "long", "middle") for number in range(2)]
    recorded = {"tests/short.py": 0.5, "tests/long.py": 60.0, "tests/middle.py": 2.0}
    units = parallel.units_of(items, recorded)  # type: ignore[arg-type]
    assert units == [[2], [3], [4, 5], [0, 1]]


def test_tests_that_share_a_fixture_of_their_module_stay_together() -> None:
    items = [Item(f"tests/long.py::test_{number}", scope="module") for number in range(5)]
    assert parallel.units_of(items, {"tests/long.py": 1000.0}) == [[0, 1, 2, 3, 4]]  # type: ignore[arg-type]
