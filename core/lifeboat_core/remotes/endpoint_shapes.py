"""What an endpoint answers, as the contract has it. Whatever does not fit is RemoteDamaged: an answer is somebody
else's data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from lifeboat_alf import ids, times
from lifeboat_alf.json_types import JsonObject
from lifeboat_keys.encodings import to_base64
from lifeboat_keys.endpoint_key import public_of
from lifeboat_vault.errors import NotAnEndpoint, RemoteDamaged
from lifeboat_vault.remote.contract import About, RedactionState, RemoteAgent, RemoteHead, RemoteSequence

Kind = TypeVar("Kind")
Made = TypeVar("Made")

ENDPOINT = "lifeboat endpoint"
LARGEST = 2**53
_LONGEST = 300
"""Characters."""
_VERSIONS_OF_OTHERS = ("version", "api_version", "alf_version")
_ID = re.compile(r"[0-9A-Za-z._:-]{1,100}")


def document(body: bytes) -> Any:
    """JSON, None for an empty body. Raises RemoteDamaged."""
    if not body:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise RemoteDamaged("what answers there does not answer as an endpoint does") from None


def field(found: Any, name: str, kind: type[Kind]) -> Kind:
    """A field that has to be there. Raises RemoteDamaged."""
    value = found.get(name) if isinstance(found, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise RemoteDamaged(f"its answer lacks {name!r}, or has it in another shape")
    return value


def optional(found: Any, name: str, kind: type[Kind], otherwise: Kind) -> Kind:
    """A field that may be missing or null."""
    return otherwise if not isinstance(found, dict) or found.get(name) is None else field(found, name, kind)


def number(found: Any, name: str) -> int:
    """A number of a state, an epoch or a size, where there has to be one: everything that is counted ends at 2^53."""
    value = field(found, name, int)
    if not 0 <= value <= LARGEST:
        raise RemoteDamaged(f"its answer has a {name!r} that nothing can be")
    return value


def kept_number(value: Any) -> int:
    """A number that stands by itself."""
    return number({"number": value}, "number")


def optional_number(found: Any, name: str) -> int:
    """0 where there is none."""
    return 0 if not isinstance(found, dict) or found.get(name) is None else number(found, name)


def words(found: Any, name: str) -> str:
    """What somebody else calls something: one line, of letters alone, "" where it says nothing."""
    return one_line(optional(found, name, str, ""))[:_LONGEST]


def one_line(text: str) -> str:
    """A text without what steers a terminal, or cannot be written at all."""
    return "".join(character if character.isprintable() else " " for character in text).strip()


def moment(found: Any, name: str) -> str:
    """A timestamp, "" where there is none."""
    text = optional(found, name, str, "")
    try:
        return text and times.to_text(times.parse(text)) and text
    except (ValueError, OverflowError):
        raise RemoteDamaged(f"its answer has a {name!r} that is no time") from None


def items(found: Any, name: str, make: Callable[[Any], Made]) -> list[Made]:
    return [make(each) for each in field(found, name, list)]


def some_of(asked: Iterable[str], found: Any, name: str) -> list[str]:
    """Return those of what was asked for that a list names, each one once. Raises RemoteDamaged for any other one."""
    named = set(items(found, name, str))
    if not named.issubset(asked):
        raise RemoteDamaged(f"its answer has {name!r} that it was not asked for")
    return [each for each in dict.fromkeys(asked) if each in named]


def about(found: Any) -> About:
    """What an endpoint says of itself. Raises RemoteDamaged, and NotAnEndpoint for another service of ALF."""
    _refuse_other_service(found)
    return About(
        id=_id(found),
        kind=ENDPOINT,
        release=words(found, "release"),
        sealed=False,
        time=moment(found, "time") or None,
        limits=optional(found, "limits", dict, {}),
        signing_key=_signing_key(found),
    )


def _refuse_other_service(found: Any) -> None:
    """Say what answers, where it gives a version and no id, as a service of the reference client does."""
    if not isinstance(found, dict) or "id" in found:
        return
    if any(isinstance(found.get(name), str) for name in _VERSIONS_OF_OTHERS):
        raise NotAnEndpoint(
            "another ALF service answers there, which keeps archives of its own client and takes no signed sequences",
            fix="lifeboat setup --from-alf --hosted",
        )


def _signing_key(found: Any) -> str | None:
    """None where the endpoint says none, being older."""
    text = optional(found, "signing_key", str, "")
    try:
        return to_base64(public_of(text)) if text else None
    except ValueError:
        raise RemoteDamaged("the key that it says it signs with is none") from None


def plain_object(found: Any) -> JsonObject:
    if not isinstance(found, dict):
        raise RemoteDamaged("its answer has something else where a document has to be")
    return found


def redaction_state(found: Any) -> RedactionState:
    """What the sending of a purge answers."""
    receipt = None if not isinstance(found, dict) or found.get("receipt") is None else field(found, "receipt", dict)
    return RedactionState(_id(found), moment(found, "applies_at") or None, receipt)


def _id(found: Any) -> str:
    """An id is kept, shown and compared: it is one of few characters."""
    value = field(found, "id", str)
    if not _ID.fullmatch(value):
        raise RemoteDamaged("the id that it says is none")
    return value


def head(found: Any) -> RemoteHead | None:
    """None for an agent without history."""
    if not isinstance(found, dict) or found.get("sequence") is None:
        return None
    return RemoteHead(
        number=number(found, "sequence"),
        digest=_digest(found),
        epoch=optional_number(found, "epoch"),
        time=moment(found, "time"),
        writer=words(found, "writer"),
        machine=words(found, "machine"),
        written_at=moment(found, "written_at"),
    )


def pushed(found: Any) -> RemoteHead:
    """What a push answers."""
    made = head(found.get("head") if isinstance(found, dict) else None)
    if made is None:
        raise RemoteDamaged("its answer to a push names no head")
    return made


def agent_id(found: Any) -> str:
    """An agent's id is the name of files here."""
    value = field(found, "id", str)
    if not ids.is_uuid(value) or value != value.lower():
        raise RemoteDamaged("its answer has the id of an agent that is none")
    return value


def agent(found: Any) -> RemoteAgent:
    return RemoteAgent(
        id=agent_id(found),
        name=words(found, "name"),
        runtime=words(found, "source_runtime"),
        epoch=optional_number(found, "epoch"),
        head=head(found.get("head")),
        bytes=optional_number(found, "bytes"),
        created_at=moment(found, "created_at"),
        held=found.get("held") if isinstance(found.get("held"), dict) else None,
        damaged=optional_number(found, "damaged"),
        damaged_states=optional_number(found, "damaged_states"),
        damage_found_at=moment(found, "damage_found_at"),
    )


def sequence(found: Any) -> RemoteSequence:
    signature = found.get("signature") if isinstance(found, dict) else None
    return RemoteSequence(
        number=number(found, "sequence"),
        base=None if found.get("base_sequence") is None else number(found, "base_sequence"),
        digest=_digest(found),
        epoch=optional_number(found, "epoch"),
        time=moment(found, "time"),
        kind=words(found, "kind"),
        writer=words(found, "writer"),
        size=optional_number(found, "size_bytes"),
        signature=signature if isinstance(signature, dict) else None,
    )


def _digest(found: Any) -> bytes:
    try:
        return bytes.fromhex(optional(found, "digest", str, ""))
    except ValueError:
        raise RemoteDamaged("its answer has a digest that is none") from None
