"""Errors of the keys.

LifeboatError
+-- KeysError
|   +-- NoKey               the user's key is not on this machine, or cannot be reached now
|   |   +-- KeyLocked       wrapped with a passphrase that nobody gave
|   |   +-- KeyPassphraseWrong  another passphrase than the key was wrapped with
|   |   +-- KeyringLocked   the OS keyring has to be unlocked
|   |   +-- KeyringAway     there is no OS keyring that can be used, or it died
|   |   +-- KeyringSlow     the OS keyring did not answer in time
|   |   +-- CommandFailed   key_command printed no key
|   +-- NoPassphrase        a key is to be wrapped, and there is no usable passphrase for it
|   +-- WordsAsPassphrase   a new passphrase that is made of the words of a key
|   +-- KdfOutOfBounds      a wrapped key that asks for less or more work than is ever right
|   +-- WrappedChanged      the file of a wrapped key is not what was written
|   +-- UnknownWrapping     a wrapped key in a form that is not used here
|   +-- StoreReadOnly       a store that takes no key from this program
|   +-- CannotHold          this system or this store lets no key be held open for a time
|   +-- NoAgentKey          this agent (or this pair of it) has no key here
|   +-- KeyExists           a key would be overwritten
|   +-- OtherKey            made under another user's key
|   +-- KeyUnsafe           a key file that others can read, own, or redirect
|   +-- KeyDamaged          a key file that is not what was written
|   +-- BadWords            not the 24 words of a key
|   +-- UnknownMachine      no machine, or more than one, has this name
|   +-- NotAKit             a file that is no recovery kit, or holds the words of another key than it names
|   +-- UnsealError         a credential that does not open
|       +-- WrongUserKey    sealed for the agent of another user's key
|       +-- WrongAgentKey   sealed to another pair
|       +-- WrongBinding    the credential's fields are not those it was sealed with
|       |   +-- SwappedAgent  sealed for another agent than it stands under
|       +-- PayloadChanged  the ciphertext was changed
|       |   +-- PayloadTruncated  a part of it is missing: its length cannot be that of a whole one
|       +-- UnknownSealing  sealed by another program, or not at all
|           +-- AlgorithmRefused  sealed by this program, but its header names an algorithm that is not used here
|   +-- AgeError            a whole encrypted file that cannot be made or opened
|       +-- AgeMissing      the library of the age format is not installed
|       +-- BadRecipient    not the recipient of an age key
|       +-- NotAge          not a file in the age format, or in a form of it that is not known
|       +-- NotForYourKey   encrypted, but not for the key of this home
|       +-- PassphraseNeeded  encrypted with a passphrase, and none was given
|       +-- PassphraseWrong another passphrase, or too short a one to write with
|       +-- ExcessiveWork   a passphrase header that would keep this machine busy for hours
|       +-- EncryptedChanged  a part of the encrypted file was changed
|       +-- EncryptedCutShort  the end of the encrypted file is missing
|   +-- ReceiptInvalid      a receipt of a purge that is not of the shape of one
+-- SignatureError (lifeboat_alf)
    +-- SignedByAnother     a whole signature, but under another user's key
        +-- SignedByCompromised  under a former key of the user that others may hold
        +-- DeviceRevoked       by a machine that the user reported as lost
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


class KeyLocked(NoKey):
    code = "key_locked"
    title = "Your key is locked"
    fix = "lifeboat keys unlock"


class KeyPassphraseWrong(NoKey):
    code = "key_passphrase"
    title = "The passphrase does not open your key"
    fix = "try again, or give it a new one with your words: lifeboat keys recover"


class KeyringLocked(NoKey):
    code = "keyring_locked"
    title = "The OS keyring is locked"
    fix = "lifeboat keys unlock"


class KeyringAway(NoKey):
    code = "keyring_away"
    title = "The OS keyring cannot be used"
    fix = "lifeboat keys recover --store passphrase"
    retryable = True


class KeyringSlow(NoKey):
    code = "keyring_slow"
    title = "The OS keyring does not answer"
    fix = "lifeboat keys unlock"
    retryable = True


class CommandFailed(NoKey):
    code = "key_command"
    title = "key_command gives no key"
    fix = "lifeboat config get key_command"


class NoPassphrase(KeysError):
    code = "no_passphrase"
    title = "There is no passphrase to wrap the key with"
    fix = "set LIFEBOAT_PASSPHRASE_FILE to a private file that holds it"


class WordsAsPassphrase(KeysError):
    """Recovery words were given as a passphrase. The message repeats none of them."""

    code = "words_as_passphrase"
    title = "Recovery words are no passphrase"
    fix = "choose another passphrase"
    exit_status = 3


class KdfOutOfBounds(KeysError):
    code = "kdf_out_of_bounds"
    title = "The wrapped key asks for an unreasonable amount of work"
    fix = "lifeboat keys recover"
    exit_status = 3


class WrappedChanged(KeysError):
    code = "wrapped_changed"
    title = "The file of the wrapped key was changed"
    fix = "lifeboat keys recover"


class UnknownWrapping(KeysError):
    code = "unknown_wrapping"
    title = "The key is wrapped in a form that is not used here"
    fix = "lifeboat keys recover"
    exit_status = 3


class StoreReadOnly(KeysError):
    code = "store_read_only"
    title = "This store takes no key"
    fix = "lifeboat keys init --store passphrase"
    exit_status = 3


class CannotHold(KeysError):
    code = "cannot_hold"
    title = "The key cannot be held open here"
    fix = "set LIFEBOAT_PASSPHRASE_FILE to a private file that holds the passphrase"


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
    fix = "compare them with your sheet, number by number"


class NotAKit(KeysError):
    code = "not_a_kit"
    title = "This is not a recovery kit"
    fix = "type the words of the page yourself: lifeboat keys recover"


class UnknownMachine(KeysError):
    code = "unknown_machine"
    title = "No single machine is known by this name"
    fix = "lifeboat keys status"


class UnsealError(KeysError):
    code = "unseal"
    title = "A credential cannot be opened"


class WrongUserKey(UnsealError):
    code = "wrong_user_key"
    title = "A credential belongs to another user's key"
    fix = "lifeboat keys status"
    exit_status = 3


class WrongAgentKey(UnsealError):
    code = "wrong_agent_key"


class WrongBinding(UnsealError):
    code = "wrong_binding"


class SwappedAgent(WrongBinding):
    code = "swapped_agent"
    title = "A credential of another agent stands here"
    exit_status = 3


class PayloadChanged(UnsealError):
    code = "payload_changed"


class PayloadTruncated(PayloadChanged):
    code = "payload_truncated"


class UnknownSealing(UnsealError):
    code = "unknown_sealing"


class AlgorithmRefused(UnknownSealing):
    code = "algorithm_refused"
    title = "A credential names an algorithm that is not used here"
    exit_status = 3


class AgeError(KeysError):
    code = "age"
    title = "The encrypted file cannot be used"


class AgeMissing(AgeError):
    code = "age_missing"
    title = "The library for encrypted archives is not installed"
    fix = "pipx inject agent-lifeboat pyrage"


class BadRecipient(AgeError):
    code = "bad_recipient"
    title = "This is not the recipient of an age key"
    fix = "give what age-keygen printed as the public key: age1..."


class NotAge(AgeError):
    code = "not_age"
    title = "The file is not encrypted in a form that is read here"


class NotForYourKey(AgeError):
    code = "not_for_your_key"
    title = "The file is encrypted for another key"
    fix = "if it was your key once, import an archive first that was made since"
    exit_status = 3


class PassphraseNeeded(AgeError):
    code = "passphrase_needed"
    title = "The file is encrypted with a passphrase"
    fix = "the same command with --passphrase-stdin"


class PassphraseWrong(AgeError):
    code = "archive_passphrase"
    title = "The passphrase does not fit"


class ExcessiveWork(AgeError):
    code = "excessive_work"
    title = "Opening the file would take unreasonably long"
    exit_status = 3


class EncryptedChanged(AgeError):
    code = "encrypted_changed"
    title = "The encrypted file was changed"
    fix = "fetch the file again from where it came from"


class EncryptedCutShort(AgeError):
    code = "encrypted_cut_short"
    title = "The end of the encrypted file is missing or damaged"
    fix = "fetch the file again from where it came from"


class ReceiptInvalid(KeysError):
    code = "receipt_invalid"
    title = "This is not a whole receipt of a purge"
    fix = "lifeboat receipts list"
    exit_status = 3


class SignedByAnother(SignatureError):
    code = "signed_by_another"
    title = "This state was signed under another user's key"
    fix = (
        "if it was your key once, import an archive first that was made since; "
        "--accept-unsigned takes it without its credentials"
    )


class SignedByCompromised(SignedByAnother):
    code = "signed_by_compromised"
    title = "This state was signed under a former key of yours that others may hold"
    fix = "if you know where it comes from, --accept-unsigned takes it without its credentials"


class DeviceRevoked(SignedByAnother):
    code = "device_revoked"
    title = "This state was signed by a machine that you reported as lost"
    fix = "if you know where it comes from, --accept-unsigned takes it without its credentials"
