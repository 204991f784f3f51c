"""The OpenAPI 3.1 document, generated from the route table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_endpoint.server.api import ANY, OPEN, Content, Octets, Route, list_contents
from lifeboat_endpoint.server.http_shapes import ProblemShape
from lifeboat_endpoint.server.problems import MEDIA_TYPE
from lifeboat_endpoint.server.request_parameters import FORMS, path_parameter_names

_REFERENCE = "#/components/schemas/{name}"
_BEARER = "token"
_RETRY = {"Retry-After": {"description": "Seconds to wait before the next request.", "schema": {"type": "integer"}}}
_LATEST = {
    "X-Latest-Sequence": {
        "description": "Number of the newest sequence; 0 if there is none.",
        "schema": {"type": "integer"},
    }
}
_HEADERS: dict[int, JsonObject] = {
    401: {"WWW-Authenticate": {"schema": {"type": "string"}}},
    409: _LATEST,
    412: _LATEST,
    429: _RETRY,
    503: _RETRY,
    507: _RETRY,
}


def make_document(routes: Iterable[Route], release: str) -> JsonObject:
    """Describe every route."""
    table = tuple(routes)
    paths: JsonObject = {}
    for route in table:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
        if route.method == "GET":
            paths[route.path]["head"] = _operation(route, head=True)
    _, schemas = msgspec.json.schema_components(_structs(table), ref_template=_REFERENCE)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Agent Lifeboat sync endpoint",
            "version": release,
            "description": "Stores sequences of agents in the Agent Life Format. Errors are problem documents "
            "(RFC 9457).",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}, {"url": "/v1"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {_BEARER: {"type": "http", "scheme": "bearer"}},
        },
    }


def problem_statuses(route: Route) -> list[int]:
    """Return every status that a route may answer with a problem document."""
    found = {500, *route.problems}
    if route.scopes is not OPEN:
        found |= {401, 403, 429, 503}
    if "{" in route.path:
        found |= {404, 410}
    if route.query is not None:
        found.add(400)
    if route.body is not None:
        found |= {408, 413, 503}
    if isinstance(route.body, type):
        found |= {400, 422}
    return sorted(found)


def _operation(route: Route, *, head: bool = False) -> JsonObject:
    answers = {str(status): _answer(route, status, head=head) for status in sorted(route.answers)}
    problems = {str(status): _problem(status, head=head) for status in problem_statuses(route)}
    found: JsonObject = {
        "operationId": _name("head" if head else route.method, route.path),
        "summary": route.summary if not head else f"{route.summary} The response has no body.",
        "responses": answers | problems,
    }
    parameters = [*_path_parameters(route), *_query_parameters(route), *_header_parameters(route)]
    if parameters:
        found["parameters"] = parameters
    if route.body is not None and not head:
        found["requestBody"] = {"required": True, "content": _content((route.body,))}
    if route.scopes is not OPEN:
        found["security"] = [{_BEARER: []}]
        needed = "any" if route.scopes == ANY else " or ".join(route.scopes or ())
        found["description"] = f"Scope: {needed}."
    return found


def _answer(route: Route, status: int, *, head: bool) -> JsonObject:
    found: JsonObject = {"description": HTTPStatus(status).phrase}
    content = _content(list_contents(route, status))
    if content and not head:
        found["content"] = content
    if route.answer_headers:
        found["headers"] = {
            name: {"description": says, "schema": {"type": "string"}} for name, says in route.answer_headers.items()
        }
    return found


def _problem(status: int, *, head: bool) -> JsonObject:
    found: JsonObject = {"description": HTTPStatus(status).phrase}
    if not head:
        found["content"] = {MEDIA_TYPE: {"schema": _reference(ProblemShape)}}
    if status in _HEADERS:
        found["headers"] = _HEADERS[status]
    return found


def _content(alternatives: Iterable[Content]) -> JsonObject:
    found: JsonObject = {}
    for content in alternatives:
        if isinstance(content, Octets):
            found |= {each: {"schema": {}} for each in (content.media_type, *content.others)}
        elif content is not None:
            found["application/json"] = {"schema": _reference(content)}
    return found


def _path_parameters(route: Route) -> Iterator[JsonObject]:
    for name in path_parameter_names(route.path):
        form, says = FORMS[name]
        schema = {"type": "string", "pattern": f"^(?:{form})$"}
        yield {"name": name, "in": "path", "required": True, "description": says, "schema": schema}


def _query_parameters(route: Route) -> Iterator[JsonObject]:
    if route.query is None:
        return
    shape = msgspec.json.schema_components([route.query])[1][route.query.__name__]
    for name, schema in shape["properties"].items():
        described = dict(schema)
        says = described.pop("description", "")
        needed = name in shape.get("required", ())
        yield {"name": name, "in": "query", "required": needed, "description": says, "schema": described}


def _header_parameters(route: Route) -> Iterator[JsonObject]:
    for name, says in route.headers.items():
        yield {"name": name, "in": "header", "required": False, "description": says, "schema": {"type": "string"}}


def _structs(table: Iterable[Route]) -> list[type[msgspec.Struct]]:
    found: dict[type[msgspec.Struct], None] = {ProblemShape: None}
    for route in table:
        alternatives = [route.body, *(each for status in route.answers for each in list_contents(route, status))]
        for content in alternatives:
            if isinstance(content, type):
                found[content] = None
    return list(found)


def _reference(shape: type[msgspec.Struct]) -> JsonObject:
    return {"$ref": _REFERENCE.format(name=shape.__name__)}


def _name(method: str, path: str) -> str:
    parts = [part.strip("{}").replace(".", "_") for part in path.strip("/").split("/") if part]
    return "_".join([method.lower(), *parts])
