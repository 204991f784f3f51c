"""The reasons why a restore leaves a file or a credential out, and what a user can do about a credential."""

from __future__ import annotations

from lifeboat_adapters.credential_types import CredentialRefusal
from lifeboat_alf.common.reason_codes import ReasonCode


class LeftOutCode(ReasonCode):
    """Why something of a state is not written, or is written without its credentials. Receipts use the same codes."""

    # Files
    NO_FOLDER = (
        "no_runtime_folder",
        "the file belongs to the state directory, and this workspace has none; give one with --state-dir",
    )
    NOT_KEPT = "not_kept", "Lifeboat never captures files like this one from the state directory"
    UNREADABLE = "unreadable", "the existing file cannot be read, so Lifeboat merges nothing into it"
    UNPARSABLE = "unparsable", "the existing file cannot be parsed ({problem}), so Lifeboat merges nothing into it"
    NEVER = "never_written", "Lifeboat never captures this file and therefore does not write it ({reason})"
    BY_ROWS = "by_rows", "the file is a database of the runtime, which Lifeboat restores row by row"
    LOST = "lost", "{problem}"
    NO_FOLDER_ABOVE = (
        "no_folder_above",
        "{name} is not a directory, and Lifeboat does not replace existing files of the state directory",
    )
    FOLDER_NEEDED = "folder_needed", "this path must be a directory, because other files are below it"
    UNKNOWN_KIND = "unknown_kind", "this release cannot create entries of the kind {kind}"
    LEAVES_WORKSPACE = "leaves_workspace", "the link points outside of the workspace, to {target}"
    THERE_ALREADY = (
        "there_already",
        "the file exists, and Lifeboat never replaces existing files of the state directory",
    )
    SPECIAL_FILE = "special_file", "the path exists, but is not a file, link or directory"
    UNCAPTURED_FOLDER = "uncaptured_folder", "the path is a directory with files that were never captured"
    # Credentials
    CUT_OUT = "without_credentials", "the file lacks its credentials; to restore them, use --with-credentials"
    NOT_ASKED = "not_asked", "the credential is in a file that is not among the files to restore"
    NOWHERE = "not_in_a_file", "no file of the state contains the credential"
    NO_VALUE = (
        "no_value",
        "the credential is in a comment or in a name, but Lifeboat writes only values into an existing file",
    )
    BOUND_CHANNEL = "bound_channel", "the credential is bound to the other machine; link the channel again"
    BOUND_GATEWAY = "bound_gateway", "the credential is bound to the other machine; the runtime creates a new one"
    NO_AGENT_KEY = "no_agent_key", "no key on this machine opens the credential"
    FOREIGN_SEALING = "foreign_sealing", "the credential was not sealed by Lifeboat"
    FOREIGN_PAYLOAD = "foreign_payload", "the decrypted credential has a format that Lifeboat does not know"
    NOT_IN_STATE = "not_in_state", "the state does not contain the credential {id}"
    NOT_OPENED = "not_opened", "{problem}"
    # Deliveries
    COMMAND_FAILED = "command_failed", "{problem}"
    NOT_TRIED = "not_tried", "not attempted: {reason}"


class ReissueCode(ReasonCode):
    """What a user has to do about a credential."""

    ROTATES = (
        "rotates",
        "each use replaces the tokens, so the original agent may be signed out; sign in there again",
    )
    SIGN_IN = "sign_in", "sign in again"
    LINK_AGAIN = "link_again", "link the channel again"
    MADE_ANEW = "made_anew", "the runtime creates a new one"
    ISSUE_AGAIN = "issue_again", "get a new credential from its issuer and enter it in the runtime"


ADVISING = frozenset({LeftOutCode.BOUND_CHANNEL, LeftOutCode.BOUND_GATEWAY, CredentialRefusal.NOT_REFRESHED})
"""Reasons whose text already says what the user has to do."""
