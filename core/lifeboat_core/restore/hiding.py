"""What a restore shows of other people's text: the output of programs, files as they stand on the disk. No secret."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from lifeboat_adapters.credentials import UnparsableSecrets
from lifeboat_adapters.secrets.finder import Known
from lifeboat_adapters.secrets.redaction import known_spans, masked, redacted
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.capture.prints import Prints, Shape, shapes_in
from lifeboat_core.capture.secrets import DECISION
from lifeboat_core.home.context import Context
from lifeboat_core.restore.plan import Plan

HideText = Callable[[str], str]
HideFile = Callable[[str, bytes], bytes | None]
"""From an archive path and bytes to what may be shown; None where nothing may."""


def in_output(context: Context, plan: Plan) -> HideText:
    """Takes every secret that this restore opened, or that is known of the agent, out of a program's output."""
    values = plan.file_filler.values() if plan.file_filler is not None else []
    find = _known(context, plan)
    return lambda text: redacted(text, values, find)


def in_files(context: Context, plan: Plan) -> HideFile:
    """Masks the secrets of a file on the disk: those of its own, and those that are known of the agent."""
    find = _known(context, plan)

    def hide(path: str, data: bytes) -> bytes | None:
        try:
            own = plan.adapter.secrets(path, data) or ()
        except UnparsableSecrets:
            return None
        return masked(data, [*((one.start, one.end) for one in own), *known_spans(data, find)])

    return hide


def _known(context: Context, plan: Plan) -> Callable[[bytes], Iterator[Known]]:
    """Finds what captures of this agent remember, by their prints; nothing where there was none."""
    prints = Prints(context.keys(), plan.agent_id)
    known: dict[str, Shape] = {}
    with contextlib.suppress(LifeboatError), context.vault(plan.agent_id) as vault:
        known.update(shapes_in((vault.get(DECISION) or {}).get("values", {})))
    return lambda data: prints.known_in(data, known) if known else iter(())
