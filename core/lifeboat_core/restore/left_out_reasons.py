"""The reasons why a restore leaves a file or a credential out, and what a user can do about a credential."""

from __future__ import annotations

from lifeboat_adapters.credential_types import CredentialRefusal
from lifeboat_alf.common.reason_codes import ReasonCode


class LeftOutCode(ReasonCode):
    """Why something of a state is not written, or is written without its credentials. Receipts use the same codes."""

    # Files
    NO_FOLDER = (
        "no_runtime_folder",
        "it belongs to the state directory, and this workspace has none; name one with --state-dir",
    )
    NOT_KEPT = "not_kept", "files like it are never captured from the state directory"
    UNREADABLE = "unreadable", "it cannot be read, so nothing is merged into it"
    UNPARSABLE = "unparsable", "it cannot be parsed ({problem}), so nothing is merged into it"
    NEVER = "never_written", "it is never captured, so it is not written ({reason})"
    BY_ROWS = "by_rows", "it is a database of the runtime, which is restored row by row"
    LOST = "lost", "{problem}"
    NO_FOLDER_ABOVE = "no_folder_above", "{name} is not a directory, and existing files of the state directory are kept"
    FOLDER_NEEDED = "folder_needed", "a directory is needed at this path"
    UNKNOWN_KIND = "unknown_kind", "this release cannot create entries of the kind {kind}"
    LEAVES_WORKSPACE = "leaves_workspace", "the link points outside of the workspace, to {target}"
    THERE_ALREADY = "there_already", "it exists, and existing files of the state directory are never replaced"
    SPECIAL_FILE = "special_file", "something other than a file, link or directory exists at this path"
    UNCAPTURED_FOLDER = "uncaptured_folder", "a directory with files that were never captured exists at this path"
    # Credentials
    CUT_OUT = "without_credentials", "it lacks its credentials; --with-credentials puts them back"
    NOT_ASKED = "not_asked", "the file that contains it was not requested"
    NOWHERE = "not_in_a_file", "no file of the state contains it"
    NO_VALUE = "no_value", "it is in a comment or a name, and only values are merged"
    BOUND_CHANNEL = "bound_channel", "bound to the other machine; link the channel again"
    BOUND_GATEWAY = "bound_gateway", "bound to the other machine; the runtime makes a new one"
    NO_AGENT_KEY = "no_agent_key", "no key on this machine opens it"
    FOREIGN_SEALING = "foreign_sealing", "it was not sealed by this program"
    FOREIGN_PAYLOAD = "foreign_payload", "its sealed content is not for this program"
    NOT_IN_STATE = "not_in_state", "the state lacks its credential {id}"
    NOT_OPENED = "not_opened", "{problem}"
    # Deliveries
    COMMAND_FAILED = "command_failed", "{problem}"
    NOT_TRIED = "not_tried", "not attempted: {reason}"


class ReissueCode(ReasonCode):
    """What a user has to do about a credential."""

    ROTATES = (
        "rotates",
        "its tokens change with use, so the original agent may be signed out: sign in there again",
    )
    SIGN_IN = "sign_in", "sign in again"
    LINK_AGAIN = "link_again", "link the channel again"
    MADE_ANEW = "made_anew", "the runtime makes a new one"
    ISSUE_AGAIN = "issue_again", "have it issued again and give it to the runtime"


ADVISING = frozenset({LeftOutCode.BOUND_CHANNEL, LeftOutCode.BOUND_GATEWAY, CredentialRefusal.NOT_REFRESHED})
"""Reasons whose text already says what the user has to do."""
