"""Mask secrets in text that a restore shows: the output of programs, and files on the disk."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.secrets.file_secret_search import find_file_secrets
from lifeboat_adapters.secrets.secret_finder import KnownSecretMatch
from lifeboat_adapters.secrets.secret_masking import find_known_spans, mask_secrets_in_text, mask_spans
from lifeboat_adapters.secrets.secret_prints import PrintShape, SecretPrints, shapes_in
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.capture.secret_cutter import DECISION
from lifeboat_core.home.context import Context
from lifeboat_core.restore.restore_plan import RestorePlan

HideText = Callable[[str], str]
HideFile = Callable[[str, bytes], bytes | None]
"""Returns what may be shown of a file, from its archive path and bytes; None when nothing may."""


def hide_in_output(context: Context, plan: RestorePlan) -> HideText:
    """Return a function that masks every secret that this restore opened, or that is known of the agent."""
    values = plan.filler.values() if plan.filler is not None else []
    find = _known(context, plan)
    return lambda text: mask_secrets_in_text(text, values, find)


def hide_in_files(context: Context, plan: RestorePlan) -> HideFile:
    """Return a function that masks the secrets of a file on the disk: its own, and those known of the agent."""
    find = _known(context, plan)

    def hide(path: str, data: bytes) -> bytes | None:
        try:
            own = find_file_secrets(plan.adapter, path, data) or ()
        except UnparsableSecrets:
            return None
        return mask_spans(data, [*((one.start, one.end) for one in own), *find_known_spans(data, find)])

    return hide


def _known(context: Context, plan: RestorePlan) -> Callable[[bytes], Iterator[KnownSecretMatch]]:
    """Return a function that finds secrets that captures of this agent remember by their prints."""
    prints = SecretPrints(context.keys(), plan.agent_id)
    known: dict[str, PrintShape] = {}
    with contextlib.suppress(LifeboatError), context.vault(plan.agent_id) as vault:
        known.update(shapes_in((vault.get(DECISION) or {}).get("values", {})))
    return lambda data: prints.known_in(data, known) if known else iter(())
