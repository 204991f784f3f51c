"""Check versions: the running daemon against this release, the interpreter, and the libraries."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.home.context import Context
from lifeboat_core.processes.installed_release import read_release
from lifeboat_daemon.service import daemon_lifecycle
from lifeboat_keys.installers import reinstall_command

TITLE = "Versions"
_DISTRIBUTION = "agent-lifeboat"
_OLDEST_PYTHON = (3, 11)
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([^;]*)(?:;(.*))?")
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|~=|>|<)\s*([0-9][0-9A-Za-z.]*)\s*")


def check(context: Context) -> Iterator[DoctorFinding]:
    yield _daemon(context)
    yield _python()
    wrong = [*_libraries()]
    yield from wrong
    if not wrong:
        yield DoctorFinding(DoctorLevel.OK, "libraries", "all required libraries have a supported version")


def _daemon(context: Context) -> DoctorFinding:
    """Compare the daemon's release. The daemon changes to a new release when its next worker starts; until then the old
    one runs."""
    own = read_release()
    standing = daemon_lifecycle.inspect_daemon(context)
    if standing.release in (None, own):
        return DoctorFinding(
            DoctorLevel.OK, "Lifeboat", f"release {own}{(', the same as the daemon' if standing.release else '')}"
        )
    result = f"this command has release {own}, but the running daemon has release {standing.release}"
    return DoctorFinding(DoctorLevel.WARNING, "Lifeboat", result, "lifeboat daemon restart")


def _python() -> DoctorFinding:
    found = platform.python_version()
    if sys.version_info >= _OLDEST_PYTHON:
        return DoctorFinding(DoctorLevel.OK, "Python", found)
    return DoctorFinding(
        DoctorLevel.ERROR,
        "Python",
        f"version {found} is installed, but version 3.11 or newer is required",
        reinstall_command(),
    )


def _libraries() -> Iterator[DoctorFinding]:
    for name, wanted in read_required_libraries():
        try:
            found = version(name)
        except PackageNotFoundError:
            yield DoctorFinding(DoctorLevel.ERROR, name, "is missing", reinstall_command())
            continue
        if not is_version_in_range(found, wanted):
            result = f"version {found} is installed, but this release needs {wanted}"
            yield DoctorFinding(DoctorLevel.WARNING, name, result, reinstall_command())


def read_required_libraries() -> Iterator[tuple[str, str]]:
    """Return the required libraries with their version ranges (`>=7.1,<8`)."""
    for line in requires(_DISTRIBUTION) or ():
        found = _REQUIREMENT.match(line)
        if found and _applies(found[3] or ""):
            yield found[1], found[2].strip()


def _applies(marker: str) -> bool:
    """Evaluate the environment markers that this distribution uses. Extras are ignored."""
    if "extra" in marker:
        return False
    bound = re.search(r"python_version\s*<\s*['\"]([0-9.]+)['\"]", marker)
    return not bound or tuple(sys.version_info[:2]) < _numbers(bound[1])


def is_version_in_range(found: str, wanted: str) -> bool:
    """Return whether a version is in a range. An unreadable version counts as fitting, because this is advice only."""
    for operator, bound in _CLAUSE.findall(wanted):
        one, other = _padded(_numbers(found), _numbers(bound))
        held = {">=": one >= other, "<=": one <= other, ">": one > other, "<": one < other}
        if not held.get(operator, True):
            return False
    return True


def _numbers(text: str) -> tuple[int, ...]:
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _padded(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    length = max(len(one), len(other))
    return one + (0,) * (length - len(one)), other + (0,) * (length - len(other))
