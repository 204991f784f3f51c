"""What a restore shows of other people's text: the output of programs, files as they stand on the disk. No secret."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.secrets.secret_finder import KnownSecretMatch
from lifeboat_adapters.secrets.secret_masking import find_known_spans, mask_secrets_in_text, mask_spans
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.capture.secret_cutter import DECISION
from lifeboat_core.capture.secret_prints import PrintShape, SecretPrints, shapes_in
from lifeboat_core.home.context import Context
from lifeboat_core.restore.restore_plan import RestorePlan

HideText = Callable[[str], str]
HideFile = Callable[[str, bytes], bytes | None]
"""From an archive path and bytes to what may be shown; None where nothing may."""


def hide_in_output(context: Context, plan: RestorePlan) -> HideText:
    """Takes every secret that this restore opened, or that is known of the agent, out of a program's output."""
    values = plan.file_filler.values() if plan.file_filler is not None else []
    find = _known(context, plan)
    return lambda text: mask_secrets_in_text(text, values, find)


def hide_in_files(context: Context, plan: RestorePlan) -> HideFile:
    """Masks the secrets of a file on the disk: those of its own, and those that are known of the agent."""
    find, credentials = _known(context, plan), plan.adapter.credentials

    def hide(path: str, data: bytes) -> bytes | None:
        try:
            own = (credentials.find(path, data) if credentials is not None else None) or ()
        except UnparsableSecrets:
            return None
        return mask_spans(data, [*((one.start, one.end) for one in own), *find_known_spans(data, find)])

    return hide


def _known(context: Context, plan: RestorePlan) -> Callable[[bytes], Iterator[KnownSecretMatch]]:
    """Finds what captures of this agent remember, by their prints; nothing where there was none."""
    prints = SecretPrints(context.keys(), plan.agent_id)
    known: dict[str, PrintShape] = {}
    with contextlib.suppress(LifeboatError), context.vault(plan.agent_id) as vault:
        known.update(shapes_in((vault.get(DECISION) or {}).get("values", {})))
    return lambda data: prints.known_in(data, known) if known else iter(())
