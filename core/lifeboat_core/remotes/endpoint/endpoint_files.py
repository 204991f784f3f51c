"""The files of a sealed log at an endpoint, which it cannot read, and one head for each agent. See
`sealed.log_files`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import BinaryIO

from lifeboat_core.remotes.endpoint import endpoint_shapes as shapes
from lifeboat_core.remotes.endpoint.endpoint_calls import FILE, SLOWEST, EndpointCalls, quote_segment
from lifeboat_core.remotes.sealed.log_files import StoredFile
from lifeboat_vault.errors import HeadMoved, RemoteDamaged, StaleBase, UnknownAtRemote

_PAGE = 200
_TAG = "etag"


class EndpointFiles:
    """`SealedFiles` at an endpoint."""

    def __init__(self, calls: EndpointCalls) -> None:
        self._calls = calls

    def identity(self) -> str:
        return shapes.parse_about(self._calls.get("/version")).id

    def agents(self) -> list[str]:
        found = self._calls.pages("/agents", "agents", limit=_PAGE)
        return sorted(shapes.check_agent_id(each) for each in found if each.get("sealed"))

    def add_agent(self, agent_id: str) -> None:
        """Make the id known to the endpoint. The name is in the head, which the endpoint cannot read."""
        asked = {"id": agent_id, "name": agent_id, "source_runtime": "sealed", "sealed": True}
        with contextlib.suppress(StaleBase):  # the agent exists already
            self._calls.send("POST", "/agents", asked)

    def names(self, agent_id: str) -> list[StoredFile]:
        try:
            answer = self._calls.get(f"{_of(agent_id)}/files")
        except UnknownAtRemote:
            return []
        return sorted(shapes.read_items(answer, "files", _stored), key=lambda file: file.name)

    def put(self, agent_id: str, name: str, source: BinaryIO) -> None:
        path = f"{_of(agent_id)}/files/{quote_segment(name)}"
        start = source.tell()
        size = source.seek(0, os.SEEK_END) - start
        source.seek(start)
        self._calls.ask("PUT", path, headers={"Content-Type": FILE}, content=source, patience=size / SLOWEST)

    def read(self, agent_id: str, name: str) -> BinaryIO:
        file, _ = self._calls.fetch(f"{_of(agent_id)}/files/{quote_segment(name)}")
        return file

    def remove(self, agent_id: str, name: str) -> None:
        try:
            self._calls.delete(f"{_of(agent_id)}/files/{quote_segment(name)}")
        except UnknownAtRemote:
            return

    def remove_unfinished(self, agent_id: str, is_wanted: Callable[[str], bool]) -> None:
        """Do nothing: the endpoint shows no unfinished files, and removes its own."""

    def head(self, agent_id: str) -> tuple[bytes, str] | None:
        try:
            reply = self._calls.ask("GET", f"{_of(agent_id)}/head", headers={"Accept": FILE})
        except UnknownAtRemote:
            return None
        tag = reply.headers.get(_TAG)
        if tag is None:
            raise RemoteDamaged("the endpoint's response about the latest sequence lacks the header ETag")
        return reply.body, tag

    def set_head(self, agent_id: str, data: bytes, expected: str | None) -> str:
        condition = {"If-None-Match": "*"} if expected is None else {"If-Match": expected}
        headers = {**condition, "Content-Type": FILE}
        try:
            reply = self._calls.ask("PUT", f"{_of(agent_id)}/head", headers=headers, content=data, again=False)
        except StaleBase as error:
            raise HeadMoved(error.message) from None
        tag = reply.headers.get(_TAG)
        if tag is None:
            raise RemoteDamaged("the endpoint's response about the latest sequence lacks the header ETag")
        return tag

    def close(self) -> None:
        self._calls.close()


def _of(agent_id: str) -> str:
    return f"/agents/{quote_segment(agent_id)}/sealed"


def _stored(found: object) -> StoredFile:
    age = shapes.read_optional(found, "age", float | int, -1)  # type: ignore[arg-type]
    name, size = shapes.read_field(found, "name", str), shapes.read_number(found, "size")
    return StoredFile(name, size, age if age >= 0 else None)
