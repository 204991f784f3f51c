"""Cut known secrets out of files, and seal what was cut for the user's key.

Each file has its own credentials (a secret in two files is two credentials), so that a change of one file never
requires opening what was sealed for another. Between captures, only keyed prints are kept: of each value, to find it in
other text, and of each sealed payload, to keep the ciphertext while nothing changed.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

from lifeboat_adapters.contract import Adapter, Installation
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.secrets import secret_cutting
from lifeboat_adapters.secrets.credential_payload import CredentialPayload, secret_spellings
from lifeboat_adapters.secrets.entropy import is_guessable
from lifeboat_adapters.secrets.file_secret_search import find_file_secrets
from lifeboat_adapters.secrets.secret_cutting import CutFile, CutSpan
from lifeboat_adapters.secrets.secret_finder import LEAST_KNOWN, KnownSecretMatch, KnownSecretSearch, replace_surrogates
from lifeboat_adapters.secrets.secret_masking import mask_spans
from lifeboat_adapters.secrets.secret_names import is_variable_name
from lifeboat_adapters.secrets.secret_prints import SecretPrints, shapes_in
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_shapes import as_list, as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.decoding.decoder import decode_layers
from lifeboat_alf.decoding.decoding_budget import DecodingBudget
from lifeboat_alf.decoding.sqlite_pages import HEADER
from lifeboat_alf.decoding.unread_forms import unread_words
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.states import entry_metas
from lifeboat_core.agents import withheld_items
from lifeboat_core.capture import secret_lookalikes
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.purge.keep_out import KeepOut
from lifeboat_core.state import state_documents
from lifeboat_keys.errors import KeysError
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.signed import credential_sealing
from lifeboat_vault.vault import Vault

MOST_SECRETS = 2000
DECISION = "secrets"
"""The vault's decision with the prints: {"credentials": {id: {"path", "value", "payload"}}, "values": {print: [service,
credential type, label, fields of a PrintShape]}, "matters": {path: [print, SHA-256 of the cut file]}}."""

EXPOSED = "exposed_secrets"
"""The vault's decision that names files which held a secret in plain text before it was known: {path: last such
sequence}.
"""

MACHINE_BOUND = "machine-bound"
"""Tag of a credential that is only restored on the machine it was captured on."""

RUNTIME_KEY = "needs-runtime-key"
"""Tag of a credential whose value is encrypted with a key of the runtime that could not be read."""

BY_LOOK = "known-by-look"
"""Tag of a credential that was cut because it looks like a secret."""

MOST_VALUES = 256
"""Values of one secret that are remembered, the newest ones."""

LARGEST_CUT = 4 << 20
"""Bytes. A larger compressed part with a known secret is reported and stays, because a sealed credential holds all of
it."""

HOLDS_SECRET = (
    "compressed data with a known secret, which Lifeboat does not remove because the compressed data is too large"
)

HOLDS_WORDS = "a database with a search index, which may contain words of a known secret"
_VIRTUAL_TABLE = re.compile(rb"create\s+virtual\s+table", re.IGNORECASE)

LONGEST_KNOWN = 4096
"""Characters. Longer values are not searched for: they are hardly ever copied into notes, and each search costs time.
"""


VERSION = 2
"""Version of the vault's decision. Since 2 it has no prints of values that can be guessed."""


def is_cut_for_look(document: JsonObject, name: str) -> bool:
    """Return whether this credential was cut for its look out of the file or row of this name."""
    label = str(document.get("label") or "")
    # Credentials sealed before the tag existed have only the label. Not cutting them would be a leak.
    is_by_look = BY_LOOK in as_list(document.get("tags")) or secret_lookalikes.has_former_label(document, label)
    return is_by_look and secret_lookalikes.is_label_of(label, name)


class CredentialKind(NamedTuple):
    """Service, type, label and properties of a credential."""

    service: str
    credential_type: str
    label: str
    expires_at: str | None = None
    bound: bool = False
    locked: bool = False
    by_look: bool = False


class Sealable(NamedTuple):
    """A secret of a file, and the value of the credential that it is or belongs to. `is_guessable`: no print of the
    value may be kept."""

    secret: FileSecret
    value: str
    is_guessable: bool


@dataclass(frozen=True, slots=True)
class CutDecisions:
    """What the vault knows of secrets. `memory` is its decision `secrets`. `gaps` are the paths of files that a restore
    wrote with placeholders. `cut_looks` are files and rows whose lookalikes are cut, `uncut_looks` those for which the
    user took that back."""

    memory: JsonObject
    gaps: frozenset[str] = frozenset()
    cut_looks: frozenset[str] = frozenset()
    uncut_looks: frozenset[str] = frozenset()

    @classmethod
    def of(cls, vault: Vault) -> CutDecisions:
        looks = (vault.get(name) or () for name in (secret_lookalikes.DECISION, secret_lookalikes.UNCUT))
        return cls(vault.get(DECISION) or {}, withheld_items.load_gap_paths(vault), *map(frozenset, looks))


class SecretCutter:
    """Cuts the secrets of one capture. `finish` puts the credentials into the overlay. `gaps` are the paths of files
    that still have placeholders."""

    def __init__(
        self,
        adapter: Adapter,
        installation: Installation,
        keys: HomeKeys,
        agent_id: str,
        overlay: Overlay,
        decided: CutDecisions,
        now: str,
        keep_out: KeepOut | None = None,
    ) -> None:
        self._adapter = adapter
        self._installation = installation
        self._keys = keys
        self._agent_id = agent_id
        self._overlay = overlay
        self._now = now
        self._keep_out = keep_out or KeepOut()
        self._decided, memory = decided, decided.memory
        self._credentials: dict[str, JsonObject] = dict(memory.get("credentials", {}))
        self._prints: dict[str, list[Any]] = dict(memory.get("values", {}))
        self._former = shapes_in(self._prints)
        self._matters: dict[str, list[str]] = dict(memory.get("matters", {}))
        self._values: dict[str, CredentialKind] = {}
        self._known: KnownSecretSearch | None = None
        self._documents = self._read_documents()
        self._unplaced = self._documents.keys() - self._credentials.keys()
        self._shut = self._find_shut()
        self.is_outdated = bool(self._credentials) and memory.get("version") != VERSION
        self._before = json_codec.encode_canonical(self.memory())
        self._print = SecretPrints(keys, agent_id)
        self.exposed: set[str] = set()
        self.unread: dict[str, str] = {}
        self.gaps: set[str] = set(decided.gaps)

    def memory(self) -> JsonObject:
        """Return what the next capture has to know."""
        known = {"version": VERSION, "credentials": self._credentials, "values": self._prints}
        return {**known, "matters": self._matters} if self._matters else known

    def changed_memory(self) -> JsonObject | None:
        """Return `memory`, None when it did not change."""
        return None if json_codec.encode_canonical(self.memory()) == self._before else self.memory()

    def _read_documents(self) -> dict[str, JsonObject]:
        document = state_documents.parse_document(self._overlay.old_body(archive_layout.CREDENTIALS))
        return {item["id"]: item for item in state_documents.list_credentials(document) if isinstance(item["id"], str)}

    def _find_shut(self) -> set[str]:
        """Return the credentials whose key this home has lost; none when its keys cannot be read."""
        try:
            return {one["id"] for one in self._keys.lost_pairs_of(self._agent_id, self._documents.values())}
        except (KeysError, SignatureError):
            return set()

    def secrets_in(self, path: str, data: bytes) -> list[FileSecret] | None:
        """Return the secrets that the adapter finds. Raises UnparsableSecrets, also for a file with more than
        `MOST_SECRETS`."""
        credentials, found = self._adapter.credentials, find_file_secrets(self._adapter, path, data)
        if self._cuts_looks(path):
            found = secret_lookalikes.add_chosen_secrets(path, data, found or ())
        if found is not None and len(found) > MOST_SECRETS:
            raise UnparsableSecrets(f"the file contains more than {MOST_SECRETS} secrets")
        if found and path in self.gaps:
            marks = [
                secret_cutting.placeholder_for(gap[secret_cutting.CREDENTIAL]).decode()
                for gap in self._gaps_in(path, data)
            ]
            found = [secret for secret in found if not any(mark in secret.value for mark in marks)]
        return credentials.decrypt(self._installation, found) if found and credentials is not None else found

    def cuts_looks_of_row(self, name: str) -> bool:
        """Return whether the user has lookalikes in a row cut."""
        return name in self._decided.cut_looks

    def _cuts_looks(self, path: str) -> bool:
        """Return whether lookalikes in a file are cut: the user said so here, or on another machine and did not take it
        back."""
        if path in self._decided.cut_looks or path in self._decided.uncut_looks:
            return path in self._decided.cut_looks
        old = self._overlay.old(path)
        ids = (
            [item.get(secret_cutting.CREDENTIAL) for item in old.meta.get(entry_metas.CUTS, ())]
            if old is not None
            else []
        )
        known = (self._documents[each] for each in ids if each in self._documents)
        return any(is_cut_for_look(document, path) for document in known)

    def learn(self, secrets: list[FileSecret]) -> bool:
        """Search for these values everywhere from now on; return whether one of them is new."""
        self.look_for(secrets)
        news = False
        for secret in filter(_is_looked_for, secrets):
            kind, value = self._discreet(_kind_of(secret)), _bytes_of(secret.value)
            if is_guessable(secret.value):
                news = True  # without a print it is unknown whether the value is new
                continue
            mark = self._print.of(value)
            if mark not in self._prints:
                news = True
                self._forget_oldest(kind)
            self._prints[mark] = [
                kind.service,
                kind.credential_type,
                kind.label,
                *self._print.shape_of(value).to_json(),
            ]
        return news

    def look_for(self, secrets: Iterable[FileSecret]) -> None:
        """Search for these values everywhere in this capture, also inside of words, where prints find none."""
        for secret in filter(_is_looked_for, secrets):
            # A copy in a note is restored with the note, on any machine and at any time.
            self._values.setdefault(secret.value, _kind_of(secret)._replace(expires_at=None, bound=False, locked=False))
            self._former.pop(self._print.of(_bytes_of(secret.value)), None)
            self._known = None

    @property
    def _search(self) -> KnownSecretSearch:
        self._known = self._known or KnownSecretSearch(self._values)
        return self._known

    def _forget_oldest(self, kind: CredentialKind) -> None:
        """Make room for another value of a secret, because a login can rotate every hour for years."""
        about = [kind.service, kind.credential_type, kind.label]
        marks = [mark for mark, known in self._prints.items() if known[:3] == about]
        for mark in marks[: max(len(marks) - MOST_VALUES + 1, 0)]:
            del self._prints[mark]
            self._former.pop(mark, None)

    def cut(
        self, path: str, data: bytes, secrets: list[FileSecret], *, may_differ: bool = True
    ) -> tuple[bytes, list[JsonObject]]:
        """Return the bytes that may be stored, and the list of cuts. The sealed credentials follow with `finish`.

        `may_differ` False: the caller knows that the file is unchanged since the last capture. Values that can be
        guessed have no print, so nothing else shows that for a file that holds only such values.
        """
        work = DecodingBudget.for_size(len(data))
        known = list(self.known_in(data, work))
        if known and HEADER in data and _VIRTUAL_TABLE.search(data):
            # a search index stores words separately and in lower case, so values are not found in it
            work.unread.add(HOLDS_WORDS)
        self.unread[path] = unread_words(data, work)
        return self._cut_found(path, data, _sealable([secret for secret in secrets if secret.value]), known, may_differ)

    def cut_known(
        self, path: str, data: bytes, known: list[KnownSecretMatch], *, exposed: bool
    ) -> tuple[bytes, list[JsonObject]]:
        """Cut values that were found before the bytes were put together, as `cut` does. `exposed`: the head has one of
        them in plain text."""
        if exposed:
            self.exposed.add(path)
        return self._cut_found(path, data, [], known)

    def _cut_found(
        self, path: str, data: bytes, own: list[Sealable], known: list[KnownSecretMatch], may_differ: bool = True
    ) -> tuple[bytes, list[JsonObject]]:
        gaps = self._gaps_in(path, data)
        if gaps and data == self._overlay.old_body(path):
            return data, (self._overlay.meta(path) or {})[entry_metas.CUTS]
        if not gaps:
            self.gaps.discard(path)
        if not own and not known and not gaps:
            self.release(path)
            return data, []
        if (known and self._stood_in_clear(path)) or self._looks_stood_in_clear(path, data, own):
            self.exposed.add(path)
        kinds = {value: self._discreet(_kind_of(secret)) for secret, value, _ in own}
        sealed_in = {secret.value: value for secret, value, _ in own}
        guessable = {value for _, value, is_weak in own if is_weak}
        guessable |= {found.value for found in known if found.value not in kinds and is_guessable(found.value)}
        for found in known:
            kinds.setdefault(sealed_in.setdefault(found.value, found.value), self._kind_of_known(found.value))
        chosen = self._choose(path, kinds, guessable, {gap[secret_cutting.CREDENTIAL] for gap in gaps})
        first = [secret_cutting.span_of_gap(data, gap) for gap in gaps]
        first += [secret_cutting.span_of_secret(data, secret, chosen[value]) for secret, value, _ in own]
        others = [secret_cutting.span_of_known(found, chosen[sealed_in[found.value]]) for found in known]
        parts = secret_cutting.with_literals(
            secret_cutting.cut_spans(data, secret_cutting.join_spans(first, _apart(others))), gaps
        )
        data, parts = self._without_purged(path, data, parts)
        spelled = secret_spellings(data, parts)
        payloads = {
            credential_id: CredentialPayload(value, {path: spelled[credential_id]})
            for value, credential_id in chosen.items()
            if credential_id in spelled
        }
        weak = {chosen[value] for value in guessable if chosen[value] in payloads}
        is_same = bool(weak) and self._is_same(path, parts, payloads.keys() - weak, payloads, may_differ=may_differ)
        for value, credential_id in chosen.items():
            if credential_id in weak:
                self._seal_unprinted(credential_id, kinds[value], payloads[credential_id], is_same=is_same)
            elif credential_id in payloads:
                self._seal(credential_id, kinds[value], payloads[credential_id])
        self._keep_only(path, set(spelled))
        return parts.data, parts.cuts

    def _gaps_in(self, path: str, data: bytes) -> list[JsonObject]:
        """Return where placeholders of the newest version are in a file that a restore wrote with them."""
        old = self._overlay.old(path) if path in self.gaps else None
        former = None if old is None else self._overlay.old_body(path)
        return (
            []
            if old is None or former is None
            else secret_cutting.find_placeholders(data, former, old.meta.get(entry_metas.CUTS, ()))
        )

    def _without_purged(self, path: str, data: bytes, parts: CutFile) -> tuple[bytes, CutFile]:
        """Remove purged text, which is known by its lines without secrets, so this follows the cut."""
        edits = self._keep_out.edits(path, parts.data) if self._keep_out else ()
        return secret_cutting.apply_edits_to_cut_file(parts, edits) if edits else (data, parts)

    def _stood_in_clear(self, path: str) -> bool:
        """Return whether the head has a known value of this file in plain text, because it became known since."""
        old = self._overlay.old_body(path)
        return old is not None and any(True for _ in self.known_in(old))

    def _looks_stood_in_clear(self, path: str, data: bytes, own: list[Sealable]) -> bool:
        """Return whether the head has in plain text what is cut for its look from now on."""
        looks = [data[one.secret.start : one.secret.end] for one in own if one.secret.by_look]
        old = self._overlay.old_body(path) if looks else None
        return old is not None and any(literal in old for literal in looks)

    def release(self, path: str) -> None:
        """Forget the credentials of a file that was removed or holds no secret any more."""
        self._matters.pop(path, None)
        self.gaps.discard(path)
        self._keep_only(path, set())

    def holds_what_matters(self, path: str, matters: bytes) -> bool:
        """Return whether the head has a version of a file in which everything that matters is the same."""
        old = self._overlay.old(path)
        if old is None or old.sha256 is None or self._matters.get(path) != self._version(matters, old.sha256):
            return False
        return not self._stood_in_clear(path)

    def note_what_matters(self, path: str, matters: bytes, cut: bytes) -> None:
        """Remember a captured version by its bytes after cutting. A version whose secrets can all be guessed is not
        remembered, because its print would reveal them."""
        held = [known["value"] for known in self._credentials.values() if known["path"] == path]
        if held and not any(held):
            self._matters.pop(path, None)
            return
        self._matters[path] = self._version(matters, hashlib.sha256(cut).hexdigest())

    def _version(self, matters: bytes, sha256: str) -> list[str]:
        """Return keyed prints, because a plain digest of a file would outlive a purge of its text."""
        return [self._print.of(matters), self._print.of(sha256.encode())]

    def holds_locked(self) -> bool:
        """Return whether a credential is sealed as the runtime encrypted it, because the runtime's key was missing."""
        return any(RUNTIME_KEY in as_list(document.get("tags")) for document in self._documents.values())

    def places(self) -> dict[str, str]:
        """Return the archive path of each credential that was cut, by id."""
        return {key: known["path"] for key, known in self._credentials.items()}

    def holders_of_shut(self) -> set[str]:
        """Return the files whose credentials were sealed to a lost key. Reading them again seals them to the present
        key."""
        return {known["path"] for key, known in self._credentials.items() if key in self._shut}

    def finish(self) -> None:
        """Put the credentials into the overlay."""
        data = self._overlay.old_body(archive_layout.CREDENTIALS)
        document = {"credentials": []} if data is None else json_codec.decode_json(data)
        document["credentials"] = [self._documents[key] for key in sorted(self._documents)]
        if document["credentials"] or data is not None:
            self._overlay.put(archive_layout.CREDENTIALS, {}, json_codec.encode_json(document))

    def _is_same(
        self,
        path: str,
        parts: CutFile,
        strong: Set[str],
        payloads: Mapping[str, CredentialPayload],
        *,
        may_differ: bool,
    ) -> bool:
        """Return whether a file, secrets included, is unchanged since the last capture. The print of a payload covers
        the digest of the whole file, so one value that cannot be guessed proves it; without one, the caller has to say.
        """
        if strong:
            prints = {key: self._print.of(payloads[key].encode()) for key in strong}
            return all(self._credentials[key]["payload"] == mark for key, mark in prints.items())
        old = self._overlay.meta(path) or {}
        return not may_differ and old.get(entry_metas.CUTS) == parts.cuts and self._overlay.old_body(path) == parts.data

    def _choose(
        self, path: str, values: dict[str, CredentialKind], guessable: Set[str], missing: set[str]
    ) -> dict[str, str]:
        """Return the credential id of each value in a file: its former one, that of the value it replaces, or a new
        one. Credentials that are `missing` keep theirs. A value that is `guessable` is matched by its name alone."""
        self._adopt(path)
        marks = {value: self._print.of(_bytes_of(f"{path}\n{value}")) for value in values if value not in guessable}
        known = {known["value"]: key for key, known in self._credentials.items() if known["path"] == path}
        chosen = {value: known[mark] for value, mark in marks.items() if mark in known}
        for value, kind in values.items():
            if value not in chosen:
                chosen[value] = self._replaced(path, kind, missing.union(chosen.values())) or ids.make_id(self._now)
            self._credentials.setdefault(chosen[value], {"path": path, "payload": ""})["value"] = marks.get(value, "")
        return chosen

    def _adopt(self, path: str) -> None:
        """Assign credentials from an archive to the file that they were cut out of, under their ids. Those of a file
        that was not written here stay as they came."""
        old = self._overlay.old(path) if self._unplaced else None
        for item in old.meta.get(entry_metas.CUTS, ()) if old is not None else ():
            if item[secret_cutting.CREDENTIAL] in self._unplaced:
                self._unplaced.discard(item[secret_cutting.CREDENTIAL])
                self._credentials[item[secret_cutting.CREDENTIAL]] = {"path": path, "payload": "", "value": ""}

    def _replaced(self, path: str, kind: CredentialKind, taken: set[str]) -> str | None:
        """Return the credential of the same name whose value is not in the file any more."""
        for key, known in self._credentials.items():
            document = self._documents.get(key)
            if known["path"] != path or key in taken or document is None:
                continue
            if (document["service"], document.get("label")) == (kind.service, kind.label):
                return key
        return None

    def _seal(self, credential_id: str, kind: CredentialKind, payload: CredentialPayload) -> None:
        mark = self._print.of(payload.encode())
        known = self._credentials[credential_id]
        old = self._documents.get(credential_id)
        if old is not None and known["payload"] == mark and credential_id not in self._shut:
            return
        rotated = old is not None and known.get("sealed_value") not in (None, known["value"])
        known.update(payload=mark, sealed_value=known["value"])
        self._documents[credential_id] = self._document(credential_id, kind, payload, old, rotated=rotated)

    def _seal_unprinted(
        self, credential_id: str, kind: CredentialKind, payload: CredentialPayload, *, is_same: bool
    ) -> None:
        """Seal a value without keeping a print, unless the file is unchanged."""
        old = self._documents.get(credential_id)
        known = self._credentials[credential_id]
        if old is None or not is_same or credential_id in self._shut:
            self._documents[credential_id] = self._document(credential_id, kind, payload, old, rotated=False)
        known.update(payload="", value="")
        known.pop("sealed_value", None)

    def _document(
        self,
        credential_id: str,
        kind: CredentialKind,
        payload: CredentialPayload,
        old: JsonObject | None,
        *,
        rotated: bool,
    ) -> JsonObject:
        sealed = credential_sealing.seal_credential(
            payload.encode(),
            agent_public=self._keys.agent_public(self._agent_id),
            agent_id=self._agent_id,
            credential_id=credential_id,
            service=kind.service,
            credential_type=kind.credential_type,
            key_id=self._keys.public.key_id,
        )
        fresh = {"id": credential_id, "agent_id": self._agent_id, "created_at": self._now}
        document = {**(old or fresh), "service": kind.service, "credential_type": kind.credential_type}
        document |= {"label": kind.label, **sealed, **self._binding(old or {}, kind)}
        if kind.expires_at is not None or "expires_at" in document:
            document["expires_at"] = kind.expires_at
        if old is not None:
            document["updated_at"] = self._now
        return document | ({"last_rotated_at": self._now} if rotated else {})

    def _binding(self, old: JsonObject, kind: CredentialKind) -> JsonObject:
        """Return the fields that say to which machine a credential is bound, or that its value is still encrypted. What
        other programs wrote into them stays."""
        tags = [tag for tag in as_list(old.get("tags")) if tag not in (MACHINE_BOUND, RUNTIME_KEY)]
        about = {name: value for name, value in as_object(old.get("x_lifeboat")).items() if name != "bound_to"}
        if kind.locked:
            tags.append(RUNTIME_KEY)
        if kind.by_look and BY_LOOK not in tags:
            tags.append(BY_LOOK)
        if kind.bound:
            tags.append(MACHINE_BOUND)
            about["bound_to"] = self._keys.device.id
        return {name: value for name, value in (("tags", tags), ("x_lifeboat", about)) if value or name in old}

    def _keep_only(self, path: str, used: set[str]) -> None:
        for key in [key for key, known in self._credentials.items() if known["path"] == path and key not in used]:
            del self._credentials[key]
            self._documents.pop(key, None)

    def _kind_of_known(self, value: str) -> CredentialKind:
        if value in self._values:
            return self._discreet(self._values[value])
        return CredentialKind(*self._prints[self._print.of(_bytes_of(value))][:3])

    def _discreet(self, kind: CredentialKind) -> CredentialKind:
        """Mask known values in service and label, which are stored in plain text and come from names that an agent may
        choose."""
        return kind._replace(service=self.without_values(kind.service), label=self.without_values(kind.label))

    def without_values(self, text: str) -> str:
        """Return a name as it may be stored in plain text, with `[secret]` in place of known values."""
        data = _bytes_of(text)
        return mask_spans(data, ((found.start, found.end) for found in self._search.spans(data))).decode(
            "utf-8", "replace"
        )

    def known_in(self, data: bytes, work: DecodingBudget | None = None) -> Iterator[KnownSecretMatch]:
        """Yield where known values are, also in encoded parts of the text. `work` collects what was not searched."""
        work = work or DecodingBudget.for_size(len(data))
        if not (self._values or self._prints):
            return
        yield from self._spelled_in(data)
        for reading in decode_layers(data, work):
            for found in self._spelled_in(reading.data):
                spans = reading.spans(found.start, found.end)
                if sum(end - start for start, end in spans) > LARGEST_CUT:
                    work.unread.add(HOLDS_SECRET)
                else:
                    yield from (KnownSecretMatch(start, end, found.value) for start, end in spans)

    def _spelled_in(self, data: bytes) -> Iterator[KnownSecretMatch]:
        """Yield the values of this capture, and as separate words those that only earlier captures read."""
        yield from self._search.spans(data)
        if self._former:
            yield from self._print.known_in(data, self._former)


def _is_looked_for(secret: FileSecret) -> bool:
    return LEAST_KNOWN <= len(secret.value) <= LONGEST_KNOWN and not is_variable_name(secret.value)


def _bytes_of(text: str) -> bytes:
    """Encode text. Bytes that are not UTF-8 come back unchanged; half a surrogate pair becomes `?`."""
    return replace_surrogates(text).encode("utf-8", "surrogateescape")


def _kind_of(secret: FileSecret) -> CredentialKind:
    kept = (secret.service, secret.credential_type, secret.label)
    return CredentialKind(*kept, secret.expires_at, secret.bound, secret.locked, secret.by_look)


def _sealable(secrets: list[FileSecret]) -> list[Sealable]:
    """Return secrets with the value of their credential: their own, or {member: value} of all in their group."""
    groups: dict[str, dict[str, str]] = {}
    for secret in secrets:
        if secret.group:
            groups.setdefault(secret.group, {})[secret.member] = secret.value
    joined = {name: json_codec.encode_canonical(members).decode() for name, members in groups.items()}
    said = {name: "".join(members.values()) for name, members in groups.items()}
    return [
        Sealable(secret, joined.get(secret.group, secret.value), is_guessable(said.get(secret.group, secret.value)))
        for secret in secrets
    ]


def _apart(spans: list[CutSpan]) -> list[CutSpan]:
    """Return the longest of spans that overlap; the others are part of it."""
    kept: list[CutSpan] = []
    for span in sorted(set(spans), key=lambda one: (one.start - one.end, one.start)):
        at = bisect_left(kept, span)
        before, after = kept[at - 1 : at] if at else [], kept[at : at + 1]
        if all(one.end <= span.start for one in before) and all(one.start >= span.end for one in after):
            kept.insert(at, span)
    return kept
