"""Run collected tests in several processes: `pytest --processes N`.

Tests are collected once; then each process is forked, so none imports, rewrites or collects anything again. The parent
hands out units, the longest first, and reports what the workers send. A unit is a module; a long module whose tests
share no fixture of the module is handed out test by test.

*Rejected: pytest-xdist*, each of whose workers collects every test: three times 20 seconds of processor time on a fresh
clone, and three times the memory.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import signal
import sys
import threading
import traceback
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

import pytest
from _pytest._io import TerminalWriter

from support.paths import TESTS

RECORDED = TESTS / "durations.json"
"""Seconds that each module took when it was last recorded (`pytest --record-durations`)."""
BENCHMARK = "bench/"
"""Prefix of the names of benchmark rows, whose seconds are edited by hand."""
LONG_MODULE = 4.0
"""Seconds above which a module is handed out test by test if its fixtures allow it."""
UNKNOWN_MODULE = 1.0
"""Seconds assumed for a module that was never recorded."""
SHARED_SCOPES = frozenset({"class", "module", "package"})

STOP = None
"""Sent to a worker in place of a unit: the worker starts no further test."""

Unit = list[int]
"""Positions of tests in the session's list, in the order in which they run."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("parallel")
    group.addoption("--processes", type=int, default=1, help="Run the tests in this many processes (default: 1).")
    group.addoption("--record-durations", action="store_true", help=f"Write how long each module took to {RECORDED}.")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> object:
    options = session.config.option
    if options.processes <= 1 or options.collectonly or session.testsfailed:
        return None
    if not session.items:
        return True
    Parent(session, options.processes).run()
    return True


@dataclass(eq=False, slots=True)
class Durations:
    """Seconds of each module in this run, stored by `pytest --record-durations`."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not session.config.option.record_durations:
            return
        known = recorded_seconds() | {module: round(taken, 1) for module, taken in self.seconds.items()}
        there = {module for module in known if module.startswith(BENCHMARK) or (TESTS.parent / module).is_file()}
        RECORDED.write_text(json.dumps({module: known[module] for module in sorted(there)}, indent=0) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Durations(), "durations")


def recorded_seconds() -> dict[str, float]:
    """Return the recorded seconds by module path, relative to the checkout."""
    recorded: dict[str, float] = json.loads(RECORDED.read_text()) if RECORDED.is_file() else {}
    return recorded


def units_of(items: Sequence[pytest.Item], recorded: dict[str, float]) -> list[Unit]:
    """Divide the tests into units, the longest first; the order within a module is kept."""
    modules: defaultdict[str, Unit] = defaultdict(list)
    for position, item in enumerate(items):
        modules[item.nodeid.partition("::")[0]].append(position)
    units: list[tuple[float, Unit]] = []
    for module, positions in modules.items():
        seconds = recorded.get(module, UNKNOWN_MODULE)
        if seconds > LONG_MODULE and not any(_shares_a_fixture(items[each]) for each in positions):
            # long modules start early even if they are handed out test by test
            units += [(seconds, [position]) for position in positions]
        else:
            units.append((seconds, positions))
    return [unit for _, unit in sorted(units, key=lambda each: -each[0])]


def _shares_a_fixture(item: pytest.Item) -> bool:
    """Return True if the test uses a fixture that its module or class creates once for all its tests."""
    info = getattr(item, "_fixtureinfo", None)
    definitions = [] if info is None else [each for found in info.name2fixturedefs.values() for each in found]
    return any(each.scope in SHARED_SCOPES and each.baseid for each in definitions)


@dataclass(eq=False, slots=True)
class Worker:
    """A forked process that runs tests, as its parent sees it."""

    number: int
    process: int
    connection: Connection
    unit: deque[int]
    """Tests that it still has to run, the running one first."""


class Parent:
    """Hands out units and reports results, in the process that collected the tests."""

    def __init__(self, session: pytest.Session, processes: int) -> None:
        self._session = session
        self._hook = session.config.hook
        self._processes = processes
        self._left = deque(units_of(session.items, recorded_seconds()))
        self._workers: list[Worker] = []
        self._made = 0
        self._stopping = False

    def run(self) -> None:
        """Run every unit; raise as a run in one process would when tests are to stop."""
        assert threading.active_count() == 1, f"something that was collected started threads: {threading.enumerate()}"
        _base_of_temporary_folders(self._session.config)  # created once, before the first fork
        gc.collect()
        gc.freeze()  # keeps workers from scanning, and thereby copying, the collected objects
        try:
            while self._left and len(self._workers) < self._processes:
                self._fork()
            while self._workers:
                self._take_messages()
        finally:
            self._end_workers()
            gc.unfreeze()
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _fork(self) -> None:
        ours, theirs = Pipe()
        unit = self._left.popleft()
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process == 0:
            ours.close()
            for other in self._workers:
                other.connection.close()
            _be_worker(self._session, theirs, self._made, unit)
        theirs.close()
        self._workers.append(Worker(self._made, process, ours, deque(unit)))
        self._made += 1

    def _take_messages(self) -> None:
        connections = {worker.connection: worker for worker in self._workers}
        for ready in wait(list(connections)):
            worker = connections[ready]  # type: ignore[index]
            try:
                kind, *content = worker.connection.recv()
            except (EOFError, ConnectionResetError):
                self._ended(worker)
            else:
                getattr(self, f"_on_{kind}")(worker, *content)

    def _stop_if_asked(self) -> None:
        """Tell the workers to begin no further test once enough have failed."""
        if not self._stopping and (self._session.shouldfail or self._session.shouldstop):
            self._stopping = True
            for worker in self._workers:
                worker.connection.send(STOP)

    def _on_begin(self, worker: Worker) -> None:
        item = self._session.items[worker.unit[0]]
        self._hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)

    def _on_report(self, worker: Worker, data: dict[str, Any]) -> None:
        report = self._hook.pytest_report_from_serializable(config=self._session.config, data=data)
        self._hook.pytest_runtest_logreport(report=report)
        self._stop_if_asked()

    def _on_warning(self, worker: Worker, content: dict[str, Any]) -> None:
        self._hook.pytest_warning_recorded.call_historic(kwargs=content)

    def _on_end(self, worker: Worker) -> None:
        item = self._session.items[worker.unit.popleft()]
        self._hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _on_next(self, worker: Worker) -> None:
        """Answer the request for another unit, which comes before the last test of the worker's unit."""
        if not self._stopping:
            unit = self._left.popleft() if self._left else []
            worker.unit.extend(unit)
            worker.connection.send(unit)

    def _on_stopped(self, worker: Worker) -> None:
        worker.unit.clear()

    def _ended(self, worker: Worker) -> None:
        """Reap a worker. One that ended within a test failed it; another worker goes on with the rest."""
        worker.connection.close()
        self._workers.remove(worker)
        status = os.waitstatus_to_exitcode(os.waitpid(worker.process, 0)[1])
        if not worker.unit:
            return
        item = self._session.items[worker.unit.popleft()]
        reason = f"the process of this test ended with {status}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", reason, "call")
        self._hook.pytest_runtest_logreport(report=report)
        self._hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if worker.unit:
            self._left.appendleft(list(worker.unit))
        self._stop_if_asked()
        if self._left and not self._stopping:
            self._fork()

    def _end_workers(self) -> None:
        """End what still runs after an interruption, so that each test still cleans up after itself."""
        for worker in self._workers:
            worker.connection.close()
            os.kill(worker.process, signal.SIGINT)
        for worker in self._workers:
            os.waitpid(worker.process, 0)


# In a worker ----------------------------------------------------------------------------------------------------------


class Reporter:
    """Sends what happens in a worker to its parent."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config = config
        self._connection = connection

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(("report", data))

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        # a warning whose class cannot be pickled is sent as text
        warning_message.message = UserWarning(f"{warning_message.category.__name__}: {warning_message.message}")
        warning_message.category = UserWarning
        warning_message.source = None
        content = {"warning_message": warning_message, "when": when, "nodeid": nodeid, "location": location}
        self._connection.send(("warning", content))


class Quiet:
    """Takes the place of the terminal reporter in a worker: what another plugin prints goes to standard error."""

    def __init__(self) -> None:
        self._tw = TerminalWriter(sys.stderr)


def _be_worker(session: pytest.Session, connection: Connection, number: int, unit: Unit) -> NoReturn:
    status = 1
    try:
        _separate(session.config, connection, number)
        _run_units(session, connection, unit)
        status = 0
    except KeyboardInterrupt:
        session._setupstate.teardown_exact(None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _separate(config: pytest.Config, connection: Connection, number: int) -> None:
    """Give the process everything that must not be shared with its parent and the other workers."""
    atexit._clear()  # cleanup registered by the parent is left to the parent
    random.seed()
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(Quiet(), "terminalreporter")
    plugins.register(Reporter(config, connection))
    capture: Any = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()  # the capture files belong to the parent
    capture.start_global_capturing()
    capture.suspend_global_capture()
    folder = _base_of_temporary_folders(config) / f"w{number}"
    folder.mkdir(mode=0o700)
    factory: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = folder


def _base_of_temporary_folders(config: pytest.Config) -> Path:
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    return factory.getbasetemp()


def _run_units(session: pytest.Session, connection: Connection, unit: Unit) -> None:
    """Run units until the parent has none; ask for the next one before the last test, whose fixtures may go on."""
    while unit:
        following: Unit | None = []
        for position, following_position in _with_next(unit):
            if following_position is None:
                connection.send(("next",))
            if following_position is None or connection.poll():
                following = connection.recv()
                if following is STOP:
                    connection.send(("stopped",))
                    session._setupstate.teardown_exact(None)
                    return
                following_position = following[0] if following else None
            item = session.items[position]
            after = None if following_position is None else session.items[following_position]
            connection.send(("begin",))
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            connection.send(("end",))
        unit = following or []


def _with_next(unit: Unit) -> Iterator[tuple[int, int | None]]:
    yield from zip(unit, [*unit[1:], None], strict=True)
