"""Bundles that are larger than one request to an endpoint may be.

A bundle is cut into parts that are named by their digest, and only the missing ones are sent. So an interrupted upload
continues where it stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from lifeboat_core.remotes.endpoint import endpoint_shapes as shapes
from lifeboat_core.remotes.endpoint.endpoint_calls import FILE, SLOWEST, EndpointCalls, quote_segment
from lifeboat_vault.remote.remote_contract import RemoteBundle

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
