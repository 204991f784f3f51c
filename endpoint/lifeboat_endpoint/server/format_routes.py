"""Routes of other systems' formats. A package gives them as plain data through the entry point group
`lifeboat.routes`, since it knows nothing of this one; here they become routes, and their handlers are given what they
may use of the endpoint: a `FormatCall`.
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
"""Of an agent that the first import makes."""
_MANY = 50
"""At most so many agents are named to somebody who has to choose one."""


class FormatResponse(Protocol):
    """What a handler answers: as `api.Answer`."""

    content: Any
    status: int
    headers: dict[str, str]
    media_type: str
    file: BinaryIO | None
    size: int


class FormatRoute(Protocol):
    """A route as a package gives it: as `api.Route`, with media types in the place of contents. `takes` are those of
    the body, () for none: the handler gets it in pieces. `words` makes of a problem document one in the words of the
    format."""

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
    """The routes of a package; one that is a `Route` already stays as it is."""
    return tuple(each if isinstance(each, Route) else route_of(each) for each in given)


def route_of(given: FormatRoute) -> Route:
    """The route that a package means."""

    def handler(call: Call) -> RouteResponse:
        tenant_id = None if call.known is None else call.known.tenant_id
        with contextlib.nullcontext() if tenant_id is None else call.server.streaming(tenant_id):
            reply: FormatResponse = given.handler(FormatCall(call))
        return RouteResponse(reply.content, reply.status, reply.headers, reply.media_type, reply.file, reply.size)

    return Route(
        cast("Method", given.method),
        given.path,
        handler,
        given.summary,
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
    )


def _body(takes: tuple[str, ...]) -> Content:
    if not takes:
        return None
    return Octets(_BODY_LIMIT, streamed=True, media_type=takes[0], others=takes[1:])


class FormatRefused(RemoteRefused):
    """What a format says no to, in its own words: `kind` is the problem's type, a URI, and `code` its last word."""

    def __init__(self, message: str, *, code: str, kind: str, title: str, fix: str, more: JsonObject) -> None:
        super().__init__(message, fix=fix)
        self.code = code
        self.title = title
        self.fix = fix
        self._more = {**more, "type": kind}

    def details(self) -> JsonObject:
        return self._more


class FormatCall:
    """What a handler may use: the request, and the agent that it is about. `query` is what the route's own Struct
    reads; `headers` have small letters; `body` are pieces of bytes as they come."""

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
        """Bytes of a body that may stand in memory whole."""
        return self._call.server.limits.object_bytes

    # Who it is about ----------------------------------------------------------------------------------------------

    def agent(self, wanted: str) -> str | None:
        """The id of an agent of the caller's tenant, by its id or its name; without either the only one that there is,
        None where the caller has to say which. Raises UnknownThere, AgentErased."""
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
        """Ids of agents to choose from."""
        return self._call.space.agent_ids()[:_MANY]

    def unregistered_agent(self) -> str:
        """The id of an agent that `add` registers, for a tenant that has none."""
        self._new = self._call.subject = ids.make_id(self.now)
        return self._new

    def _named(self, name: str) -> str:
        found = [row.id for row in self._call.space.roster.all() if row.facts.name == name]
        if len(found) != 1:
            raise UnknownAtRemote("there is no agent of this id or name, or more than one")
        return found[0]

    # What it is -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def state(self, agent_id: str) -> Iterator[tuple[State, Callable[[], None]]]:
        """What an agent is now, and what to call before anything that was made of it is given out: it raises when
        somebody asked for a purge meanwhile, or the agent, the tenant or the token is gone."""
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
        """Make the agent's next state of what `plan` says of its newest one: new records (without `agent_id`), changed
        fields by record id, and raw files. All or nothing, in one transaction with its row of the audit; the number of
        the state, None where nothing changed. `plan` may be asked twice.

        Raises WriterPresent, RemoteFull, RemoteTooLarge, RemoteRefused, RemoteBusy.
        """
        if agent_id == self._new:
            plan(EmptyState(agent_id, Redactions()))  # a bundle that is refused registers no agent
            self._call.space.register(agent_id, _FIRST_NAME, _FIRST_RUNTIME)
        made = self._call.space.add_to(agent_id, size, lambda state: Additions(*plan(state)))
        return None if made is None else made.number

    # Who signs ------------------------------------------------------------------------------------------------------

    @property
    def installation(self) -> str:
        """The id of the endpoint, which stays."""
        return self._call.server.endpoint.id

    @property
    def public(self) -> bytes:
        """The public half of the key that signs here: 32 bytes, Ed25519."""
        return self._call.server.endpoint.signing_key().public

    def sign(self, structure: bytes) -> bytes:
        """Sign a COSE structure. Raises ValueError for anything else."""
        return self._call.server.endpoint.signing_key().sign_structure(structure)

    # What is noted ----------------------------------------------------------------------------------------------

    def note(self, **details: Any) -> None:
        """More for the request's row of the audit: ids and counts, never content."""
        self._call.note(**details)

    def record(self, kind: str, subject: str, **details: Any) -> None:
        """A row of the audit of its own, which stands before this returns."""
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
        """What to raise to answer with a problem document: `kind` is its type, `more` further members."""
        told = FormatRefused(message, code=code, kind=kind, title=title, fix=fix, more=more or {})
        return HttpRefusal(status, told)
