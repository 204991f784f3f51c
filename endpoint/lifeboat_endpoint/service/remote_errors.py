"""What goes wrong here, as whoever is on the other side is told: no path and no name of this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lifeboat_alf.errors import AlfError
from lifeboat_vault import errors

BUSY = "the endpoint is busy with this agent, or does not reach its data right now"
UNUSABLE = "the endpoint cannot use the place of its data"
_SOON = 1.0
_LATER = 60.0
"""Seconds after which a busy or full endpoint is worth another try."""


@contextlib.contextmanager
def as_remote() -> Iterator[None]:
    """Errors of a vault or of the tables as RemoteError. KeyRevoked and KeySourceRefused stay what they are."""
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
        raise errors.RemoteBusy("this agent is being encrypted anew", retry_after=_SOON) from error
    except (errors.VaultDamaged, errors.VaultMissing, errors.VaultNewer) as error:
        raise errors.RemoteDamaged("what the endpoint keeps of this agent cannot be read") from error
    except errors.VaultUnusable as error:
        raise errors.RemoteBusy(UNUSABLE, retry_after=_LATER) from error
    except errors.DraftInvalid as error:
        raise errors.RemoteRefused(error.message) from error


@contextlib.contextmanager
def as_bundle() -> Iterator[None]:
    """As `as_remote`, around the reading of what was sent: what is wrong with it is the sender's."""
    try:
        with as_remote():
            yield
    except AlfError as error:
        raise errors.RemoteRefused(error.message) from error
    except (OverflowError, UnicodeError) as error:
        raise errors.RemoteRefused(f"the bundle holds a value that nothing can be: {error}") from error
