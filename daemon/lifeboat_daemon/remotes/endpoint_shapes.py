"""What an endpoint answers, as the contract has it. Whatever does not fit is RemoteDamaged: an answer is somebody
else's data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from lifeboat_endpoint.errors import RemoteDamaged
from lifeboat_endpoint.remote.contract import About, RemoteAgent, RemoteHead, RemoteSequence

JsonObject = dict[str, Any]
Kind = TypeVar("Kind")
Made = TypeVar("Made")

ENDPOINT = "lifeboat endpoint"
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


def items(found: Any, name: str, make: Callable[[Any], Made]) -> list[Made]:
    return [make(each) for each in field(found, name, list)]


def about(found: Any) -> About:
    return About(
        id=_id(found),
        kind=ENDPOINT,
        release=optional(found, "release", str, ""),
        sealed=False,
        time=optional(found, "time", str, "") or None,
        limits=optional(found, "limits", dict, {}),
    )


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
        number=field(found, "sequence", int),
        digest=_digest(found),
        epoch=optional(found, "epoch", int, 0),
        time=optional(found, "time", str, ""),
        writer=optional(found, "writer", str, ""),
        machine=optional(found, "machine", str, ""),
        written_at=optional(found, "written_at", str, ""),
    )


def pushed(found: Any) -> RemoteHead:
    """What a push answers."""
    made = head(found.get("head") if isinstance(found, dict) else None)
    if made is None:
        raise RemoteDamaged("its answer to a push names no head")
    return made


def agent(found: Any) -> RemoteAgent:
    return RemoteAgent(
        id=field(found, "id", str),
        name=optional(found, "name", str, ""),
        runtime=optional(found, "source_runtime", str, ""),
        epoch=optional(found, "epoch", int, 0),
        head=head(found.get("head")),
        bytes=optional(found, "bytes", int, 0),
        created_at=optional(found, "created_at", str, ""),
        held=found.get("held") if isinstance(found.get("held"), dict) else None,
    )


def sequence(found: Any) -> RemoteSequence:
    signature = found.get("signature") if isinstance(found, dict) else None
    return RemoteSequence(
        number=field(found, "sequence", int),
        base=optional(found, "base_sequence", int, -1) if found.get("base_sequence") is not None else None,
        digest=_digest(found),
        epoch=optional(found, "epoch", int, 0),
        time=optional(found, "time", str, ""),
        kind=optional(found, "kind", str, ""),
        writer=optional(found, "writer", str, ""),
        size=optional(found, "size_bytes", int, 0),
        signature=signature if isinstance(signature, dict) else None,
    )


def _digest(found: Any) -> bytes:
    try:
        return bytes.fromhex(optional(found, "digest", str, ""))
    except ValueError:
        raise RemoteDamaged("its answer has a digest that is none") from None
