"""Time in tests: a limit that only guards against a hang is `patience()`, and no assertion is about elapsed time."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator

import pytest

from support.paths import ROOT, TESTS

SHORTEST = 60.0
LONGEST_TEST = 600
"""Seconds; the limit of a test in pyproject.toml. A mark may only raise it."""
LIMITS = frozenset({"timeout", "within", "deadline", "time_limit"})
"""Keywords whose value is a time limit in any call."""
PLACES = {
    "join": 0,
    "wait": 0,
    "result": 0,
    "settimeout": 0,
    "asyncio.timeout": 0,
    "asyncio.wait_for": 1,
    "select.select": 3,
}
"""Calls with a time limit as an argument without a keyword, and which one it is."""
POLLING = frozenset({"until", "until_async"})
"""They multiply their limit by the load themselves."""
CLOCKS = frozenset({"time.monotonic", "time.perf_counter", "time.time", "time.monotonic_ns", "time.perf_counter_ns"})
TINY = 5.0
"""Seconds. A pause up to here that is given to `wait` or `join` without a keyword is a step of a loop, or shows that
nothing happens: it cannot fail because a machine is slow."""

_SIGNS = re.compile(
    r"timeout|within=|deadline=|time_limit=|monotonic|perf_counter|time\.time\(|until(_async)?\(.*seconds="
    r"|wait_for\(|select\.select|\.(join|wait|result)\(\s*[0-9A-Z_]"
)
"""What a module holds that is worth parsing."""

SHORT_LIMITS = {
    "tests/core/test_differences.py": "the lock is free: a wait of no time shows it",
    "tests/project/test_preloaded.py": "the limit of a wait is tested: the child never ends",
    "tests/daemon/test_control_clients.py": "the limit of a client is tested: the server says nothing",
    "tests/daemon/test_schedule_timers.py": "the limit of the end of a schedule is tested: the job hangs",
    "tests/scale/test_standby.py": "a push that cannot be acknowledged: the limit is hit",
}
"""Modules with a limit below a minute that has to be hit, and why."""
GROWING_BOUNDS = {
    "tests/cli/test_command_server.py": "how much is told at most grows with the time that passed",
    "tests/daemon/test_work_worker.py": "how much is told at most grows with the time that passed",
    "tests/endpoint/server/test_serving.py": "how many requests may pass grows with the time that passed",
    "tests/scale/test_operating.py": "how many requests may pass grows with the time that passed",
    "tests/soak/test_soak_scale.py": "an answer takes a small part of the time that all the work beside it takes",
}
"""Modules that compare with elapsed time in the one way that a slow machine cannot break: more time allows more."""


@functools.cache
def _modules() -> dict[str, ast.Module]:
    """Return the modules of tests and of their helpers in which something of time may stand."""
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("*.py"))
    }
    return {name: ast.parse(text) for name, text in texts.items() if _SIGNS.search(text)}


@functools.cache
def _nodes(tree: ast.Module) -> list[ast.AST]:
    return list(ast.walk(tree))


def _numbers(tree: ast.Module) -> dict[str, float]:
    """Return the constants of a module that are numbers."""
    return {
        target.id: float(node.value.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and type(node.value.value) in (int, float)
    }


def _value(node: ast.expr, numbers: dict[str, float]) -> float | None:
    """Return the number that an expression is, as far as this module says it."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.Name(id=name):
            return numbers.get(name)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            values = _value(left, numbers), _value(right, numbers)
            return None if None in values else (values[0] or 0.0) * (values[1] or 0.0)
    return None


def _called(node: ast.Call) -> tuple[str, str]:
    """Return what is called, as `module.function` if it is that, and its last part."""
    match node.func:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}", name
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name, name
    return "", ""


def _limits(tree: ast.Module) -> Iterator[tuple[int, float, bool]]:
    """Find the limits that are plain numbers: the line, the seconds, and whether the limit has a keyword."""
    numbers = _numbers(tree)
    for node in _nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        whole, last = _called(node)
        keywords = LIMITS | ({"seconds"} if last in POLLING else set())
        found = [(keyword.value, True) for keyword in node.keywords if keyword.arg in keywords]
        place = PLACES.get(whole, PLACES.get(last))
        if place is not None and len(node.args) > place and not _is_mark(node):
            found.append((node.args[place], False))
        for expression, has_keyword in found:
            if (value := _value(expression, numbers)) is not None:
                yield node.lineno, value, has_keyword


def _waits_too_shortly(tree: ast.Module) -> Iterator[int]:
    for line, seconds, has_keyword in _limits(tree):
        if seconds < SHORTEST and (has_keyword or seconds > TINY):
            yield line


def _deadlines(tree: ast.Module) -> Iterator[int]:
    """Find `time.monotonic() + 30`."""
    numbers = _numbers(tree)
    for node in _nodes(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_clock(node.left):
            value = _value(node.right, numbers)
            if value is not None and value < SHORTEST:
                yield node.lineno


def _is_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _called(node)[0] in CLOCKS


def _has_elapsed_time(node: ast.AST, elapsed: set[str]) -> bool:
    """Return whether an expression subtracts from a clock, or uses a variable with such a difference."""
    return any(
        (isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub) and _is_clock(each.left))
        or (isinstance(each, ast.Name) and each.id in elapsed)
        for each in ast.walk(node)
    )


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def _elapsed_times(function: ast.AST) -> set[str]:
    """Return the variables that hold an elapsed time, or something that was made of one further above."""
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value) if _has_elapsed_time(value, found):
                found |= _names(targets)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=values) if any(
                _has_elapsed_time(value, found) for value in values
            ):
                found.add(name)
    return found


def _assertions_about_time(tree: ast.Module) -> Iterator[int]:
    for function in _nodes(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(_is_clock, ast.walk(function))):
            elapsed = _elapsed_times(function)
            for node in ast.walk(function):
                if isinstance(node, ast.Assert) and _has_elapsed_time(node.test, elapsed):
                    yield node.lineno


def _is_mark(node: ast.Call) -> bool:
    return _called(node)[1] == "timeout" and ast.unparse(node.func) == "pytest.mark.timeout"


def _marks(tree: ast.Module) -> Iterator[int]:
    for node in _nodes(tree):
        if isinstance(node, ast.Call) and _is_mark(node):
            value = _value(node.args[0], {})
            if not _is_patience(node.args[0]) and (value is None or value < LONGEST_TEST):
                yield node.lineno


def _is_patience(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _called(node)[1] == "patience"


@pytest.mark.parametrize(
    ("find", "listed"),
    [
        (_waits_too_shortly, SHORT_LIMITS),
        (_deadlines, {}),
        (_assertions_about_time, GROWING_BOUNDS),
        (_marks, {}),
    ],
    ids=["limits", "deadlines", "elapsed times", "marks"],
)
def test_no_test_depends_on_the_speed_of_the_machine(find: object, listed: dict[str, str]) -> None:
    assert callable(find)
    found = {name: lines for name, tree in _modules().items() if (lines := sorted(set(find(tree))))}
    assert {name: lines for name, lines in found.items() if name not in listed} == {}, "see tests/support/patience.py"
    assert sorted(set(listed) - set(found)) == [], "listed without need"


@pytest.mark.parametrize(
    ("find", "text"),
    [
        (_waits_too_shortly, "run(command, timeout=20)"),
        (_waits_too_shortly, "SHORT = 20.0\nprocess.wait(2 * SHORT)"),
        (_waits_too_shortly, "await asyncio.wait_for(story, 10)"),
        (_waits_too_shortly, "until(ready, 'it', seconds=5)"),
        (_deadlines, "end = time.monotonic() + 30"),
        (_assertions_about_time, "def test():\n    assert time.monotonic() - began < 3"),
        (_assertions_about_time, "def test():\n    took = time.perf_counter() - began\n    assert took < 3"),
        (_assertions_about_time, "def test():\n    all.append(time.time() - began)\n    assert max(all) < 3"),
        (_marks, "@pytest.mark.timeout(20)\ndef test():\n    pass"),
    ],
)
def test_what_depends_on_it_is_found(find: object, text: str) -> None:
    assert callable(find) and list(find(ast.parse(text))) != []


@pytest.mark.parametrize(
    ("find", "text"),
    [
        (_waits_too_shortly, "run(command, timeout=patience())"),
        (_waits_too_shortly, "over.wait(0.02)"),
        (_waits_too_shortly, "', '.join(words)"),
        (_deadlines, "end = time.monotonic() + patience()"),
        (_assertions_about_time, "def test():\n    assert time.process_time() - began < 3"),
        (_assertions_about_time, "def test():\n    assert time.monotonic() < end, 'it hangs'"),
        (_marks, "pytestmark = pytest.mark.timeout(1800)"),
        (_marks, "item.add_marker(pytest.mark.timeout(patience(own)))"),
    ],
)
def test_what_does_not_is_left_alone(find: object, text: str) -> None:
    assert callable(find) and list(find(ast.parse(text))) == []
