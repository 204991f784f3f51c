"""Bundles that are larger than an endpoint takes in one request: cut into parts that are named by their digest, of
which only those travel that are not there yet. An upload that was interrupted goes on where it stood."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from lifeboat_core.remotes.endpoint import endpoint_shapes as shapes
from lifeboat_core.remotes.endpoint.endpoint_calls import FILE, SLOWEST, EndpointCalls, quote_segment
from lifeboat_vault.remote.remote_contract import RemoteBundle

PART = 4 * 1024 * 1024
"""Bytes of a part; the last one has what is left."""
LEAST = 256 * 1024
"""Whoever takes smaller parts only wants to be asked without end."""


class BundleUploadPart(NamedTuple):
    sha256: str
    start: int
    size: int


def push_in_parts(
    calls: EndpointCalls, agent_id: str, bundle: RemoteBundle, headers: dict[str, str], *, part: int = PART
) -> Any:
    """Send a bundle in parts; what the endpoint answers to the last step. Raises RemoteError; the last step is made
    once: whether it arrived says the head."""
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
    """The parts of a bundle, in order; the file stands at its beginning afterwards."""
    start = 0
    while data := bundle.file.read(size):
        yield BundleUploadPart(hashlib.sha256(data).hexdigest(), start, len(data))
        start += len(data)
    bundle.file.seek(0)
