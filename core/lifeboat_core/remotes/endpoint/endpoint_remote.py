"""A sync endpoint as a `Remote`: the routes of `lifeboat endpoint serve`, one or a few requests for each method."""

from __future__ import annotations

import base64
import binascii
import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_core.network.http_session import LARGEST_BODY
from lifeboat_core.remotes.endpoint import endpoint_shapes as shapes
from lifeboat_core.remotes.endpoint.endpoint_calls import FILE, SLOWEST, EndpointCalls, quote_segment
from lifeboat_vault.errors import NotAnEndpoint, RemoteDamaged, RemoteTooLarge, StaleBase, UnknownAtRemote
from lifeboat_vault.remote import read_back
from lifeboat_vault.remote.remote_contract import (
    FileKey,
    RemoteAgent,
    RemoteBundle,
    RemoteDescription,
    RemoteHead,
    RemoteRedaction,
    RemoteSequence,
    RemoteVerification,
)

AT_ONCE = 64
"""How many files, and how many memories, one request asks for."""
BYTES_AT_ONCE = 8 * 1024 * 1024
"""The bytes of these files at most, unless one file alone has more: the answer is held in memory on both sides."""


def fetch_object(calls: EndpointCalls, path: str, sha256: str) -> bytes:
    """Return the bytes of a large artifact. Raises UnknownAtRemote, RemoteDamaged (they are other bytes)."""
    data = calls.ask("GET", f"{path}/objects/{quote(sha256, safe='')}", headers={"Accept": FILE}).body
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RemoteDamaged("the content of a large file on the remote does not match its digest")
    return data


def read_bodies(
    calls: EndpointCalls, path: str, number: int, entries: Sequence[str], records: Sequence[str], *, size: int = 0
) -> tuple[list[bytes | None], list[bytes | None]]:
    """Return the bytes of entries (by path) and of records (by id) of a state there, None for what it lacks.

    `size` is how many bytes the entries should have together.
    """
    asked = {"sequence": number, "entries": list(entries), "records": list(records)}
    answer = calls.send("POST", f"{path}/read", asked, most=LARGEST_BODY + 2 * size)
    files, lines = (shapes.read_items(answer, name, _bytes) for name in ("entries", "records"))
    if len(files) != len(entries) or len(lines) != len(records):
        raise RemoteDamaged("the endpoint returned other items than those requested")
    return files, lines


def verify_endpoint_copy(
    calls: EndpointCalls, path: str, state: State, *, bodies: int, chance: random.Random
) -> RemoteVerification:
    """Compare the head there, and bytes of up to `bodies` of its items read back from there, with a state here."""
    head = shapes.parse_remote_agent(calls.get(path)).head
    result = read_back.compare_head(state.sequence, None if head is None else _listed(calls, path, head.number))
    if head is None or head.number != state.sequence.number:
        return result
    for part in read_back.split_sample(read_back.choose_sample(state, bodies, chance), AT_ONCE, BYTES_AT_ONCE):
        size = sum(entry.size for entry in part.entries)
        found, lines = read_bodies(calls, path, head.number, *part.names(), size=size)
        result = read_back.compare_bodies(part, [*found, *lines], result)
    return result


def _listed(calls: EndpointCalls, path: str, number: int) -> RemoteSequence | None:
    """Return a state there with its signature."""
    answer = calls.get(f"{path}/sequences", since=number - 1, limit=1)
    return next(
        (each for each in shapes.read_items(answer, "sequences", shapes.parse_sequence) if each.number == number), None
    )


def _bytes(found: object) -> bytes | None:
    try:
        return None if found is None else base64.b64decode(str(found), validate=True)
    except (binascii.Error, ValueError):
        raise RemoteDamaged("the response of the endpoint contains invalid base64 data") from None


PART = 4 * 1024 * 1024
"""Bytes of a part; the last part has the rest."""
LEAST = 256 * 1024
"""The smallest part size that is accepted from an endpoint: smaller ones would mean requests without end."""


class BundleUploadPart(NamedTuple):
    sha256: str
    start: int
    size: int


def push_in_parts(
    calls: EndpointCalls, agent_id: str, bundle: RemoteBundle, headers: dict[str, str], *, part: int = PART
) -> Any:
    """Send a bundle in parts, and return the endpoint's answer to the last step.

    Raises RemoteError. The last step is made once: the head says whether it arrived.
    """
    parts = list(_parts(bundle, part))
    base = f"/agents/{quote_segment(agent_id)}/uploads"
    asked = {
        "kind": bundle.kind,
        "base_sequence": bundle.base,
        "parts": [{"sha256": each.sha256, "size": each.size} for each in parts],
    }
    begun = calls.send("POST", base, asked, headers=headers)
    upload = quote_segment(shapes.read_field(begun, "upload_id", str))
    known = {each.sha256: each for each in parts}
    for each in (known[sha256] for sha256 in shapes.select_asked(known, begun, "missing")):
        bundle.file.seek(each.start)
        data = bundle.file.read(each.size)
        calls.ask("PUT", f"{base}/{upload}/parts/{each.sha256}", headers={"Content-Type": FILE}, content=data)
    patience = bundle.size / SLOWEST
    reply = calls.ask("POST", f"{base}/{upload}/commit", again=False, patience=patience)
    return shapes.parse_document(reply.body)


def _parts(bundle: RemoteBundle, size: int) -> Iterator[BundleUploadPart]:
    """Return the parts of a bundle in order; the file is left at its beginning."""
    start = 0
    while data := bundle.file.read(size):
        yield BundleUploadPart(hashlib.sha256(data).hexdigest(), start, len(data))
        start += len(data)
    bundle.file.seek(0)


MACHINE = "X-Lifeboat-Machine"
SALT = "X-Lifeboat-Salt"
DIRECT = 6_000_000
"""Bytes that every endpoint accepts in one request, unless it says another number."""
_PAGE = 200
_CHECKING = 600.0
"""Seconds that an endpoint may take to verify every state of an agent."""
_DIGESTS = 1000
"""How many digests one request asks for."""


class EndpointRemote:
    """See `Remote`. Nothing is sent before the first call."""

    def __init__(self, calls: EndpointCalls) -> None:
        self._calls = calls
        self._about: RemoteDescription | None = None

    def about(self) -> RemoteDescription:
        self._about = shapes.parse_about(self._calls.get("/version"))
        return self._about

    def agents(self) -> list[RemoteAgent]:
        found = self._calls.pages("/agents", "agents", limit=_PAGE)
        return [shapes.parse_remote_agent(each) for each in found if not each.get("sealed")]

    def agent(self, agent_id: str) -> RemoteAgent:
        found = shapes.parse_remote_agent(self._calls.get(_of(agent_id)))
        if found.id != agent_id.lower():
            raise RemoteDamaged(
                f"the request was for agent {agent_id.lower()}, but the endpoint answered with agent {found.id}"
            )
        return found

    def register(self, agent_id: str, name: str, runtime: str) -> RemoteAgent:
        asked = {"id": agent_id, "name": name, "source_runtime": runtime}
        try:
            return shapes.parse_remote_agent(self._calls.send("POST", "/agents", asked))
        except StaleBase:  # 409: the agent exists already
            return self.agent(agent_id)

    def remove_agent(self, agent_id: str) -> None:
        """Destroy everything that is kept of an agent: one that was made up for a test, or with the token of an
        operator. Raises RemoteError."""
        self._calls.delete(_of(agent_id))

    # Sending ----------------------------------------------------------------------------------------------------

    def push(self, agent_id: str, bundle: RemoteBundle, *, machine: str = "") -> RemoteHead:
        headers = {MACHINE: quote(machine)} if machine else {}
        if bundle.size > self._limit("direct_bytes", DIRECT):
            self._refuse_too_large(bundle.size)
            part = max(LEAST, min(PART, self._limit("part_bytes", PART)))
            return shapes.parse_pushed(push_in_parts(self._calls, agent_id, bundle, headers, part=part))
        method, path = ("PUT", "snapshot") if bundle.kind == "snapshot" else ("POST", "deltas")
        base = {} if bundle.base is None else {"base_sequence": bundle.base}
        reply = self._calls.ask(
            method,
            f"{_of(agent_id)}/{path}",
            query={**base, "sequence": bundle.number},
            headers={**headers, "Content-Type": FILE},
            content=bundle.file,
            again=False,  # the head says whether it arrived
            patience=bundle.size / SLOWEST,
        )
        return shapes.parse_pushed(shapes.parse_document(reply.body))

    def missing(self, agent_id: str, files: Sequence[FileKey], *, read: bool = False) -> list[FileKey]:
        found: list[FileKey] = []
        for some in _batches(files, _DIGESTS):
            digests, leaves = [file.sha256 for file in some], [file.leaf.digest.hex() for file in some]
            asked: JsonObject = {"sha256": digests, "leaves": leaves}
            if read:
                asked["read"] = True
            answer = self._calls.send("POST", f"{_of(agent_id)}/objects/missing", asked)
            # An endpoint of an earlier release knows files by their SHA-256 alone.
            if shapes.read_optional(answer, "leaves", list, None) is None:
                lacking = {*shapes.select_asked(digests, answer, "missing")}
                found += [file for file in some if file.sha256 in lacking]
            else:
                lacking = {*shapes.select_asked(leaves, answer, "leaves")}
                found += [file for file in some if file.leaf.digest.hex() in lacking]
        return found

    def damaged_states(self, agent_id: str, *, read: bool = False) -> list[int]:
        try:
            path, patience = f"{_of(agent_id)}/sequences/damaged", _CHECKING if read else 0.0
            answer = self._calls.send("POST", path, {"read": read}, patience=patience)
        except NotAnEndpoint:  # an endpoint of an earlier release looks for lost bytes only
            return []
        return shapes.read_items(answer, "sequences", shapes.check_number)

    def put_object(self, agent_id: str, file: FileKey, data: bytes) -> None:
        path = f"{_of(agent_id)}/objects/{quote(file.sha256, safe='')}"
        headers = {"Content-Type": FILE, SALT: file.leaf.salt.hex()}
        self._calls.ask("PUT", path, headers=headers, content=data)

    def put_keys(self, agent_id: str, document: JsonObject) -> None:
        self._calls.send("PUT", f"{_of(agent_id)}/keys", document)

    def put_signatures(self, agent_id: str, signatures: Iterable[tuple[int, JsonObject]]) -> int:
        taken = 0
        for some in _batches(signatures, _PAGE):
            asked = {"signatures": [{"sequence": number, "signature": signature} for number, signature in some]}
            taken += shapes.read_field(self._calls.send("PUT", f"{_of(agent_id)}/signatures", asked), "taken", int)
        return taken

    def raise_epoch(self, agent_id: str, expected: int, *, machine: str = "") -> int:
        asked = {"expected": expected, "machine": machine}
        answer = self._calls.send("POST", f"{_of(agent_id)}/epoch", asked, again=False)
        epoch = shapes.read_number(answer, "epoch")
        if epoch != expected + 1:
            raise RemoteDamaged(f"the endpoint began writer epoch {epoch}, expected {expected + 1}")
        return epoch

    # Purging ----------------------------------------------------------------------------------------------------

    def redactions(self, agent_id: str) -> list[JsonObject]:
        return shapes.read_items(self._calls.get(f"{_of(agent_id)}/redactions"), "redactions", shapes.check_object)

    def redact(self, agent_id: str, document: JsonObject, *, owner: str | None = None) -> RemoteRedaction:
        """Tell of a purge. The owner's token is used for this one request and kept nowhere."""
        query = {} if owner is None else {"confirm": "true"}
        answer = self._calls.send("POST", f"{_of(agent_id)}/redactions", document, query=query, token=owner)
        state = shapes.parse_redaction_state(answer)
        if state.id != document["id"]:
            raise RemoteDamaged(f"the endpoint answered about another purge ({state.id}) than the one that was sent")
        return state

    # Fetching ---------------------------------------------------------------------------------------------------

    def keys(self, agent_id: str) -> JsonObject | None:
        found = self._calls.get(f"{_of(agent_id)}/keys")
        return found if isinstance(found, dict) and found else None

    def sequences(self, agent_id: str) -> Iterator[RemoteSequence]:
        path = f"{_of(agent_id)}/sequences"
        return (shapes.parse_sequence(each) for each in self._calls.pages(path, "sequences", limit=_PAGE, since=-1))

    def follow(self, moved: Callable[[int, int], None]) -> None:
        """See `pulling.TransferReporting`."""
        self._calls.follow(moved)

    def snapshot(self, agent_id: str, number: int | None = None) -> RemoteBundle:
        if number is None:
            head = self.agent(agent_id).head
            if head is None:
                raise UnknownAtRemote("this agent has not been sent to the remote yet")
            number = head.number
        file, reply = self._calls.fetch(f"{_of(agent_id)}/snapshot", query={"sequence": number})
        return RemoteBundle("snapshot", number, None, file, reply.size)

    def deltas(self, agent_id: str, since: int) -> Iterator[RemoteBundle]:
        path = f"{_of(agent_id)}/deltas"
        for each in self._calls.pages(path, "deltas", limit=_PAGE, since=since):
            number, base = shapes.read_number(each, "sequence"), shapes.read_number(each, "base_sequence")
            file, reply = self._calls.fetch(f"{path}/{number}", query={"base": base})
            yield RemoteBundle("delta", number, base, file, reply.size)

    def object(self, agent_id: str, sha256: str) -> bytes:
        return fetch_object(self._calls, _of(agent_id), sha256)

    def verify(self, agent_id: str, state: State, *, bodies: int, chance: random.Random) -> RemoteVerification:
        return verify_endpoint_copy(self._calls, _of(agent_id), state, bodies=bodies, chance=chance)

    # Its token --------------------------------------------------------------------------------------------------

    def whoami(self) -> JsonObject:
        """Return what the endpoint says of the token: {tenant, name, scopes, expires_at}. Raises RemoteError."""
        found = self._calls.get("/token")
        shapes.read_field(found, "scopes", list)
        return dict(found)

    def make_restore_token(self) -> JsonObject:
        """Make a token that can only read, for a recovery kit: {id, name, token, scopes, expires_at}. Raises
        RemoteError."""
        found = self._calls.send("POST", "/token", {}, again=False)
        shapes.read_field(found, "token", str)
        return dict(found)

    def revoke_token(self) -> None:
        """Revoke the token that is used here. Raises RemoteError."""
        self._calls.delete("/token")

    def close(self) -> None:
        self._calls.close()

    def _limit(self, name: str, otherwise: int) -> int:
        found = (self._about or self.about()).limits.get(name)
        return found if isinstance(found, int) and found > 0 else otherwise

    def _refuse_too_large(self, size: int) -> None:
        largest = self._limit("bundle_bytes", size)
        if size > largest:
            raise RemoteTooLarge(
                f"the data to push has {size} bytes, but the endpoint accepts at most {largest} bytes at once"
            )


def _of(agent_id: str) -> str:
    return f"/agents/{quote(agent_id, safe='')}"


def _batches(things: Iterable[Any], size: int) -> Iterator[list[Any]]:
    found: list[Any] = []
    for each in things:
        found.append(each)
        if len(found) == size:
            yield found
            found = []
    if found:
        yield found
