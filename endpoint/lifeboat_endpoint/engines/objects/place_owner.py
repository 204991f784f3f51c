"""An object that says which endpoint a place in an object store belongs to.

Two endpoints that shared a place would sweep each other's objects.
"""

from __future__ import annotations

from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import LifeboatError
from lifeboat_endpoint.engines.objects.bucket import MARKER, Bucket
from lifeboat_vault import errors

KIND = "lifeboat objects"


def claim_place(bucket: Bucket, endpoint_id: str) -> None:
    """Mark the place as this endpoint's. Raises EndpointSettings if it belongs to another one."""
    found = find_owner(bucket)
    if found is None:
        bucket.put(MARKER, json_codec.encode_pretty({"kind": KIND, "endpoint": endpoint_id}) + b"\n")
        # Read it again: another endpoint may have claimed the place at the same time.
        found = find_owner(bucket)
    _refuse_other(found, endpoint_id)


def hand_over(bucket: Bucket, *, before: str, after: str) -> None:
    """Mark a place of the endpoint `before`, or of none, as that of `after`. Raises EndpointSettings if it is a third
    one's."""
    found = find_owner(bucket)
    if found == after:
        return
    if found is not None:
        _refuse_other(found, before)
    bucket.put(MARKER, json_codec.encode_pretty({"kind": KIND, "endpoint": after}) + b"\n")
    _refuse_other(find_owner(bucket), after)


def check_claim(bucket: Bucket, endpoint_id: str) -> None:
    """Raise EndpointSettings unless the place belongs to this endpoint."""
    _refuse_other(find_owner(bucket), endpoint_id)


def find_owner(bucket: Bucket) -> str | None:
    """Return the id of the endpoint that the place belongs to, or None. Raises EndpointSettings."""
    try:
        data = bucket.get(MARKER)
    except errors.VaultDamaged:
        return None
    try:
        found = json_codec.decode_object(data, entry=MARKER)
    except LifeboatError as error:
        raise errors.EndpointSettings(error.message) from None
    if found.get("kind") != KIND or not isinstance(found.get("endpoint"), str):
        raise errors.EndpointSettings(f"{MARKER} in the object store was not written by an endpoint")
    return str(found["endpoint"])


def _refuse_other(found: str | None, endpoint_id: str) -> None:
    if found is None:
        raise errors.EndpointSettings(
            "the object store is not prepared for this endpoint",
            fix=errors.PREPARE,
        )
    if found != endpoint_id:
        raise errors.EndpointSettings(
            "this address in the object store belongs to another endpoint", fix="give another bucket or another prefix"
        )
