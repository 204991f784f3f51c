"""Errors of the vault and of the stores under it.

LifeboatError
+-- VaultError
    +-- VaultMissing      there is no vault where one was expected
    +-- VaultExists       a vault would be written over
    +-- VaultNewer        made by a newer version of the program
    +-- VaultDamaged      the file or a body is not readable as what it was
    +-- VaultFull         no space left; nothing of the change was kept
    +-- VaultBusy         another process is writing; try again
    +-- VaultUnusable     the system refuses to read or write (rights, I/O)
    +-- UnknownSequence   the number was never given out, or was thinned
    +-- DraftInvalid      a change that does not fit the head
"""

from __future__ import annotations

from lifeboat_alf.errors import LifeboatError


class VaultError(LifeboatError):
    """Anything wrong with a vault."""

    code = "vault"
    title = "The vault cannot do that"


class VaultMissing(VaultError):
    code = "vault_missing"
    title = "There is no vault here"
    fix = "lifeboat agents remove AGENT"


class VaultExists(VaultError):
    code = "vault_exists"
    title = "There is a vault here already"
    fix = "lifeboat agents list"
    exit_status = 3


class VaultNewer(VaultError):
    """The schema of the file is newer than this program knows; it is not touched."""

    code = "vault_newer"
    title = "The vault was written by a newer version of Agent Lifeboat"
    fix = "pipx upgrade agent-lifeboat"
    exit_status = 3


class VaultDamaged(VaultError):
    code = "vault_damaged"
    title = "The vault is damaged"
    fix = "lifeboat verify AGENT --whole"


class VaultFull(VaultError):
    """The disk (or a quota) is full. The change was rolled back whole."""

    code = "vault_full"
    title = "There is no space left for the vault"
    fix = "free some space, then: lifeboat sync"
    retryable = True


class VaultBusy(VaultError):
    code = "vault_busy"
    title = "Another process is writing to the vault"
    fix = "try again in a moment"
    retryable = True


class VaultUnusable(VaultError):
    code = "vault_unusable"
    title = "The system does not let the vault be read or written"
    fix = "lifeboat doctor"


class UnknownSequence(VaultError):
    code = "unknown_sequence"
    title = "There is no such sequence"
    fix = "lifeboat timeline AGENT"


class DraftInvalid(VaultError):
    """A draft that does not fit the head: a bug of the caller or foreign data, never half applied."""

    code = "draft_invalid"
    title = "The change does not fit the newest state"
