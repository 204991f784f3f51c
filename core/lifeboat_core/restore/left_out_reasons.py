"""The reasons why a restore leaves a file or a credential out, and what a user can do about a credential."""

from __future__ import annotations

from lifeboat_adapters.credential_types import CredentialRefusal
from lifeboat_alf.common.reason_codes import ReasonCode


class LeftOutCode(ReasonCode):
    """Why something of a state is not written, or is written without its credentials. Receipts use the same codes."""

    # Files
    NO_FOLDER = (
        "no_runtime_folder",
        "it belongs into the runtime's own folder, and there is none around this workspace; --state-dir names one",
    )
    NOT_KEPT = "not_kept", "it is none of the files that are kept of the runtime's own folder"
    UNREADABLE = "unreadable", "it cannot be read, so nothing is merged into it"
    UNPARSABLE = "unparsable", "it does not parse ({problem}), so nothing is merged into it"
    NEVER = "never_written", "what no capture takes is never written ({reason})"
    BY_ROWS = "by_rows", "it is a database of the runtime, which is written row by row"
    LOST = "lost", "{problem}"
    NO_FOLDER_ABOVE = "no_folder_above", "{name} is no folder, and what is in the runtime's own folder stays"
    FOLDER_NEEDED = "folder_needed", "it stands where a folder has to be"
    UNKNOWN_KIND = "unknown_kind", "{kind} is a kind of entry that this release cannot make"
    LEAVES_WORKSPACE = "leaves_workspace", "the link leads out of the workspace, to {target}"
    THERE_ALREADY = "there_already", "it is there already, and files of the runtime's own folder are never replaced"
    SPECIAL_FILE = "special_file", "something that is neither file, link nor folder stands there"
    UNCAPTURED_FOLDER = "uncaptured_folder", "a folder with files that were never captured stands there"
    # Credentials
    CUT_OUT = "without_credentials", "credentials were cut out of it; --with-credentials puts them back"
    NOT_ASKED = "not_asked", "the file that it stands in was not asked for"
    NOWHERE = "not_in_a_file", "no file of the state holds it"
    NO_VALUE = "no_value", "it stands in a comment or a name, and values alone are merged"
    BOUND_CHANNEL = "bound_channel", "bound to the other machine; link the channel again"
    BOUND_GATEWAY = "bound_gateway", "bound to the other machine; the runtime makes a new one"
    NO_AGENT_KEY = "no_agent_key", "this home has no key that opens it"
    FOREIGN_SEALING = "foreign_sealing", "it was not sealed by this program"
    FOREIGN_PAYLOAD = "foreign_payload", "what is sealed in it is not for this program"
    NOT_IN_STATE = "not_in_state", "the state no longer holds its credential {id}"
    NOT_OPENED = "not_opened", "{problem}"
    # Deliveries
    COMMAND_FAILED = "command_failed", "{problem}"
    NOT_TRIED = "not_tried", "it was not tried: {reason}"


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
