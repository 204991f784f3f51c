"""Parameters of requests: their forms, and how they are read."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from lifeboat_endpoint.server.problems import HttpRefusal
from lifeboat_vault.errors import RemoteRefused, UnknownAtRemote

Shape = TypeVar("Shape", bound=msgspec.Struct)

_UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
FORMS: dict[str, tuple[str, str]] = {
    "agent_id": (_UUID, "The agent's id, a UUID."),
    "upload_id": ("[0-9A-Za-z-]{1,64}", "Id from the response to the start of the upload."),
    "sha256": ("[0-9a-f]{64}", "SHA-256 of the content, in hexadecimal."),
    "sequence": ("0|[1-9][0-9]{0,15}", "Number of a sequence."),
    "name": ("[0-9A-Za-z._-]{1,200}", "The name of a sealed file."),
    "transfer": ("[0-9A-Za-z._-]{1,4096}", "Signed permission."),
}
"""Pattern and description of each path parameter, by name."""
_COMPILED = {name: re.compile(rf"(?:{form})\Z") for name, (form, _) in FORMS.items()}


def check_path_parameters(found: dict[str, Any]) -> dict[str, str]:
    """Return the path parameters. Raises UnknownAtRemote for one of another form, which nothing can have."""
    for name, value in found.items():
        if not _COMPILED[name].match(value):
            raise UnknownAtRemote(f"unknown {name.replace('_', ' ').removesuffix(' id')}")
    return {name: value.lower() if name == "agent_id" else value for name, value in found.items()}


def parse_query(pairs: list[tuple[str, str]], shape: type[Shape]) -> Shape:
    """Read the query into a shape, ignoring unknown parameters. Raises HttpRefusal (400)."""
    try:
        return msgspec.convert(dict(pairs), shape, strict=False)
    except msgspec.ValidationError as error:
        raise HttpRefusal(400, RemoteRefused(f"the query of the request is invalid: {error}")) from None


def parse_body(data: bytes, shape: type[Shape]) -> Shape:
    """Read a JSON body into a shape, ignoring unknown fields.

    Raises HttpRefusal (400) for a body that is not JSON, RemoteRefused for one that does not fit.
    """
    try:
        return msgspec.json.decode(data, type=shape)
    except msgspec.ValidationError as error:
        raise RemoteRefused(f"the body of the request is invalid: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise HttpRefusal(400, RemoteRefused("the body of the request is not JSON")) from None


def path_parameter_names(path: str) -> list[str]:
    """Return the names of the parameters in their order."""
    return re.findall(r"{([a-z0-9_]+)}", path)
