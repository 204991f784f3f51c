"""Routes of other formats.

A package provides them as plain data through the entry point group `lifeboat.routes`, since it does not import this
one. Here they become routes, and their handlers get a `FormatCall` to use the endpoint.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Protocol, cast

import msgspec

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.states.agent_state import State
from lifeboat_endpoint.server.api import Content, Method, Octets, Route, RouteResponse
from lifeboat_endpoint.server.call import Call
from lifeboat_endpoint.server.problems import HttpRefusal
from lifeboat_endpoint.service.given_state import GivingMark
from lifeboat_endpoint.service.memory_import import Additions
from lifeboat_vault.errors import RemoteRefused, UnknownAtRemote
from lifeboat_vault.vault.empty_state import EmptyState

_BODY_LIMIT = "bundle_bytes"
_FIRST_NAME = _FIRST_RUNTIME = "aimem"
"""Name and runtime of an agent that the first import makes."""
_MANY = 50
"""How many agents are named at most when the caller has to choose one."""


class FormatResponse(Protocol):
    """The response of a handler, with the fields of `api.RouteResponse`."""

    content: Any
    status: int
    headers: dict[str, str]
    media_type: str
    file: BinaryIO | None
    size: int


class FormatRoute(Protocol):
    """A route as a package provides it: as `api.Route`, with media types instead of contents.

    `takes` are those of the body, () for none; the handler gets the body in pieces. `words` converts a problem document
    to that of the format.
    """

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def handler(self) -> Callable[[Any], Any]: ...
    @property
    def summary(self) -> str: ...
    @property
    def scopes(self) -> tuple[str, ...] | None: ...
    @property
    def gives(self) -> tuple[str, ...]: ...
    @property
    def takes(self) -> tuple[str, ...]: ...
    @property
    def query(self) -> type[msgspec.Struct] | None: ...
    @property
    def problems(self) -> tuple[int, ...]: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def answer_headers(self) -> Mapping[str, str]: ...
    @property
    def audit(self) -> str: ...
    @property
    def words(self) -> Callable[[JsonObject], JsonObject]: ...


def routes_of(given: Iterable[Route | FormatRoute]) -> tuple[Route, ...]:
    """Return the routes of a package. A `Route` stays as it is."""
    return tuple(each if isinstance(each, Route) else route_of(each) for each in given)


def route_of(given: FormatRoute) -> Route:
    """Convert the route of a package."""

    def handler(call: Call) -> RouteResponse:
        tenant_id = None if call.known is None else call.known.tenant_id
        with contextlib.nullcontext() if tenant_id is None else call.server.streaming(tenant_id):
            reply: FormatResponse = given.handler(FormatCall(call))
        return RouteResponse(reply.content, reply.status, reply.headers, reply.media_type, reply.file, reply.size)

    return Route(
        cast("Method", given.method),
        given.path,
        handler,
        given.scopes,
        {200: tuple(Octets(media_type=each) for each in given.gives)},
        query=given.query,
        body=_body(given.takes),
        problems=given.problems,
        headers=given.headers,
        answer_headers=given.answer_headers,
        audit=given.audit,
        long=given.scopes is not None,
        words=given.words,
        summary=given.summary,
    )


def _body(takes: tuple[str, ...]) -> Content:
    if not takes:
        return None
    return Octets(_BODY_LIMIT, streamed=True, media_type=takes[0], others=takes[1:])


class FormatRefused(RemoteRefused):
    """A refusal in the words of a format: `kind` is the type of the problem, a URI, and `code` its last part."""

    def __init__(self, message: str, *, code: str, kind: str, title: str, fix: str, more: JsonObject) -> None:
        super().__init__(message, fix=fix)
        self.code = code
        self.title = title
        self.fix = fix
        self._more = {**more, "type": kind}

    def details(self) -> JsonObject:
        return self._more


class FormatCall:
    """What a handler of a format may use: the request, and the agent that it is about.

    `query` is read into the route's own Struct. Names of `headers` are in lower case. `body` yields pieces of bytes.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self.headers: Mapping[str, str] = call.headers
        self.query: Any = call.query
        self.now: str = times.to_text(call.now)
        self._new = ""

    @property
    def body(self) -> Iterator[bytes]:
        found: Iterator[bytes] = self._call.body
        return found

    @property
    def largest_document(self) -> int:
        """Bytes of a body that may be in memory completely."""
        return self._call.server.limits.object_bytes

    # The agent ----------------------------------------------------------------------------------------------------

    def agent(self, wanted: str) -> str | None:
        """Return the id of an agent of the caller's tenant, by its id or name.

        Without either, return the only agent, or None if the caller has to choose. Raises UnknownAtRemote, AgentErased.
        """
        space = self._call.space
        known = space.agent_ids()
        found = known[0] if len(known) == 1 else None
        if ids.is_uuid(wanted):
            found = wanted.lower()
            space.check_agent(found)
        elif wanted:
            found = self._named(wanted)
        self._call.subject = found or ""
        return found

    def agent_names(self) -> list[str]:
        """Return ids of agents to choose from."""
        return self._call.space.agent_ids()[:_MANY]

    def unregistered_agent(self) -> str:
        """Return a new id for a tenant without agents; `add` registers it."""
        self._new = self._call.subject = ids.make_id(self.now)
        return self._new

    def _named(self, name: str) -> str:
        found = [row.id for row in self._call.space.roster.all() if row.facts.name == name]
        if len(found) != 1:
            raise UnknownAtRemote("no agent, or more than one agent, has this id or name")
        return found[0]

    # Its state ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def state(self, agent_id: str) -> Iterator[tuple[State, Callable[[], None]]]:
        """Yield the newest state of an agent, and a function to call before anything derived from it is sent.

        The function raises if a purge was requested meanwhile, or if the agent, the tenant or the token is gone.
        """
        with self._call.space.given(agent_id) as (state, mark):
            yield state, lambda: self._check(agent_id, mark)

    def _check(self, agent_id: str, mark: GivingMark) -> None:
        caller = self._call.caller
        self._call.server.endpoint.control.check_token(caller.token_id, caller.tenant_id)
        self._call.space.check_given(agent_id, mark)

    def add(
        self,
        agent_id: str,
        size: int,
        plan: Callable[[State], tuple[Iterable[JsonObject], Iterable[tuple[str, JsonObject]], Mapping[str, bytes]]],
    ) -> int | None:
        """Make the next state of an agent from what `plan` returns for the newest one; return its number, None without
        a change.

        `plan` returns new records (without `agent_id`), changed fields by record id, and raw files; it may be called
        twice. All of it is applied in one transaction with its audit row, or nothing. Raises WriterPresent, RemoteFull,
        RemoteTooLarge, RemoteRefused, RemoteBusy.
        """
        if agent_id == self._new:
            plan(EmptyState(agent_id, Redactions()))  # a bundle that `plan` refuses must not register an agent
            self._call.space.register(agent_id, _FIRST_NAME, _FIRST_RUNTIME)
        made = self._call.space.add_to(agent_id, size, lambda state: Additions(*plan(state)))
        return None if made is None else made.number

    # Signatures -----------------------------------------------------------------------------------------------------

    @property
    def installation(self) -> str:
        """The id of the endpoint, which never changes."""
        return self._call.server.endpoint.id

    @property
    def public(self) -> bytes:
        """The public half of the signing key: 32 bytes, Ed25519."""
        return self._call.server.endpoint.signing_key().public

    def sign(self, structure: bytes) -> bytes:
        """Sign a COSE structure. Raises ValueError for anything else."""
        return self._call.server.endpoint.signing_key().sign_structure(structure)

    # Audit ------------------------------------------------------------------------------------------------------

    def note(self, **details: Any) -> None:
        """Add details to the audit row of the request: ids and counts, never content."""
        self._call.note(**details)

    def record(self, kind: str, subject: str, **details: Any) -> None:
        """Write a separate audit row before this returns."""
        self._call.server.endpoint.control.record(self._call.known, kind, subject, details)

    def refusal(
        self,
        status: int,
        message: str,
        *,
        code: str,
        kind: str,
        title: str,
        fix: str,
        more: JsonObject | None = None,
    ) -> Exception:
        """Return the exception for a problem document. `kind` is its type; `more` are further members."""
        told = FormatRefused(message, code=code, kind=kind, title=title, fix=fix, more=more or {})
        return HttpRefusal(status, told)
