"""Parse what an endpoint answers, according to the contract. What does not fit is RemoteDamaged: an answer is untrusted
data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys.pairs.endpoint_key import public_of
from lifeboat_keys.pairs.strict_base64 import to_base64
from lifeboat_vault.errors import NotAnEndpoint, RemoteDamaged
from lifeboat_vault.remote.remote_contract import (
    RemoteAgent,
    RemoteDescription,
    RemoteHead,
    RemoteRedaction,
    RemoteSequence,
)

Kind = TypeVar("Kind")
Made = TypeVar("Made")

ENDPOINT = "lifeboat endpoint"
LARGEST = 2**53
_LONGEST = 300
"""Characters."""
_VERSIONS_OF_OTHERS = ("version", "api_version", "alf_version")
_ID = re.compile(r"[0-9A-Za-z._:-]{1,100}")


def parse_document(body: bytes) -> Any:
    """Return a JSON document, None for an empty body. Raises RemoteDamaged."""
    if not body:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise RemoteDamaged("the server's answer is not that of a Lifeboat endpoint") from None


def read_field(found: Any, name: str, kind: type[Kind]) -> Kind:
    """Return a required field. Raises RemoteDamaged."""
    value = found.get(name) if isinstance(found, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise RemoteDamaged(f"the field {name!r} of the response is missing or invalid")
    return value


def read_optional(found: Any, name: str, kind: type[Kind], otherwise: Kind) -> Kind:
    """Return a field that may be missing or null."""
    return otherwise if not isinstance(found, dict) or found.get(name) is None else read_field(found, name, kind)


def read_number(found: Any, name: str) -> int:
    """Return a required number of a state, an epoch or a size. All numbers are below 2^53."""
    value = read_field(found, name, int)
    if not 0 <= value <= LARGEST:
        raise RemoteDamaged(f"the field {name!r} of the response is not a number from 0 to 2^53 - 1")
    return value


def check_number(value: Any) -> int:
    """Return a value if it is such a number."""
    return read_number({"number": value}, "number")


def read_optional_number(found: Any, name: str) -> int:
    """Return a number, 0 if it is missing."""
    return 0 if not isinstance(found, dict) or found.get(name) is None else read_number(found, name)


def read_words(found: Any, name: str) -> str:
    """Return a name that the server gives: one line of printable characters, "" if it is missing."""
    return strip_control(read_optional(found, name, str, ""))[:_LONGEST]


def strip_control(text: str) -> str:
    """Return a text without control characters and what cannot be written."""
    return "".join(character if character.isprintable() else " " for character in text).strip()


def read_time(found: Any, name: str) -> str:
    """Return a timestamp, "" if it is missing."""
    text = read_optional(found, name, str, "")
    try:
        return text and times.to_text(times.parse_time(text)) and text
    except (ValueError, OverflowError):
        raise RemoteDamaged(f"the field {name!r} of the response is not a timestamp") from None


def read_items(found: Any, name: str, make: Callable[[Any], Made]) -> list[Made]:
    return [make(each) for each in read_field(found, name, list)]


def select_asked(asked: Iterable[str], found: Any, name: str) -> list[str]:
    """Return what of the requested items a list names, each once. Raises RemoteDamaged for any other item."""
    named = set(read_items(found, name, str))
    if not named.issubset(asked):
        raise RemoteDamaged(f"the list {name!r} in the response contains items that were not requested")
    return [each for each in dict.fromkeys(asked) if each in named]


def parse_about(found: Any) -> RemoteDescription:
    """Return what an endpoint says of itself. Raises RemoteDamaged, and NotAnEndpoint for another service of ALF."""
    _refuse_other_service(found)
    return RemoteDescription(
        id=_id(found),
        kind=ENDPOINT,
        release=read_words(found, "release"),
        sealed=False,
        time=read_time(found, "time") or None,
        limits=read_optional(found, "limits", dict, {}),
        signing_key=_signing_key(found),
    )


def _refuse_other_service(found: Any) -> None:
    """Raise NotAnEndpoint for an answer with a version and no id, as a service of the reference client gives it."""
    if not isinstance(found, dict) or "id" in found:
        return
    if any(isinstance(found.get(name), str) for name in _VERSIONS_OF_OTHERS):
        raise NotAnEndpoint(
            "a different ALF service answers at this address; it stores archives of another "
            "client and does not accept signed sequences",
            fix="lifeboat setup --from-alf --hosted",
        )


def _signing_key(found: Any) -> str | None:
    """Return the signing key, None for an endpoint of an earlier release."""
    text = read_optional(found, "signing_key", str, "")
    try:
        return to_base64(public_of(text)) if text else None
    except ValueError:
        raise RemoteDamaged("the signing key of the endpoint is invalid") from None


def check_object(found: Any) -> JsonObject:
    if not isinstance(found, dict):
        raise RemoteDamaged("the response of the endpoint must be a JSON object, but is not")
    return found


def parse_redaction_state(found: Any) -> RemoteRedaction:
    """Return what an endpoint answers to a purge."""
    receipt = (
        None if not isinstance(found, dict) or found.get("receipt") is None else read_field(found, "receipt", dict)
    )
    return RemoteRedaction(_id(found), read_time(found, "applies_at") or None, receipt)


def _id(found: Any) -> str:
    """Return an id, which is kept, shown and compared: it consists of few characters."""
    value = read_field(found, "id", str)
    if not _ID.fullmatch(value):
        raise RemoteDamaged("the id of the endpoint is invalid")
    return value


def parse_head(found: Any) -> RemoteHead | None:
    """Return the head of an agent, None without history."""
    if not isinstance(found, dict) or found.get("sequence") is None:
        return None
    return RemoteHead(
        number=read_number(found, "sequence"),
        digest=_digest(found),
        epoch=read_optional_number(found, "epoch"),
        time=read_time(found, "time"),
        writer=read_words(found, "writer"),
        machine=read_words(found, "machine"),
        written_at=read_time(found, "written_at"),
    )


def parse_pushed(found: Any) -> RemoteHead:
    """Return what an endpoint answers to a push."""
    made = parse_head(found.get("head") if isinstance(found, dict) else None)
    if made is None:
        raise RemoteDamaged("the response to a push does not state the latest sequence")
    return made


def check_agent_id(found: Any) -> str:
    """Return an agent's id if it can name files here."""
    value = read_field(found, "id", str)
    if not ids.is_uuid(value) or value != value.lower():
        raise RemoteDamaged("the response of the endpoint contains an invalid agent id")
    return value


def parse_remote_agent(found: Any) -> RemoteAgent:
    return RemoteAgent(
        id=check_agent_id(found),
        name=read_words(found, "name"),
        runtime=read_words(found, "source_runtime"),
        epoch=read_optional_number(found, "epoch"),
        head=parse_head(found.get("head")),
        bytes=read_optional_number(found, "bytes"),
        created_at=read_time(found, "created_at"),
        held=found.get("held") if isinstance(found.get("held"), dict) else None,
        damaged=read_optional_number(found, "damaged"),
        damaged_states=read_optional_number(found, "damaged_states"),
        damage_found_at=read_time(found, "damage_found_at"),
    )


def parse_sequence(found: Any) -> RemoteSequence:
    signature = found.get("signature") if isinstance(found, dict) else None
    return RemoteSequence(
        number=read_number(found, "sequence"),
        base=None if found.get("base_sequence") is None else read_number(found, "base_sequence"),
        digest=_digest(found),
        epoch=read_optional_number(found, "epoch"),
        time=read_time(found, "time"),
        kind=read_words(found, "kind"),
        writer=read_words(found, "writer"),
        size=read_optional_number(found, "size_bytes"),
        signature=signature if isinstance(signature, dict) else None,
    )


def _digest(found: Any) -> bytes:
    try:
        return bytes.fromhex(read_optional(found, "digest", str, ""))
    except ValueError:
        raise RemoteDamaged("the response of the endpoint contains an invalid digest") from None
