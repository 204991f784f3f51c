"""Errors of the keys.

LifeboatError
+-- KeysError
|   +-- NoKey               the user's key is not on this machine
|   +-- NoAgentKey          this agent (or this pair of it) has no key here
|   +-- KeyExists           a key would be overwritten
|   +-- OtherKey            made under another user's key
|   +-- KeyUnsafe           a key file that others can read, own, or redirect
|   +-- KeyDamaged          a key file that is not what was written
|   +-- BadWords            not the 24 words of a key
|   +-- UnsealError         a credential that does not open
|       +-- WrongAgentKey   sealed to another pair
|       +-- WrongBinding    the credential's fields are not those it was sealed with
|       +-- PayloadChanged  the ciphertext was changed
|       +-- UnknownSealing  not sealed by this program, or in a form it does not know
+-- SignatureError (lifeboat_alf)
    +-- SignedByAnother     a whole signature, but under another user's key
"""

from __future__ import annotations

from lifeboat_alf.errors import LifeboatError, SignatureError


class KeysError(LifeboatError):
    code = "keys"
    title = "The keys cannot be used"
    fix = "lifeboat doctor"


class NoKey(KeysError):
    code = "needs_key"
    title = "Your key is not on this machine"


class NoAgentKey(KeysError):
    code = "no_agent_key"
    title = "The agent's key is not here"


class KeyExists(KeysError):
    code = "key_exists"
    title = "There is a key already, and keys are never overwritten"
    exit_status = 3


class OtherKey(KeysError):
    code = "other_key"
    title = "This belongs to another user's key"
    exit_status = 3


class KeyUnsafe(KeysError):
    code = "key_unsafe"
    title = "A key file is open to others"
    exit_status = 3


class KeyDamaged(KeysError):
    code = "key_damaged"
    title = "A key file is damaged"


class BadWords(KeysError):
    code = "bad_words"
    title = "These are not the 24 words of a key"


class UnsealError(KeysError):
    code = "unseal"
    title = "A credential cannot be opened"


class WrongAgentKey(UnsealError):
    code = "wrong_agent_key"


class WrongBinding(UnsealError):
    code = "wrong_binding"


class PayloadChanged(UnsealError):
    code = "payload_changed"


class UnknownSealing(UnsealError):
    code = "unknown_sealing"


class SignedByAnother(SignatureError):
    code = "signed_by_another"
    title = "This state was signed under another user's key"
    fix = "add --accept-unsigned if you know where it comes from"
