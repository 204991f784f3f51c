"""`lifeboat doctor`: the checks of this folder, each of which gets the context (see `lifeboat_alf.findings`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module

from lifeboat_alf.findings import Checked as Checked
from lifeboat_alf.findings import Finding as Finding
from lifeboat_alf.findings import Level as Level
from lifeboat_alf.findings import checks_in, run
from lifeboat_core.home.context import Context


def examine(context: Context) -> Iterator[Checked]:
    """Run every check of this folder, by name."""
    for name in checks_in(__path__):
        module = import_module(f"{__name__}.{name}")
        yield from run(name, module.TITLE, partial(module.check, context))
