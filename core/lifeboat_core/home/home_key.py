"""The user's key: recover it from its words, compare it with other keys, and say where each key was last seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.states.agent_state import Sequence
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import time_text
from lifeboat_keys.errors import KeysError, NoAgentKey, NoKey, OtherKey, SignedByAnother
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.pairs.agent_pair import pair_id
from lifeboat_keys.pairs.strict_base64 import from_base64
from lifeboat_keys.pairs.user_key import UserKey, UserPublic
from lifeboat_keys.stores.store_kinds import StoreKind
from lifeboat_vault.vault import SequenceRow

Found = TypeVar("Found")

_KEY_ID = re.compile("[0-9a-f]{32}")
_ANOTHER_HOME = "LIFEBOAT_HOME=ANOTHER-FOLDER lifeboat keys recover"


def load_known_public(context: Context) -> UserPublic | None:
    """Return the public key of the owner of this home, None if it has no key yet."""
    try:
        return context.keys().public
    except NoKey:
        return None


def find_user_key(context: Context) -> UserKey | None:
    """Return the key with its secret, None while it is away."""
    try:
        return context.keys().user_key()
    except KeysError:
        return None


def recover_user_key(context: Context, key: UserKey, store: StoreKind | None) -> bool:
    """Put a key from its words into a home that has none, or that lost the secret of this key.

    Return whether the home had its secret already. Raises KeysError.EXISTS (see `refuse_other_key`), and what the store
    raises.
    """
    refuse_other_key(context, key)
    had = find_user_key(context) is not None
    keys = context.keys()
    keys.install(key, store)
    keys.note_proven(context.now())
    return had


def refuse_other_key(context: Context, key: UserKey) -> None:
    """Raises KeysError.EXISTS, with both key ids and where each was last seen, when this home has another key."""
    known = load_known_public(context)
    if known is not None and known != key.public:
        raise KeysError.EXISTS(_two_keys(context, known.key_id, key.key_id), fix=_ANOTHER_HOME)


def prove_words(context: Context, key: UserKey) -> None:
    """Note that the user has the words of this home's key; the key itself may be away. Raises OtherKey, NoKey."""
    keys = context.keys()
    if keys.public != key.public:
        raise OtherKey(_two_keys(context, keys.public.key_id, key.key_id), fix="lifeboat keys status")
    keys.note_proven(context.now())


def describe_user_key(context: Context) -> JsonObject:
    """Return the key and what depends on it, as `keys status --json`. Never raises for a problem with the key."""
    keys = context.keys()
    found = keys.status()
    problems: list[str] = []
    nothing: list[JsonObject] = []
    return {
        "state": str(found.state),
        "key_id": found.key_id,
        "store": str(found.store),
        "note": found.note,
        "description": found.description,
        "proven_at": found.proven_at,
        "former": _seen(lambda: _former(keys), nothing, problems),
        "machines": _seen(lambda: _machines(keys), nothing, problems),
        "agents": [
            {"id": one.id, "name": one.name, "pair": _seen(partial(_pair_of, keys, one), None, problems)}
            for one in list_agents(context)
        ],
        "problems": problems,
    }


def _seen(look: Callable[[], Found], otherwise: Found, problems: list[str]) -> Found:
    """Return what a look-up gives; `otherwise` if there is nothing yet, or if it cannot be read, which is a problem."""
    try:
        return look()
    except (NoKey, NoAgentKey):
        return otherwise
    except LifeboatError as error:
        problems.append(error.message)
        return otherwise


def _former(keys: HomeKeys) -> list[JsonObject]:
    return [
        {"key_id": one.public.key_id, "replaced_at": one.replaced_at, "compromised": one.compromised}
        for one in keys.former
    ]


def _machines(keys: HomeKeys) -> list[JsonObject]:
    """Return the known machines, with `here` for this one."""
    own = keys.device.public
    return [
        {
            "id": one.id,
            "name": one.name,
            "first_seen": one.first_seen,
            "last_seen": one.last_seen,
            "revoked_at": one.revoked_at,
            "here": one.public == own,
        }
        for one in keys.machines.all()
    ]


def _pair_of(keys: HomeKeys, agent: Agent) -> str | None:
    """Return the id of the pair to which an agent's credentials are sealed."""
    return pair_id(from_base64(keys.export_agent(agent.id)["pairs"][-1]["public"]))


def refuse_without_key(context: Context, sequence: Sequence) -> None:
    """Refuse to make a key here other than that of a signed archive: its words would be refused later. Raises NoKey."""
    signer = _signer(sequence.signature)
    if signer is not None and load_known_public(context) is None:
        raise NoKey(
            (
                f"{_named(sequence)} was signed with the key {signer}, and this home has no key "
                "yet. If that key is not yours, use --accept-unsigned to import the agent "
                "without its credentials"
            ),
            fix="lifeboat keys recover",
        )


def note_met_key(context: Context, sequence: Sequence, file: Path) -> None:
    """Note the file in which another key than this home's was met: a refusal names it."""
    signer = _signer(sequence.signature)
    if signer is not None and signer != context.keys().public.key_id:
        context.keys().machines.key_met(signer, f"in {file.name}, sequence {sequence.number}", context.now())


def make_foreign_key_error(context: Context, sequence: Sequence) -> SignedByAnother:
    """Return the refusal of a state that was signed under another key, with where each key was last seen."""
    own, other = context.keys().public.key_id, str(_signer(sequence.signature))
    return SignedByAnother(
        f"{_named(sequence)} was signed with the key {other} "
        f"({describe_last_seen(context, other)}), but this home has the key {own} "
        f"({describe_last_seen(context, own)})"
    )


def _named(sequence: Sequence) -> str:
    return f"sequence {sequence.number} of {time_text(sequence.time)}"


def describe_last_seen(context: Context, key_id: str) -> str:
    """Say for people where a key was last seen: in the notes of the home, and in the newest state signed under it."""
    said = [context.keys().last_seen(key_id)]
    signed = [(row.time, name, row.number) for name, row in _heads(context) if _signer(row.signature) == key_id]
    if signed:
        time, name, number = max(signed)
        said.append(f"signed sequence {number} of {name}, {time_text(time)}")
    return "; ".join(filter(None, said)) or "never seen on this machine"


def _heads(context: Context) -> Iterator[tuple[str, SequenceRow]]:
    """Yield the newest sequence of every agent, without vaults that cannot be read."""
    for agent in list_agents(context):
        try:
            with context.vault(agent.id) as vault:
                head = vault.head()
        except LifeboatError:
            continue
        if head is not None:
            yield agent.name, head


def _signer(signature: JsonObject | None) -> str | None:
    """Return the id of the key under which a state says it was signed."""
    user = (signature or {}).get("user")
    key_id = user.get("key_id") if isinstance(user, dict) else None
    return key_id if isinstance(key_id, str) and _KEY_ID.fullmatch(key_id) else None


def _two_keys(context: Context, own: str, given: str) -> str:
    return (
        f"this home has the key {own} ({describe_last_seen(context, own)}), but the words belong "
        f"to the key {given} ({describe_last_seen(context, given)})"
    )
