"""Purges for tests without commands and remotes: planned over the history, signed by this machine, applied."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from lifeboat_alf.common import ids
from lifeboat_alf.purging.purge_items import CutPlan, PurgeItem, PurgeOptions
from lifeboat_alf.purging.purge_planner import plan_cuts
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.redactions import RECORDS, Redaction
from lifeboat_core.purge import keep_out
from lifeboat_core.purge.memory_pieces import pieces_of
from lifeboat_core.state.state_db import delete_cache
from lifeboat_keys.signed import redaction_signatures
from lifeboat_vault.vault import Vault


def purge(ada: Any, *record_ids: str, texts: Sequence[str] = (), **options: bool) -> Redaction:
    """Purge of a protected agent what `apply_redaction` removes, with the keep-out filter."""
    with ada.context.vault(ada.agent.id) as vault:
        items, wanted = partial(_items, vault), PurgeTerms(tuple(texts))
        asked, known = PurgeOptions(**options), pieces_of(ada.context)
        plan = plan_cuts(items, ada.agent.id, record_ids, wanted, asked, vault.redactions, known)
        redaction = signed(ada, plan)
        vault.redact(redaction, decisions=keep_out.derive_keep_out(ada.context, vault, redaction))
    delete_cache(ada.context.home.state_file(ada.agent.id))
    return redaction


def signed(ada: Any, plan: CutPlan) -> Redaction:
    now = ada.context.now()
    made = Redaction(
        id=ids.make_id(now),
        agent_id=ada.agent.id,
        scope=RECORDS,
        reason="user_request",
        requested_at=now,
        requested_by=ada.agent.id,
        record_ids=plan.record_ids,
        partitions_affected=plan.partitions,
        leaves=plan.leaves,
    )
    return redaction_signatures.sign_redaction(made, ada.context.keys().device)


def _items(vault: Vault) -> Iterator[PurgeItem]:
    for found in vault.history():
        body = _reader(vault, found.object)
        yield PurgeItem(found.leaf, body, found.path, found.meta, found.record_id, found.partition)


def _reader(vault: Vault, number: int) -> Any:
    return lambda: vault.read_object(number)


def holding(vault: Vault, text: str) -> list[str]:
    """Return the paths and ids of everything in a history that has a text."""
    pattern = re.compile(re.escape(text).encode())
    return [str(item.path or item.record_id) for item in _items(vault) if pattern.search(item.body())]
