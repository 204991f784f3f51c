"""Errors of the keys.

LifeboatError
+-- KeysError
|   +-- NoKey               the user's key is not on this machine, or cannot be reached now
|   |   +-- KeyLocked       encrypted with a passphrase that was not given
|   |   +-- KeyringLocked   the OS keyring has to be unlocked
|   +-- KdfOutOfBounds      the parameters of a wrapped key ask for too little or too much work
|   +-- WrappedChanged      the file of a wrapped key is not what was written
|   +-- UnknownWrapping     a wrapped key in a form that is not used here
|   +-- NoAgentKey          this agent (or this pair of it) has no key here
|   +-- OtherKey            made under another key than the home's
|   +-- KeyDamaged          a key file that is not what was written
|   +-- BadWords            not the 24 words of a key
|   +-- UnsealError         a credential that does not open
|       +-- UnknownSealing  sealed by another program, or not at all
|   +-- AgeError            a whole encrypted file that cannot be made or opened
|       +-- NotForYourKey   encrypted, but not for the key of this home
|   +-- ReceiptInvalid      fields of the receipt are missing or not valid
+-- SignatureError (lifeboat_alf)
    +-- SignedByAnother     a valid signature, but made with another user's key
        +-- SignedByCompromised  signed with a former key of the user that others may have
        +-- DeviceRevoked       signed by a machine that the user reported as lost
"""

from __future__ import annotations

from lifeboat_alf.errors import ErrorCode, LifeboatError, SignatureError


class KeysError(LifeboatError):
    code = "keys"
    title = "The keys cannot be used"
    fix = "lifeboat doctor"

    NO_PASSPHRASE = ErrorCode(
        "no_passphrase",
        "No passphrase was given to encrypt the key",
        meaning="a key must be encrypted, and no usable passphrase was given",
        fix="set LIFEBOAT_PASSPHRASE_FILE to a private file that contains the passphrase",
    )
    WORDS_AS_PASSPHRASE = ErrorCode(
        "words_as_passphrase",
        "Recovery words cannot be a passphrase",
        meaning="the new passphrase consists of recovery words",
        fix="choose another passphrase",
        exit_status=3,
    )
    STORE_READ_ONLY = ErrorCode(
        "store_read_only",
        "This store cannot save a key",
        meaning="Lifeboat cannot write a key into this store",
        fix="lifeboat keys init --store passphrase",
        exit_status=3,
    )
    CANNOT_HOLD = ErrorCode(
        "cannot_hold",
        "This machine cannot keep the key unlocked",
        meaning="this system or this store cannot keep a key unlocked",
        fix="set LIFEBOAT_PASSPHRASE_FILE to a private file that contains the passphrase",
    )
    EXISTS = ErrorCode(
        "key_exists",
        "This home already has a key, and Lifeboat never overwrites keys",
        meaning="the command would overwrite an existing key",
        exit_status=3,
    )
    UNSAFE = ErrorCode(
        "key_unsafe",
        "Other users can access a key file",
        meaning="another user can read a key file or owns it, or its folder is a link",
        exit_status=3,
    )
    NOT_A_KIT = ErrorCode(
        "not_a_kit",
        "This file is not a recovery kit",
        meaning="the file is not a recovery kit, or contains the words of another key than the page states",
        fix="type the words of the page yourself: lifeboat keys recover",
    )
    UNKNOWN_MACHINE = ErrorCode(
        "unknown_machine",
        "No machine, or more than one machine, has this name",
        meaning="no machine, or more than one, has this name",
        fix="lifeboat keys status",
    )


class NoKey(KeysError):
    code = "needs_key"
    title = "Your key is not on this machine"

    WRONG_PASSPHRASE = ErrorCode(
        "key_passphrase",
        "The passphrase does not open your key",
        meaning="the key is encrypted with another passphrase",
        fix="try again, or set a new passphrase with your 24 words: lifeboat keys recover",
    )
    KEYRING_AWAY = ErrorCode(
        "keyring_away",
        "The OS keyring cannot be used",
        meaning="this machine has no usable OS keyring, or the OS keyring crashed",
        fix="lifeboat keys recover --store passphrase",
        retryable=True,
    )
    KEYRING_SLOW = ErrorCode(
        "keyring_slow",
        "The OS keyring does not answer",
        meaning="the OS keyring did not answer in time",
        fix="lifeboat keys unlock",
        retryable=True,
    )
    COMMAND_FAILED = ErrorCode(
        "key_command",
        "key_command did not print a key",
        meaning="key_command did not print a key",
        fix="lifeboat config get key_command",
    )


class KeyLocked(NoKey):
    code = "key_locked"
    title = "Your key is locked"
    fix = "lifeboat keys unlock"


class KeyringLocked(NoKey):
    code = "keyring_locked"
    title = "The OS keyring is locked"
    fix = "lifeboat keys unlock"


class KdfOutOfBounds(KeysError):
    code = "kdf_out_of_bounds"
    title = "Opening the key file would take an unreasonable amount of computing"
    fix = "lifeboat keys recover"
    exit_status = 3


class WrappedChanged(KeysError):
    code = "wrapped_changed"
    title = "The file with the encrypted key was changed"
    fix = "lifeboat keys recover"


class UnknownWrapping(KeysError):
    code = "unknown_wrapping"
    title = "The key file has an unknown format"
    fix = "lifeboat keys recover"
    exit_status = 3


class NoAgentKey(KeysError):
    code = "no_agent_key"
    title = "The agent's key is not on this machine"


class OtherKey(KeysError):
    code = "other_key"
    title = "This key or data does not belong to the key of this home"
    exit_status = 3


class KeyDamaged(KeysError):
    code = "key_damaged"
    title = "A key file is damaged"


class BadWords(KeysError):
    code = "bad_words"
    title = "These are not the 24 words of a key"
    fix = "compare the words with your written words, number by number"


class UnsealError(KeysError):
    code = "unseal"
    title = "A credential cannot be opened"

    WRONG_USER_KEY = ErrorCode(
        "wrong_user_key",
        "A credential is encrypted for another user's key",
        meaning="the credential is sealed for an agent of another user's key",
        fix="lifeboat keys status",
        exit_status=3,
    )
    WRONG_AGENT_KEY = ErrorCode("wrong_agent_key", meaning="the credential is sealed for another key of the agent")
    WRONG_BINDING = ErrorCode(
        "wrong_binding", meaning="fields of the credential were changed after the credential was sealed"
    )
    SWAPPED_AGENT = ErrorCode(
        "swapped_agent",
        "This credential belongs to another agent",
        meaning="the credential is sealed for a different agent than the one that contains it",
        exit_status=3,
    )
    PAYLOAD_CHANGED = ErrorCode("payload_changed", meaning="the ciphertext of the credential was changed")
    PAYLOAD_TRUNCATED = ErrorCode("payload_truncated", meaning="a part of the credential's ciphertext is missing")


class UnknownSealing(UnsealError):
    code = "unknown_sealing"

    ALGORITHM_REFUSED = ErrorCode(
        "algorithm_refused",
        "A credential uses an unknown algorithm",
        meaning="the credential was sealed by Lifeboat, but its header states an unknown algorithm",
        exit_status=3,
    )


class AgeError(KeysError):
    code = "age"
    title = "The encrypted file cannot be opened"

    BAD_RECIPIENT = ErrorCode(
        "bad_recipient",
        "The text is not the public key of an age key",
        meaning="the text is not the public key of an age key",
        fix="give the public key that age-keygen printed: age1...",
    )
    NOT_AGE = ErrorCode(
        "not_age",
        "The file is not encrypted in a known format",
        meaning="the file is not in the age format, or is in an unknown variant of it",
    )
    PASSPHRASE_NEEDED = ErrorCode(
        "passphrase_needed",
        "The file is encrypted with a passphrase",
        meaning="the file is encrypted with a passphrase, and none was given",
        fix="the same command with --passphrase-stdin",
    )
    WRONG_PASSPHRASE = ErrorCode("archive_passphrase", "The passphrase is wrong")
    EXCESSIVE_WORK = ErrorCode(
        "excessive_work",
        "Opening the file would take unreasonably long",
        meaning="the header of the file would take hours of computing to open",
        exit_status=3,
    )
    CHANGED = ErrorCode(
        "encrypted_changed",
        "The encrypted file was changed",
        meaning="a part of the encrypted file was changed",
        fix="fetch the file again from the place where you got it",
    )
    CUT_SHORT = ErrorCode(
        "encrypted_cut_short",
        "The end of the encrypted file is missing or damaged",
        meaning="the end of the encrypted file is missing",
        fix="fetch the file again from the place where you got it",
    )


class NotForYourKey(AgeError):
    code = "not_for_your_key"
    title = "The file is encrypted for another key"
    fix = (
        "if that key is a former key of yours, first import an archive that was made after you replaced "
        "the key: such an archive contains the former key"
    )
    exit_status = 3


class ReceiptInvalid(KeysError):
    code = "receipt_invalid"
    title = "This receipt of a purge is incomplete or invalid"
    fix = "lifeboat receipts list"
    exit_status = 3


class SignedByAnother(SignatureError):
    code = "signed_by_another"
    title = "This state was signed with another user's key"
    fix = (
        "if that key is a former key of yours, first import an archive that was made after you replaced "
        "the key: such an archive contains the former key. To import this archive without its "
        "credentials, use --accept-unsigned"
    )


class SignedByCompromised(SignedByAnother):
    code = "signed_by_compromised"
    title = "This state was signed with a former key of yours that others may have"
    fix = "if you know the origin of the state, use --accept-unsigned to import it without its credentials"


class DeviceRevoked(SignedByAnother):
    code = "device_revoked"
    title = "This state was signed by a machine that you reported as lost"
    fix = "if you know the origin of the state, use --accept-unsigned to import it without its credentials"
