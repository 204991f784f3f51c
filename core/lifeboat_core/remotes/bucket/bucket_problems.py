"""Why a bucket cannot be used, and the command that helps."""

from __future__ import annotations

from lifeboat_core.remotes.bucket.bucket_address import DEFAULT_REGION, S3, BucketAddress
from lifeboat_core.remotes.bucket.bucket_credentials import ADVICE
from lifeboat_core.remotes.probed_store.add_command import CREDENTIALS
from lifeboat_vault import errors
from lifeboat_vault.store.object_store_answers import ObjectStoreAnswer

_PAUSE = 30.0
"""Seconds to wait where a store asks for a retry. The library does not tell for how long the store asked."""


def explain_answer(answer: ObjectStoreAnswer, address: BucketAddress, add: str, doing: str) -> errors.RemoteError:
    """Return the error for an answer to `doing`; `add` is the command that adds the remote, or changes it."""
    said = f"{address.place}, {doing}: the store {answer.words}"
    add_with_credentials = add if add.endswith(CREDENTIALS) else f"{add} {CREDENTIALS}"
    if answer.certificate:
        return errors.RemoteUntrusted(
            f"{address.place}, {doing}: this machine does not trust the certificate of the store"
        )
    if answer.keyless:
        said = f"{address.place}: no credentials were found; {ADVICE[address.scheme]}"
        return errors.RemoteDenied(said, fix=add_with_credentials)
    if answer.is_full:
        return errors.RemoteFull(said)
    if answer.has_no_bucket:
        return errors.RemoteUnreachable(
            f"{address.place}: there is no bucket {address.bucket}; create it first", fix=add
        )
    if answer.has_other_time:
        said = f"{address.place}: the clocks of the store and of this machine differ by more than the store allows"
        return errors.RemoteDenied(said, fix="timedatectl set-ntp true")
    if answer.is_redirect:
        said = f"{address.place}: the bucket is in another region or at another endpoint"
        return errors.RemoteRefused(said, fix=f"{add} --region REGION" if address.scheme == S3 else add)
    if answer.has_other_region and address.scheme == S3:
        said = f"{said}. The bucket may be in another region than {address.region or DEFAULT_REGION}"
        return errors.RemoteRefused(said, fix=f"{add} --region REGION")
    if answer.is_denied:
        said = f"{said}. The credentials may be wrong or expired, or lack the permission to read, write, list or delete"
        return errors.RemoteDenied(said, fix=add_with_credentials)
    if answer.status in (429, 503):
        return errors.RemoteBusy(said, retry_after=_PAUSE)
    if answer.asks_for_retry:
        return errors.RemoteUnreachable(said)
    return errors.RemoteRefused(said)
