"""Put credentials back where they were cut out, by listed position and never by searching, and check the whole file."""

from __future__ import annotations

import json

from lifeboat_adapters.errors import AdapterError, BadPayload
from lifeboat_adapters.secrets import credential_payload
from lifeboat_adapters.secrets.credential_payload import CredentialPayload
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import State
from lifeboat_core.home.context import Context
from lifeboat_core.restore.left_out_reasons import LeftOutCode
from lifeboat_core.restore.wanted_contents import WantedFile
from lifeboat_core.state.state_documents import load_credentials
from lifeboat_keys.errors import NoAgentKey, UnknownSealing, UnsealError
from lifeboat_keys.home.home_keys import HomeKeys


class CredentialFiller:
    """Opens the credentials of one state. Every payload is opened once."""

    def __init__(self, credentials: dict[str, JsonObject], keys: HomeKeys) -> None:
        self._credentials = credentials
        self._keys = keys
        self._opened: dict[str, CredentialPayload] = {}

    @classmethod
    def open(cls, context: Context, state: State) -> CredentialFiller:
        """Return the filler of a state. Raises NoKey when the user's key is not on this machine."""
        keys = context.keys()
        keys.user_key()
        return cls(load_credentials(state), keys)

    def missing(self, wanted: WantedFile) -> list[str]:
        """Return the credentials that a file needs and the state does not hold."""
        return [cut["credential_id"] for cut in wanted.cuts if cut.get("credential_id") not in self._credentials]

    def unopenable(self, wanted: WantedFile) -> Reason | None:
        """Return why a credential that a file needs cannot be opened here, None when all can. Raises UnsealError for
        one that was tampered with."""
        for cut in wanted.cuts:
            reason = self.problem(str(cut.get("credential_id")))
            if reason:
                return reason
        return None

    def problem(self, credential_id: str) -> Reason | None:
        """Return why a credential of this state cannot be opened here, None when it can."""
        try:
            self._payload(credential_id)
        except NoAgentKey:
            return Reason(LeftOutCode.NO_AGENT_KEY)
        except UnknownSealing:
            return Reason(LeftOutCode.FOREIGN_SEALING)
        except BadPayload:
            return Reason(LeftOutCode.FOREIGN_PAYLOAD)
        return None

    def gap(self, wanted: WantedFile, body: bytes) -> Reason | None:
        """Return why a file stays without its credentials, also if they were tampered with; None when `fill` works."""
        try:
            if missing := self.missing(wanted):
                return Reason(LeftOutCode.NOT_IN_STATE, id=missing[0])
            if reason := self.unopenable(wanted):
                return reason
            self.fill(wanted, body)
        except (UnsealError, AdapterError) as error:
            return Reason(LeftOutCode.NOT_OPENED, problem=error.message)
        return None

    def fill(self, wanted: WantedFile, body: bytes) -> bytes:
        """Return the original bytes of a cut file, or the changed bytes with the credentials if the file was changed
        without them. Raises UnsealError, SecretsError."""
        was_changed = wanted.data is not None or any(entry_metas.LITERAL in cut for cut in wanted.cuts)
        is_whole = not was_changed and (wanted.entry is None or wanted.entry.sha256 is not None)
        return credential_payload.restore_whole_file(wanted.path, body, wanted.cuts, self._payload, is_whole=is_whole)

    def value(self, credential_id: str) -> str:
        """Return the value that the runtime reads. Raises what `problem` reports."""
        return self._payload(credential_id).value

    def values(self) -> list[str]:
        """Return the values opened so far, and the members of logins."""
        opened = [found.value for found in self._opened.values()]
        return opened + [member for value in opened for member in members_of(value).values()]

    def _payload(self, credential_id: str) -> CredentialPayload:
        found = self._opened.get(credential_id)
        if found is None:
            found = credential_payload.decode_payload(self._keys.open(self._credentials[credential_id]))
            self._opened[credential_id] = found
        return found


def members_of(value: str) -> dict[str, str]:
    """Return the members of a value that is a JSON object, by name. A single secret may be JSON too."""
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    found = document.items() if isinstance(document, dict) else ()
    return {name: member for name, member in found if isinstance(member, str)}
