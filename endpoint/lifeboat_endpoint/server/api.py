"""One table of routes: what the server answers and what its OpenAPI document says come from the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import msgspec

from lifeboat_alf.common.json_types import JsonObject

if TYPE_CHECKING:
    from lifeboat_endpoint.server.call import Call

Method = Literal["GET", "PUT", "POST", "DELETE"]
OPEN: tuple[str, ...] | None = None
"""No token is asked for."""
ANY: tuple[str, ...] = ()
"""Any token that counts."""


@dataclass(frozen=True, slots=True)
class Octets:
    """Bytes as a body. `limit` names what of `Limits` it may be at most, "" for an answer; with `streamed` it comes as
    an iterator of pieces and never lies in memory whole. `others` are media types that it may have as well."""

    limit: str = ""
    streamed: bool = False
    media_type: str = "application/octet-stream"
    others: tuple[str, ...] = ()


OCTETS = Octets()
TEXT = Octets(media_type="text/plain")
PEM = Octets(media_type="application/x-pem-file")
ZIP = Octets(media_type="application/zip")
JSON = Octets(media_type="application/json")
"""A document of any form."""
NOTHING = None
Content = type[msgspec.Struct] | Octets | None


@dataclass(slots=True)
class RouteResponse:
    """What a handler answers. `content` is a Struct or a plain value (JSON), bytes, or None; or `file` is sent, `size`
    bytes of it, and closed."""

    content: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = ""
    file: BinaryIO | None = None
    size: int = 0


Handler = Callable[["Call"], RouteResponse]


@dataclass(frozen=True, slots=True)
class Route:
    """A method of a path. `path` has parameters in braces, whose forms stand in `parameters`. `scopes`: OPEN, ANY, or
    one of them is needed. `query` and `body` are Structs that the request is read into. `answers` are contents by
    status, several where the request's Accept chooses; `problems` statuses of problem documents beside those that every
    route of its kind has. `headers` are request headers that count, with what they are for; `answer_headers` those of
    the answer. `audit` is the kind of the row in the endpoint's audit, "" for none. What `pushes` says so before it is
    answered. A `quick` handler waits for nothing and needs no thread; one that takes `long` keeps no agent's thread.
    What is `near` asks programs of this machine for no token; a `probe` waits for no agent's work. `words` makes of a
    problem document one in the words of a format that is not this endpoint's own."""

    method: Method
    path: str
    handler: Handler
    summary: str
    scopes: tuple[str, ...] | None
    answers: Mapping[int, Content | tuple[Content, ...]]
    query: type[msgspec.Struct] | None = None
    body: Content = None
    problems: tuple[int, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    audit: str = ""
    pushes: bool = False
    quick: bool = False
    near: bool = False
    long: bool = False
    probe: bool = False
    words: Callable[[JsonObject], JsonObject] | None = None


def list_contents(route: Route, status: int) -> tuple[Content, ...]:
    """What may be in an answer of a status."""
    found = route.answers[status]
    return found if isinstance(found, tuple) else (found,)
