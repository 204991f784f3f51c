"""`lifeboat doctor`: small checks, one file each, every finding with its cause and the command that fixes it.

A new check is a new module in this folder with `TITLE` and `check(context) -> Iterator[Finding]`; it is found by
being here. A check that itself fails becomes a finding: the doctor never dies of the illness.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any

from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon.context import Context


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """`subject` names what was looked at, `result` what was found; `fix` is a command where one helps."""

    level: Level
    subject: str
    result: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """A finding with the check it comes from."""

    check: str
    title: str
    finding: Finding

    def to_json(self) -> dict[str, Any]:
        return {"check": self.check, "title": self.title, **asdict(self.finding)}


def examine(context: Context) -> Iterator[Checked]:
    """Run every check of this folder, by name."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda each: each.name):
        yield from _run(context, module.name)


def _run(context: Context, name: str) -> Iterator[Checked]:
    module = import_module(f"{__name__}.{name}")
    title: str = module.TITLE
    try:
        for finding in module.check(context):
            yield Checked(name, title, finding)
    except LifeboatError as error:
        yield Checked(name, title, Finding(Level.ERROR, title, f"{error.title}: {error.message}", error.fix))
    except OSError as error:
        yield Checked(name, title, Finding(Level.ERROR, title, str(error)))
