"""Decide what becomes of each credential of a state: where it is restored and how, or why it is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import NamedTuple

from lifeboat_adapters.contract import Adapter, MergedHomeFile, find_secret_places
from lifeboat_adapters.credential_types import CredentialDelivery, CredentialRefusal, Place
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason, ReasonCode, reason_code, reason_text
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import State
from lifeboat_core.home.context import Context
from lifeboat_core.restore import state_things
from lifeboat_core.restore.credential_filler import CredentialFiller
from lifeboat_core.restore.file_decisions import PlanItem, RestoreAction
from lifeboat_core.restore.left_out_reasons import LeftOutCode, ReissueCode
from lifeboat_core.restore.state_dir_plan import Keys, StateDirPlan
from lifeboat_core.restore.wanted_contents import DATABASE
from lifeboat_core.state.state_documents import filter_texts, list_capabilities, load_credentials, load_document
from lifeboat_core.texts.readable_json import make_printable
from lifeboat_keys.pairs.strict_base64 import to_base64
from lifeboat_vault.vault.state_inventory import StateInventory

INJECTED, SKIPPED = "injected", "skipped"
BOUND = frozenset({LeftOutCode.BOUND_CHANNEL, LeftOutCode.BOUND_GATEWAY})
_NUMBERED = re.compile(r"-\d+$")
_TO_ISSUE: frozenset[ReasonCode] = frozenset(
    {
        LeftOutCode.NO_AGENT_KEY,
        LeftOutCode.FOREIGN_SEALING,
        LeftOutCode.FOREIGN_PAYLOAD,
        LeftOutCode.NOT_IN_STATE,
        LeftOutCode.NOT_OPENED,
        CredentialRefusal.LOCKED,
    }
)
"""Reasons why this machine cannot open a credential, so that its issuer has to give another one."""
_SIGNED_IN = ("oauth_token", "session_token")


@dataclass(frozen=True, slots=True)
class CredentialFate:
    """One credential. `outcome` is injected or skipped; `where` says where it was put, `reason` why it was not.
    `reissue` is what the user has to do about it, None for nothing."""

    id: str
    label: str
    service: str
    type: str
    outcome: str
    where: str | None = None
    reason: Reason | None = None
    reissue: ReissueCode | None = None

    @property
    def is_injected(self) -> bool:
        return self.outcome == INJECTED

    def to_json(self) -> JsonObject:
        """Return the fields of the fate, each text with its code."""
        return {
            "id": self.id,
            "label": self.label,
            "service": self.service,
            "type": self.type,
            "outcome": self.outcome,
            "where": self.where,
            "reason": reason_text(self.reason),
            "reason_code": reason_code(self.reason),
            "reissue": None if self.reissue is None else str(Reason(self.reissue)),
            "reissue_code": None if self.reissue is None else str(self.reissue),
        }


class CredentialStand(NamedTuple):
    """A place of a credential in a state: a file, and the keys to it there (() when unknown). A `translated` one is
    where the credential would be, had this runtime been captured with it."""

    path: str
    keys: Keys
    translated: bool = False


def find_bound_credentials(context: Context, state: State) -> dict[str, Reason]:
    """Return the reasons, by id, for credentials that are bound to another machine."""
    here = context.keys().device.id
    found: dict[str, Reason] = {}
    for id, record in load_credentials(state).items():
        about = record.get("x_lifeboat")
        bound_to = about.get("bound_to") if isinstance(about, dict) else None
        if bound_to is not None and bound_to != here:
            is_gateway = str(record.get("service", "")).endswith("gateway")
            found[id] = Reason(LeftOutCode.BOUND_GATEWAY if is_gateway else LeftOutCode.BOUND_CHANNEL)
    return found


Stands = Mapping[str, Sequence[CredentialStand]]


def find_stands(
    state: State, inventory: StateInventory, adapter: Adapter, home: StateDirPlan, translated: Mapping[str, Place]
) -> Stands:
    """Return the places of every credential; with keys in files whose parts are restored in different ways.
    `translated` are the places of credentials from another runtime."""
    parted = {*home.merged, *(path for each in home.deliveries for path, _ in each.places)}
    found: dict[str, list[CredentialStand]] = {}
    for entry in inventory.entries.values():
        cuts = entry.meta.get(entry_metas.CUTS) or []
        offsets = [int(cut["offset"]) for cut in cuts]
        keys: Sequence[Keys] = [()] * len(cuts)
        if cuts and entry.path in parted:
            keys = find_secret_places(adapter, entry.path, state.body(entry.path), offsets)
        for cut, place in zip(cuts, keys, strict=True):
            found.setdefault(str(cut["credential_id"]), []).append(CredentialStand(entry.path, place))
    return found | {id: [CredentialStand(path, keys, translated=True)] for id, (path, keys) in translated.items()}


def decide_fates(
    state: State,
    stands: Stands,
    filler: CredentialFiller,
    items: Sequence[PlanItem],
    home: StateDirPlan,
    untranslated: Mapping[str, Reason],
    *,
    travelled: bool,
) -> list[CredentialFate]:
    """Return the fate of every credential of a state, by label. `untranslated` says why those of another
    runtime have no place in this one; `travelled`: the agent may live on elsewhere with the same credentials."""
    by_path = {item.wanted.path: item for item in items if item.wanted is not None}
    by_path |= _rows_in_databases(stands, by_path)
    found: list[CredentialFate] = []
    for id, record in load_credentials(state).items():
        ends = [_end(stand, by_path, home) for stand in stands.get(id, [])]
        if id in untranslated:
            ends = [_CredentialEnd(None, untranslated[id])]
        if not ends:
            problem = filler.problem(id)
            ends = [_CredentialEnd(None, problem or Reason(LeftOutCode.NOWHERE))]
        found.append(_fate(id, record, next((end for end in ends if not end.reason), ends[0]), travelled=travelled))
    return sorted(found, key=lambda fate: (fate.label, fate.id))  # ids of one capture have no order


def _rows_in_databases(stands: Stands, by_path: Mapping[str, PlanItem]) -> dict[str, PlanItem]:
    """Return the databases that rows with credentials are written into, by the path of the rows. A database is named
    like the folder of its rows, or lies in a folder of that name."""
    written = [item for item in by_path.values() if item.wanted is not None and item.wanted.basis == DATABASE]
    by_name = {PurePath(item.name).parent.name: item for item in written}
    by_name |= {PurePath(item.name).stem: item for item in written}
    paths = {
        stand.path for each in stands.values() for stand in each if state_things.is_rows_path(stand.path)
    } - by_path.keys()
    names = {path: _NUMBERED.sub("", PurePath(path).parent.name) for path in paths}
    return {path: by_name[name] for path, name in names.items() if name in by_name}


class _CredentialEnd(NamedTuple):
    where: str | None
    reason: Reason | None


def _end(stand: CredentialStand, by_path: Mapping[str, PlanItem], home: StateDirPlan) -> _CredentialEnd:
    """Return what becomes of a credential in one of its places."""
    item = by_path.get(stand.path)
    if stand.translated and stand.path in home.translated:
        return _translated_end(stand, item, home.translated[stand.path])
    if stand.path in home.merged:
        blocked = item.reason if item is not None and item.action is RestoreAction.SKIP and item.seen is None else None
        reason = blocked or home.merged[stand.path].reason(stand.keys)
        if reason is None and item is not None and item.action is RestoreAction.OVERWRITE and not stand.keys:
            reason = Reason(LeftOutCode.NO_VALUE)
        return _CredentialEnd(None if item is None else _name(item), reason)
    delivery = _delivery_of((stand.path, stand.keys), home.deliveries)
    if delivery is not None:
        return _CredentialEnd(delivery[0], delivery[1].reason)
    if item is not None:
        stays_out = item.action is RestoreAction.SKIP or item.lacks_credentials
        return _CredentialEnd(_name(item), item.reason if stays_out else None)
    return _CredentialEnd(None, Reason(LeftOutCode.NOT_ASKED))


def _translated_end(stand: CredentialStand, item: PlanItem | None, became: MergedHomeFile | PlanItem) -> _CredentialEnd:
    """Return what becomes of a credential from another runtime in one of its places."""
    if isinstance(became, MergedHomeFile):
        blocked = item.reason if item is not None and item.action is RestoreAction.SKIP and item.seen is None else None
        return _CredentialEnd(None if item is None else _name(item), blocked or became.reason(stand.keys))
    return _CredentialEnd(_name(became), became.reason if became.action is RestoreAction.SKIP else None)


def _name(item: PlanItem) -> str:
    return make_printable(str(item.root / item.name))


def _delivery_of(place: Place, deliveries: Sequence[CredentialDelivery]) -> tuple[str, CredentialDelivery] | None:
    for each in deliveries:
        for (path, keys), name in each.places.items():
            if path == place[0] and place[1][: len(keys)] == keys:
                return f"{each.where}: {name}", each
    return None


def _fate(id: str, record: JsonObject, end: _CredentialEnd, *, travelled: bool) -> CredentialFate:
    fate = CredentialFate(
        id=id,
        label=str(record.get("label") or record.get("service") or id),
        service=str(record.get("service", "")),
        type=str(record.get("credential_type", "")),
        outcome=SKIPPED if end.reason else INJECTED,
        where=None if end.reason else end.where,
        reason=end.reason,
    )
    return replace(fate, reissue=_reissue(fate, travelled=travelled))


def _reissue(fate: CredentialFate, *, travelled: bool) -> ReissueCode | None:
    if fate.is_injected:
        return ReissueCode.ROTATES if fate.type == "oauth_token" and travelled else None
    code = None if fate.reason is None else fate.reason.code
    if code in BOUND:
        return ReissueCode.MADE_ANEW if code is LeftOutCode.BOUND_GATEWAY else ReissueCode.LINK_AGAIN
    if code is CredentialRefusal.EXPIRED and fate.type in _SIGNED_IN:
        return ReissueCode.SIGN_IN
    return ReissueCode.ISSUE_AGAIN if code in _TO_ISSUE else None


def is_of_this_device(context: Context, state: State) -> bool:
    """Return whether this machine captured a state."""
    signature = state.sequence.signature or {}
    return signature.get("device") == to_base64(context.keys().device.public)


def update_fates(
    found: Sequence[CredentialFate], stands: Stands, missing: Mapping[Place, Reason]
) -> list[CredentialFate]:
    """Return the fates after deliveries were run; `missing` says what did not arrive."""
    return [_after(fate, stands.get(fate.id, []), missing) for fate in found]


def _after(fate: CredentialFate, stands: Sequence[CredentialStand], missing: Mapping[Place, Reason]) -> CredentialFate:
    for stand in stands:
        for (path, keys), reason in missing.items():
            if fate.is_injected and path == stand.path and stand.keys[: len(keys)] == keys:
                needed = ReissueCode.SIGN_IN if fate.type == "oauth_token" else None
                return replace(fate, outcome=SKIPPED, where=None, reason=reason, reissue=needed)
    return fate


def find_lacking_capabilities(state: State, found: Sequence[CredentialFate]) -> list[JsonObject]:
    """Return the capabilities whose credentials are left out or not in the state (ALF §3.4.2): [{name, credentials:
    [label]}]."""
    there = {fate.id for fate in found if fate.is_injected}
    labels = {fate.id: fate.label for fate in found}
    without = [
        (
            capability["name"],
            [labels.get(id, id) for id in filter_texts(capability.get("credential_ids")) if id not in there],
        )
        for capability in list_capabilities(load_document(state, archive_layout.IDENTITY))
    ]
    return [{"name": name, "credentials": lacking} for name, lacking in without if lacking]
