"""Why a bucket cannot be used, and the command that helps."""

from __future__ import annotations

from lifeboat_core.remotes.bucket.bucket_address import S3, BucketAddress
from lifeboat_core.remotes.bucket.bucket_credentials import ADVICE
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_vault import errors
from lifeboat_vault.store.object_store_answers import ObjectStoreAnswer

_PAUSE = 30.0
"""Seconds to wait where a store asks for a retry. The library does not tell for how long the store asked."""


def explain_answer(answer: ObjectStoreAnswer, address: BucketAddress, name: str, doing: str) -> errors.RemoteError:
    """Return the error for an answer to `doing`; `name` is the user's name for the remote."""
    said = f"{address.place}, {doing}: it {answer.words}"
    add = f"lifeboat remote add {quote_argument(name or 'NAME')} {quote_argument(address.url)}"
    if answer.certificate:
        return errors.RemoteUntrusted(f"{address.place}, {doing}: its certificate is not trusted")
    if answer.keyless:
        said = f"{address.place}: no credentials were found; {ADVICE[address.scheme]}"
        return errors.RemoteDenied(said, fix=f"{add} --credentials-stdin")
    if answer.is_full:
        return errors.RemoteFull(said)
    if answer.has_no_bucket:
        return errors.RemoteUnreachable(
            f"{address.place}: there is no bucket {address.bucket}; create it first", fix=add
        )
    if answer.has_other_time:
        said = f"{address.place}: its clock and the clock of this machine differ by more than it allows"
        return errors.RemoteDenied(said, fix="timedatectl set-ntp true")
    if answer.is_redirect:
        said = f"{address.place}: the bucket is in another region or at another endpoint"
        return errors.RemoteRefused(said, fix=f"{add} --region REGION" if address.scheme == S3 else add)
    if answer.is_denied:
        said = f"{said}. The credentials may be wrong or expired, or lack the permission to read, write, list or delete"
        return errors.RemoteDenied(said, fix=f"{add} --credentials-stdin")
    if answer.status in (429, 503):
        return errors.RemoteBusy(said, retry_after=_PAUSE)
    if answer.asks_for_retry:
        return errors.RemoteUnreachable(said)
    return errors.RemoteRefused(said)
