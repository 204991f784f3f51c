"""Types of the route table, from which both the server and its OpenAPI document are made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import msgspec

from lifeboat_alf.common.json_types import JsonObject

if TYPE_CHECKING:
    from lifeboat_endpoint.server.call import Call

Method = Literal["GET", "PUT", "POST", "DELETE"]
OPEN: tuple[str, ...] | None = None
"""The route needs no token."""
ANY: tuple[str, ...] = ()
"""The route needs any valid token."""


@dataclass(frozen=True, slots=True)
class Octets:
    """A body of bytes.

    `limit` names the field of `EndpointLimits` that bounds it, "" for a response. A `streamed` body is an iterator of
    pieces and is never in memory completely. `others` are further accepted media types.
    """

    limit: str = ""
    streamed: bool = False
    media_type: str = "application/octet-stream"
    others: tuple[str, ...] = ()


OCTETS = Octets()
TEXT = Octets(media_type="text/plain")
PEM = Octets(media_type="application/x-pem-file")
ZIP = Octets(media_type="application/zip")
JSON = Octets(media_type="application/json")
"""A JSON document of any form."""
NOTHING = None
Content = type[msgspec.Struct] | Octets | None


@dataclass(slots=True)
class RouteResponse:
    """The response of a handler.

    `content` is a Struct or another JSON value, bytes, or None. If there is a `file`, `size` bytes of it are sent and
    it is closed.
    """

    content: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = ""
    file: BinaryIO | None = None
    size: int = 0


Handler = Callable[["Call"], RouteResponse]


@dataclass(frozen=True, slots=True)
class Route:
    """A method of a path.

    `path` has parameters in braces, whose forms are in `request_parameters`. `scopes` is OPEN, ANY, or scopes of which
    one is needed. The request is read into the Structs `query` and `body`. `answers` are contents by status, several if
    the request's Accept chooses. `problems` are statuses of problem documents beside those that every such route has.

    `headers` are request headers that have an effect, with their purpose; `answer_headers` those of the response.
    `audit` is the kind of the audit row, "" for none. A route that `pushes` is counted as a push.

    A `quick` handler never blocks and needs no thread. A `long` one does not use the thread of an agent. A `near` route
    needs no token for programs on this machine. A `probe` does not wait for the work of agents. `words` converts a
    problem document to that of another format.
    """

    method: Method
    path: str
    handler: Handler
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
    summary: str = ""

    def __post_init__(self) -> None:
        if not self.summary:
            first, *_ = (inspect.getdoc(self.handler) or "").split("\n\n")
            object.__setattr__(self, "summary", " ".join(first.split()))


def list_contents(route: Route, status: int) -> tuple[Content, ...]:
    """Return the possible contents of a response with a status."""
    found = route.answers[status]
    return found if isinstance(found, tuple) else (found,)
