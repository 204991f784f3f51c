"""Note the state of purges at one remote: in the agent's vault, for the next decision to ask, and in the receipt of the
purge as its proof."""

from __future__ import annotations

from datetime import datetime, timedelta

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_core.home.context import Context
from lifeboat_core.purge import receipt_signing
from lifeboat_core.remotes import acknowledged_states
from lifeboat_core.remotes.acknowledged_states import AcknowledgedState, RemotePurgeState
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_keys.signed.purge_receipt import DONE, PENDING, WAITING, VaultPurgeNote
from lifeboat_vault.errors import PurgeRefused, RemoteDamaged, RemoteRefused
from lifeboat_vault.remote.remote_contract import RemoteRedaction
from lifeboat_vault.vault import Vault

ASK_AGAIN = timedelta(hours=1)
"""When a remote is asked again that refused a purge, or whose answer was not valid."""
SOONEST, LATEST = timedelta(minutes=1), timedelta(hours=1)
"""When a remote with a waiting purge is asked again, regardless of the time that it names: its owner may decide
earlier."""
LONGEST = timedelta(days=30)
"""A remote that names a longer wait for a purge has named no time."""
MOST_NAMED = 12


class PurgeNotes:
    """The purge notes of one remote. `vault` is None for an agent of which nothing is left here."""

    def __init__(self, context: Context, config: RemoteConfig, vault: Vault | None) -> None:
        self._context = context
        self._config = config
        self._vault = vault

    def stands(
        self, redaction: Redaction, state: RemoteRedaction, *, kind: str, unsearched: list[int], doubt: str
    ) -> None:
        """Note what the remote answered, and a `doubt` to be shown beside its proof. Raises RemoteDamaged when it
        answers about another purge, OSError, NoKey."""
        if state.id != redaction.id:
            raise RemoteDamaged(
                f"the remote was asked about the purge {redaction.id}, but answered about the purge {state.id}"
            )
        applies_at = _believable(state.applies_at, self._context.clock.now())
        if state.receipt is not None:
            message = _unsearched_words(unsearched) or doubt
            self._note(redaction, kind, DONE, message=message, receipt=state.receipt)
        elif applies_at is not None:
            self._note(redaction, kind, WAITING, applies_at=applies_at)
        else:
            self._note(
                redaction,
                kind,
                PENDING,
                message="the remote accepted the purge, but has not confirmed that it is complete",
            )

    def failed(self, redaction: Redaction, error: LifeboatError, *, soon: bool) -> None:
        """Note that the remote was not told, or refused. `soon`: it is told at the next contact."""
        refused, decided = isinstance(error, RemoteRefused), isinstance(error, PurgeRefused)
        self._note(redaction, "", PENDING, message=error.message, soon=soon, refused=refused, decided=decided)

    def nothing_there(self) -> None:
        """Note that the remote has nothing of the agent: no purge is missing there."""
        if (
            self._vault is not None
            and acknowledged_states.load_acknowledged(self._vault).get(self._config.id, AcknowledgedState()).purges
        ):
            acknowledged_states.note_acknowledged(self._vault, self._config.id, purges={})

    def doubt(self, doubts: tuple[str, ...]) -> None:
        """Note what the remote lists that does not count, until it lists it no longer."""
        if self._vault is None:
            return
        text = "; ".join(doubts[:3])
        if acknowledged_states.load_acknowledged(self._vault).get(self._config.id, AcknowledgedState()).doubts != text:
            acknowledged_states.note_acknowledged(self._vault, self._config.id, name=self._config.name, doubts=text)

    def _note(
        self,
        redaction: Redaction,
        kind: str,
        state: str,
        *,
        applies_at: str | None = None,
        message: str = "",
        receipt: JsonObject | None = None,
        soon: bool = False,
        refused: bool = False,
        decided: bool = False,
    ) -> None:
        context, config = self._context, self._config
        if receipt_signing.read_receipt(context, redaction.id) is None:
            receipt_signing.begin_receipt(context, redaction, context.now())
        note = VaultPurgeNote(
            config.name, config.id, kind or "remote", state, context.now(), applies_at, message, receipt
        )
        kept = receipt_signing.note_vault(context, redaction.id, note, refused=refused)
        noted = None if kept is None else kept.vault(config.id)
        if noted is not None and receipt is not None:  # which may not be valid
            state, message = noted.state, noted.message
        if self._vault is not None:
            ask_at = None if soon else _ask_at(state, applies_at, context.clock.now())
            if state == PENDING and not refused:  # the remote could not be asked, so its owner's decision stays
                decided = self._was_refused(redaction)
            made = RemotePurgeState(state, applies_at, "" if state == DONE else message, ask_at, refused=decided)
            acknowledged_states.note_purge(self._vault, config.id, config.name, redaction.id, made)

    def _was_refused(self, redaction: Redaction) -> bool:
        known = (
            AcknowledgedState()
            if self._vault is None
            else acknowledged_states.load_acknowledged(self._vault).get(self._config.id)
        )
        noted = None if known is None else known.purges.get(redaction.id)
        return noted is not None and noted.refused


def _ask_at(state: str, applies_at: str | None, now: datetime) -> str | None:
    """Return when the remote is asked again. A remote may name any time."""
    if state == DONE:
        return None
    if applies_at is None:
        return times.to_text(now + ASK_AGAIN)
    return times.to_text(min(max(times.parse_time(applies_at), now + SOONEST), now + LATEST))


def _believable(applies_at: str | None, now: datetime) -> str | None:
    """Return until when a purge waits; None for what is no time, or an excessive one."""
    try:
        moment = None if applies_at is None else times.parse_time(applies_at)
    except (ValueError, OverflowError):
        return None
    return None if moment is None or moment - now > LONGEST else times.to_text(moment)


def _unsearched_words(numbers: list[int]) -> str:
    if not numbers:
        return ""
    named = ", ".join(str(number) for number in numbers[:MOST_NAMED])
    more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
    return f"the remote has sequences that were not scanned for this purge: {named}{more}"
