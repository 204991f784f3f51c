"""Keep the agents' key pairs of one home: make missing ones, check them on reading, export them with an archive
and import them from one. The secret halves are sealed to the user's key, so nothing here needs its secret.

    agents/<id>.json    {"agent_id", "user": UserPublic, "pairs": [AgentPair, the current one last]}
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError, SignatureError
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_keys.errors import KeyDamaged, KeysError, NoAgentKey, OtherKey, UnsealError
from lifeboat_keys.home import device_registry, key_file_documents, key_rotation
from lifeboat_keys.home.home_identity import HomeIdentity
from lifeboat_keys.home.key_file_names import AGENTS, SETTLING, USER_PUBLIC
from lifeboat_keys.home.key_rotation import RotatingFiles
from lifeboat_keys.pairs import agent_pair, former_keys
from lifeboat_keys.pairs.agent_pair import AgentPair
from lifeboat_keys.pairs.former_keys import FormerKey
from lifeboat_keys.pairs.trusted_keys import TrustedKeys

_AGENT_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")


class AgentKeys:
    """The agents' key pairs in one key folder."""

    def __init__(self, store: RotatingFiles, identity: HomeIdentity, clock: Clock) -> None:
        self._store = store
        self._identity = identity
        self._clock = clock

    def current(self, agent_id: str) -> AgentPair:
        """Return the pair to which an agent's credentials are sealed. Makes one when there is none."""
        pairs = self.pairs(agent_id)
        if not pairs:
            with self._store.locked():
                if not self.pairs(agent_id):
                    self._keep_new(agent_id, [])
            pairs = self.pairs(agent_id)  # keep its copy now, not with the next command
        return pairs[-1]

    def find(self, agent_id: str, pair: str | None) -> AgentPair:
        """Return an agent's current pair, or the one with an id. Raises NoAgentKey."""
        pairs = [one for one in self.pairs(agent_id) if pair in (None, one.id)]
        if not pairs:
            raise NoAgentKey(f"the agent {agent_id} has no key {pair or ''} in this home".replace("  ", " "))
        return pairs[-1]

    def pairs(self, agent_id: str) -> list[AgentPair]:
        """Return all pairs of an agent, the current one last. Raises KeyDamaged, OtherKey, SignatureError."""
        # Read the trusted keys after the pairs: a rotation in between keeps the key they are wrapped for trusted.
        found = self._store.read_checked(
            _file(agent_id), lambda document: _checked(agent_id, document, self._identity.trusted)
        )
        return found or []

    def all(self) -> dict[str, list[AgentPair]]:
        """Return the pairs of every agent, by its id."""
        files = (Path(name) for name in self._store.names(AGENTS))
        return {file.stem: self.pairs(file.stem) for file in files if file.suffix == ".json"}

    def destroy(self, agent_id: str) -> bool:
        """Destroy an agent's pairs, so that nothing sealed to them can be opened again. Return False when it had
        none."""
        with self._store.locked():
            return self._store.discard(_file(agent_id))

    def why_shut(self, credential: JsonObject) -> LifeboatError | None:
        """Return why a credential of this program cannot be opened when its pair is not among its agent's; None when
        unknown."""
        name, agent_id = credential.get("label") or credential.get("id"), credential.get("agent_id")
        encryption = credential["encryption"]
        owner = self._owner(str(encryption.get("recipient")))
        if owner is not None:
            return UnsealError.SWAPPED_AGENT(f"the credential {name} of the agent {agent_id} was sealed for {owner}")
        user, own = encryption.get("key_id"), self._identity.public.key_id
        if user == own or user in {one.public.key_id for one in self._identity.former}:
            return None
        return UnsealError.WRONG_USER_KEY(
            f"the credential {name} was sealed for the key {user}, but this home has the key {own}"
        )

    def _owner(self, pair: str) -> str | None:
        """Return the agent of this home that a pair belongs to."""
        for name in self._store.names(AGENTS):
            agent_id = Path(name).stem
            with contextlib.suppress(KeysError, SignatureError):
                if pair in {one.id for one in self.pairs(agent_id)}:
                    return agent_id
        return None

    def export(self, agent_id: str) -> JsonObject:
        """Return an agent's pairs for an archive (`lifeboat/keys.json`). It contains no unsealed secret.

        {"agent_id", "user": UserPublic, "pairs": [{"agent_id", "public", "wrapped", "created_at", "testimony"}],
        "former": [FormerKey], "device": {"name", "testimony"}}, the current pair last. Raises NoAgentKey.
        """
        pairs = self.pairs(agent_id)
        if not pairs:
            raise NoAgentKey(f"the agent {agent_id} has no key in this home")
        identity = self._identity
        device = device_registry.introduce_machine(identity.device, identity.own_name)
        keys = [one.to_json() for one in identity.former]
        return {**self._document(agent_id, pairs), former_keys.FIELD: keys, device_registry.FIELD: device}

    def take_in(self, document: JsonObject) -> None:
        """Import the pairs of an archive, the former keys and the machines that it names. Pairs of this home stay and
        stay current.

        Raises OtherKey when they were wrapped for another user's key, SignatureError when no device of the user made a
        pair, KeyDamaged for the wrong shape.
        """
        agent_id, identity = _agent_id(document.get("agent_id")), self._identity
        with self._store.locked():
            known, settling = identity.former, identity.settling()
            keys = former_keys.merge_former_keys(known, self._came_former(document)) if settling is None else known
            trusted = key_rotation.trusted_keys_of(identity.public, keys, identity.machines.revoked(), settling)
            came = _checked(agent_id, document, trusted)
            if keys != known:
                self._take_former(known, keys)
            own = self.pairs(agent_id)
            new = [pair for pair in came if pair.id not in {one.id for one in own}]
            if new:
                self._store.replace(_file(agent_id), self._document(agent_id, [*new, *own]))
            device_registry.take_in_machines(
                identity.machines, document, [pair.testimony for pair in came], trusted, self._now()
            )

    def _came_former(self, document: JsonObject) -> list[FormerKey]:
        """Return the former keys of an archive. Only the current key names the keys it replaced; an archive under an
        older key knows less than this home."""
        user = key_file_documents.user_public(document.get("user"), "the keys of the archive")
        return (
            former_keys.read_former_keys(document.get(former_keys.FIELD), user) if user == self._identity.public else []
        )

    def _take_former(self, known: list[FormerKey], keys: list[FormerKey]) -> None:
        """Import former keys from another machine of the user. If one of them is compromised, every agent gets a new
        pair and the vaults must be settled."""
        stolen = former_keys.newly_compromised(known, keys)
        if stolen:
            self._store.replace(SETTLING, key_rotation.to_settle(stolen))
            for agent_id, pairs in self.all().items():
                self._keep_new(agent_id, pairs)
        self._store.replace(USER_PUBLIC, key_rotation.user_document(self._identity.public, keys))

    def _keep_new(self, agent_id: str, pairs: list[AgentPair]) -> AgentPair:
        """Make another pair and make it the current one."""
        pair = agent_pair.make_agent_pair(agent_id, self._identity.device, self._now())
        self._store.replace(_file(agent_id), self._document(agent_id, [*pairs, pair]))
        return pair

    def _document(self, agent_id: str, pairs: list[AgentPair]) -> JsonObject:
        return key_rotation.agent_document(agent_id, self._identity.public, pairs)

    def _now(self) -> str:
        return times.to_text(self._clock.now())


def _checked(agent_id: str, document: JsonObject, trusted: TrustedKeys) -> list[AgentPair]:
    user = key_file_documents.user_public(document.get("user"), f"the keys of the agent {agent_id}")
    if user not in (trusted.current, *trusted.former, *trusted.compromised):
        raise OtherKey(
            f"the agent's keys belong to the key {user.key_id}, but this home has the key {trusted.current.key_id}"
        )
    pairs = document.get("pairs")
    if not isinstance(pairs, list) or not pairs:
        raise KeyDamaged(f"the file with the keys of the agent {agent_id} contains no key")
    return [agent_pair.decode_agent_pair(pair, agent_id, trusted) for pair in pairs]


def _agent_id(agent_id: Any) -> str:
    """Check an agent id, which becomes a file name and may come from an archive."""
    if not isinstance(agent_id, str) or _AGENT_ID.fullmatch(agent_id) is None:
        raise KeyDamaged(f"{agent_id!r} is not a valid agent id")
    return agent_id


def _file(agent_id: str) -> str:
    return f"{AGENTS}/{_agent_id(agent_id)}.json"
