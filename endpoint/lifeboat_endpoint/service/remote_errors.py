"""Conversion of errors to those that clients see, without paths and names of this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lifeboat_alf.errors import AlfError
from lifeboat_vault import errors

BUSY = "the endpoint is busy with this agent, or cannot reach its data"
UNUSABLE = "the endpoint cannot use its storage"
_SOON = 1.0
_LATER = 60.0
"""Seconds after which a client should try again when the endpoint is busy (`_SOON`) or full (`_LATER`)."""


@contextlib.contextmanager
def as_remote() -> Iterator[None]:
    """Convert errors of vaults and tables to RemoteError. KeyRevoked and KeySourceRefused are not converted."""
    try:
        yield
    except errors.VaultFull as error:
        raise errors.RemoteFull("the disk of the endpoint is full", retry_after=_LATER) from error
    except (errors.EndpointMoving, errors.EndpointMoved) as error:
        raise errors.RemoteBusy(error.message, retry_after=_LATER) from error
    except errors.VaultBusy as error:
        raise errors.RemoteBusy(BUSY, retry_after=_SOON) from error
    except errors.UnknownSequence as error:
        raise errors.UnknownAtRemote(error.message) from error
    except errors.OtherDataKey as error:
        raise errors.RemoteBusy(
            "the endpoint is encrypting the data of this agent with a new key", retry_after=_SOON
        ) from error
    except (errors.VaultDamaged, errors.VaultMissing, errors.VaultNewer) as error:
        raise errors.RemoteDamaged("the endpoint cannot read its data for this agent") from error
    except errors.VaultUnusable as error:
        raise errors.RemoteBusy(UNUSABLE, retry_after=_LATER) from error
    except errors.DraftInvalid as error:
        raise errors.RemoteRefused(error.message) from error


@contextlib.contextmanager
def as_bundle() -> Iterator[None]:
    """As `as_remote`, and errors in a bundle become refusals of what was sent."""
    try:
        with as_remote():
            yield
    except AlfError as error:
        raise errors.RemoteRefused(error.message) from error
    except (OverflowError, UnicodeError) as error:
        raise errors.RemoteRefused(f"the bundle contains an invalid value: {error}") from error
