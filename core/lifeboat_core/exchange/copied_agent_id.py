"""Give a copy of an agent another id, in everything that names the old one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lifeboat_alf.common import json_codec
from lifeboat_keys.errors import NoAgentKey, NoKey, UnsealError
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.signed import credential_sealing

_NAMES = ("agent_id",)


@dataclass(frozen=True, slots=True)
class AgentIdChange:
    """Replaces one agent id by another in documents and record lines."""

    old: str
    new: str

    def document(self, body: bytes) -> bytes:
        """Return a JSON document in the form of archives, with the new id wherever `agent_id` or `agent.id` was the old
        one."""
        return json_codec.encode_pretty(self._value(json_codec.decode_json(body)))

    def line(self, line: bytes) -> bytes:
        """Return a record line; unchanged bytes when it does not have the old id."""
        return json_codec.encode_json(self._value(json_codec.decode_json(line))) if self.old.encode() in line else line

    def _value(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._value(item, f"{key}.{name}") for name, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, key) for item in value]
        names_agent = key == ".agent.id" or key.rpartition(".")[2] in _NAMES
        return self.new if names_agent and value == self.old else value


def seal_credentials_for_copy(keys: HomeKeys, body: bytes, agent_id: str, said: list[str]) -> bytes:
    """Return the credentials sealed again for the copy. What cannot be opened here stays sealed for the original agent,
    and is reported in `said`."""
    document = json_codec.decode_json(body)
    listed = document.get("credentials")
    if isinstance(listed, list):
        document["credentials"] = [_sealed_again(keys, credential, agent_id, said) for credential in listed]
    return json_codec.encode_pretty(document)


def _sealed_again(keys: HomeKeys, credential: Any, agent_id: str, said: list[str]) -> Any:
    if not isinstance(credential, dict):
        return credential
    try:
        payload = keys.open(credential)
    except (NoKey, NoAgentKey, UnsealError) as error:
        said.append(f"the credential {credential.get('label') or credential.get('id')} was not sealed again: {error}")
        return credential
    fields = credential_sealing.seal_credential(
        payload,
        agent_public=keys.agent_public(agent_id),
        agent_id=agent_id,
        credential_id=str(credential["id"]),
        service=str(credential["service"]),
        credential_type=str(credential["credential_type"]),
        key_id=keys.public.key_id,
    )
    return {**credential, "agent_id": agent_id, **fields}
