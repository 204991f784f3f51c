"""Cutting: no secret the agent is known to hold leaves a file in clear; what was cut is sealed for the user's key.

Each file has credentials of its own (a secret in two files is two), so that a change of one file never needs to open
what was sealed for another. What is remembered between captures is keyed prints: of each value, to find it again in
other text, and of each sealed payload, to keep the ciphertext while nothing changed.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from lifeboat_adapters.contract import Adapter, Installation
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.secrets import secret_cutting
from lifeboat_adapters.secrets.credential_payload import CredentialPayload, secret_spellings
from lifeboat_adapters.secrets.entropy import is_guessable
from lifeboat_adapters.secrets.secret_cutting import CutFile, CutSpan
from lifeboat_adapters.secrets.secret_finder import LEAST_KNOWN, KnownSecretMatch, KnownSecretSearch, replace_surrogates
from lifeboat_adapters.secrets.secret_masking import mask_spans
from lifeboat_adapters.secrets.secret_names import is_variable_name
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
from lifeboat_core.capture import secret_lookalikes
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.capture.secret_prints import SecretPrints, shapes_in
from lifeboat_core.purge.keep_out import KeepOut
from lifeboat_core.state import state_documents
from lifeboat_keys.errors import KeysError
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.signed import credential_sealing

MOST_SECRETS = 2000
DECISION = "secrets"
"""Where the vault keeps the prints: {"credentials": {id: {"path", "value", "payload"}}, "values": {print: [service,
credential type, label, what there is of a Shape]}, "matters": {path: [print, SHA-256 of the cut file]}}."""

EXPOSED = "exposed_secrets"
"""Where the vault keeps which files held a secret in clear before it was known to be one: {path: last such sequence}.
"""

MACHINE_BOUND = "machine-bound"
"""The tag of a credential that is only put back into the machine it was taken from."""

RUNTIME_KEY = "needs-runtime-key"
"""The tag of a credential whose value is encrypted with a key of the runtime's that could not be read."""

BY_LOOK = "known-by-look"
"""The tag of a credential that was cut because it looks like a secret."""

MOST_VALUES = 256
"""Values of one secret that are remembered, the newest ones."""

LARGEST_CUT = 4 << 20
"""Bytes. A larger compressed part with a known secret in it is named and stays: a sealed credential holds all of it."""

HOLDS_SECRET = "a known secret in a compressed part that is too large to be cut out"

HOLDS_WORDS = "a search index in the database, which may hold words of a known secret"
_VIRTUAL_TABLE = re.compile(rb"create\s+virtual\s+table", re.IGNORECASE)

LONGEST_KNOWN = 4096
"""Characters. Nobody copies more of a secret into a note, and every file is searched for every known value."""


VERSION = 2
"""Of what the vault keeps: since 2 without prints of values that can be guessed."""


def is_cut_for_look(document: JsonObject, name: str) -> bool:
    """Return whether this credential was cut for its look out of the file or row of this name."""
    label = str(document.get("label") or "")
    # Only the label tells of one that was sealed before there was the tag: in clear it would be a leak.
    is_by_look = BY_LOOK in as_list(document.get("tags")) or secret_lookalikes.has_former_label(document, label)
    return is_by_look and secret_lookalikes.is_label_of(label, name)


class CredentialKind(NamedTuple):
    """What a credential is for."""

    service: str
    credential_type: str
    label: str
    expires_at: str | None = None
    bound: bool = False
    locked: bool = False
    by_look: bool = False


class Sealable(NamedTuple):
    """A secret of a file, and the value of the credential that it is, or is a part of. `is_guessable` says that no
    print of the value may be kept."""

    secret: FileSecret
    value: str
    is_guessable: bool


class SecretCutter:
    """One capture's work on secrets. `memory` is the vault's decision `secrets`; `finish` gives the new one. `gaps` are
    the paths of files that a restore wrote with placeholders, and those that still have some afterwards; `cut_looks`
    are the files and rows of which what looks like a secret is cut, `uncut_looks` those of which it no longer is."""

    def __init__(
        self,
        adapter: Adapter,
        installation: Installation,
        keys: HomeKeys,
        agent_id: str,
        overlay: Overlay,
        memory: Any,
        now: str,
        keep_out: KeepOut | None = None,
        gaps: frozenset[str] = frozenset(),
        cut_looks: Iterable[str] | None = None,
        uncut_looks: Iterable[str] | None = None,
    ) -> None:
        self._adapter = adapter
        self._installation = installation
        self._keys = keys
        self._agent_id = agent_id
        self._overlay = overlay
        self._now = now
        self._keep_out = keep_out or KeepOut()
        self._cut_looks = frozenset(cut_looks or ())
        self._uncut_looks = frozenset(uncut_looks or ())
        self._credentials: dict[str, JsonObject] = dict((memory or {}).get("credentials", {}))
        self._prints: dict[str, list[Any]] = dict((memory or {}).get("values", {}))
        self._former = shapes_in(self._prints)
        self._matters: dict[str, list[str]] = dict((memory or {}).get("matters", {}))
        self._values: dict[str, CredentialKind] = {}
        self._known: KnownSecretSearch | None = None
        self._documents = self._read_documents()
        self._unplaced = self._documents.keys() - self._credentials.keys()
        self._shut = self._find_shut()
        self.is_outdated = bool(self._credentials) and (memory or {}).get("version") != VERSION
        self._before = json_codec.encode_canonical(self.memory())
        self._print = SecretPrints(keys, agent_id)
        self.exposed: set[str] = set()
        self.unread: dict[str, str] = {}
        self.gaps: set[str] = set(gaps)

    def memory(self) -> JsonObject:
        """What the next capture has to know."""
        known = {"version": VERSION, "credentials": self._credentials, "values": self._prints}
        return {**known, "matters": self._matters} if self._matters else known

    def changed_memory(self) -> JsonObject | None:
        """`memory`, None when it is what it was."""
        return None if json_codec.encode_canonical(self.memory()) == self._before else self.memory()

    def _read_documents(self) -> dict[str, JsonObject]:
        document = state_documents.parse_document(self._overlay.old_body(archive_layout.CREDENTIALS))
        return {item["id"]: item for item in state_documents.list_credentials(document) if isinstance(item["id"], str)}

    def _find_shut(self) -> set[str]:
        """Return the credentials whose key this home has lost; none where its keys cannot be read."""
        try:
            return {one["id"] for one in self._keys.lost_pairs_of(self._agent_id, self._documents.values())}
        except (KeysError, SignatureError):
            return set()

    def secrets_in(self, path: str, data: bytes) -> list[FileSecret] | None:
        """What the adapter finds. Raises UnparsableSecrets, also for a file with more secrets than anybody has."""
        credentials = self._adapter.credentials
        found = credentials.find(path, data) if credentials is not None else None
        if self._cuts_looks(path):
            found = secret_lookalikes.add_chosen_secrets(path, data, found or ())
        if found is not None and len(found) > MOST_SECRETS:
            raise UnparsableSecrets(f"more than {MOST_SECRETS} secrets in one file")
        if found and path in self.gaps:
            marks = [
                secret_cutting.placeholder_for(gap[secret_cutting.CREDENTIAL]).decode()
                for gap in self._gaps_in(path, data)
            ]
            found = [secret for secret in found if not any(mark in secret.value for mark in marks)]
        return credentials.decrypt(self._installation, found) if found and credentials is not None else found

    def cuts_looks_of_row(self, name: str) -> bool:
        """Whether the user said that what looks like a secret is cut out of a row."""
        return name in self._cut_looks

    def _cuts_looks(self, path: str) -> bool:
        """Whether what looks like a secret is cut out of a file: the user said so here, or where it was captured
        before and the user did not take it back."""
        if path in self._cut_looks or path in self._uncut_looks:
            return path in self._cut_looks
        old = self._overlay.old(path)
        ids = (
            [item.get(secret_cutting.CREDENTIAL) for item in old.meta.get(entry_metas.CUTS, ())]
            if old is not None
            else []
        )
        known = (self._documents[each] for each in ids if each in self._documents)
        return any(is_cut_for_look(document, path) for document in known)

    def learn(self, secrets: list[FileSecret]) -> bool:
        """Look for these values everywhere from now on; True when one of them was not known before."""
        self.look_for(secrets)
        news = False
        for secret in filter(_is_looked_for, secrets):
            kind, value = self._discreet(_kind_of(secret)), _bytes_of(secret.value)
            if is_guessable(secret.value):
                news = True  # without a print nothing says that it was known before
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
        """Look for these values everywhere in this capture, also inside of words, where a print finds none."""
        for secret in filter(_is_looked_for, secrets):
            # A copy in a note expires with the note, and is restored wherever the note is.
            self._values.setdefault(secret.value, _kind_of(secret)._replace(expires_at=None, bound=False, locked=False))
            self._former.pop(self._print.of(_bytes_of(secret.value)), None)
            self._known = None

    @property
    def _search(self) -> KnownSecretSearch:
        self._known = self._known or KnownSecretSearch(self._values)
        return self._known

    def _forget_oldest(self, kind: CredentialKind) -> None:
        """Make room for another value of a secret: a login rotates every hour, for years."""
        about = [kind.service, kind.credential_type, kind.label]
        marks = [mark for mark, known in self._prints.items() if known[:3] == about]
        for mark in marks[: max(len(marks) - MOST_VALUES + 1, 0)]:
            del self._prints[mark]
            self._former.pop(mark, None)

    def cut(
        self, path: str, data: bytes, secrets: list[FileSecret], *, may_differ: bool = True
    ) -> tuple[bytes, list[JsonObject]]:
        """The bytes that may be kept, and the list of cuts. The sealed credentials follow with `finish`.

        `may_differ` False: the caller knows that the file is the one of the last capture. Of values that can be guessed
        no print is kept, so that nothing else tells it where a file holds no other ones.
        """
        work = DecodingBudget.for_size(len(data))
        known = list(self.known_in(data, work))
        if known and HEADER in data and _VIRTUAL_TABLE.search(data):
            work.unread.add(HOLDS_WORDS)  # it keeps the words of a text apart, sorted and in small letters
        self.unread[path] = unread_words(data, work)
        return self._cut_found(path, data, _sealable([secret for secret in secrets if secret.value]), known, may_differ)

    def cut_known(
        self, path: str, data: bytes, known: list[KnownSecretMatch], *, exposed: bool
    ) -> tuple[bytes, list[JsonObject]]:
        """As `cut`, of values that were found before the bytes were put together; `exposed` says that one of them
        stands in clear in the head."""
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
        """Where placeholders of the newest version stand in a file that a restore wrote with them."""
        old = self._overlay.old(path) if path in self.gaps else None
        former = None if old is None else self._overlay.old_body(path)
        return (
            []
            if old is None or former is None
            else secret_cutting.find_placeholders(data, former, old.meta.get(entry_metas.CUTS, ()))
        )

    def _without_purged(self, path: str, data: bytes, parts: CutFile) -> tuple[bytes, CutFile]:
        """What was purged was known by its line as it was kept, without the secrets in it."""
        edits = self._keep_out.edits(path, parts.data) if self._keep_out else ()
        return secret_cutting.apply_edits_to_cut_file(parts, edits) if edits else (data, parts)

    def _stood_in_clear(self, path: str) -> bool:
        """Whether the head has a known value in this file: it became known since."""
        old = self._overlay.old_body(path)
        return old is not None and any(True for _ in self.known_in(old))

    def _looks_stood_in_clear(self, path: str, data: bytes, own: list[Sealable]) -> bool:
        """Whether the head has in clear what is cut for its look from now on."""
        looks = [data[one.secret.start : one.secret.end] for one in own if one.secret.by_look]
        old = self._overlay.old_body(path) if looks else None
        return old is not None and any(literal in old for literal in looks)

    def release(self, path: str) -> None:
        """The file is gone, or holds no secret any more."""
        self._matters.pop(path, None)
        self.gaps.discard(path)
        self._keep_only(path, set())

    def holds_what_matters(self, path: str, matters: bytes) -> bool:
        """Whether the head has a version of a file in which everything that matters is the same."""
        old = self._overlay.old(path)
        if old is None or old.sha256 is None or self._matters.get(path) != self._version(matters, old.sha256):
            return False
        return not self._stood_in_clear(path)

    def note_what_matters(self, path: str, matters: bytes, cut: bytes) -> None:
        """Remember a version that is captured now, by its bytes after they were cut; not one whose secrets can all be
        guessed, for then its print tells them."""
        held = [known["value"] for known in self._credentials.values() if known["path"] == path]
        if held and not any(held):
            self._matters.pop(path, None)
            return
        self._matters[path] = self._version(matters, hashlib.sha256(cut).hexdigest())

    def _version(self, matters: bytes, sha256: str) -> list[str]:
        """Prints alone: a plain digest of a file would outlive a purge of what stood in it."""
        return [self._print.of(matters), self._print.of(sha256.encode())]

    def holds_locked(self) -> bool:
        """Whether a credential is sealed as the runtime encrypted it, because the runtime's key was not there."""
        return any(RUNTIME_KEY in as_list(document.get("tags")) for document in self._documents.values())

    def places(self) -> dict[str, str]:
        """The archive path of each credential that was cut, by id."""
        return {key: known["path"] for key, known in self._credentials.items()}

    def holders_of_shut(self) -> set[str]:
        """The archive paths of files whose credentials were sealed to a key that was lost: read again, they are sealed
        to the key that there is."""
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
        """Whether a file is the one of the last capture, secrets included. The print of a payload holds the digest of
        the whole file, so a value that cannot be guessed tells it; where there is none, the caller does."""
        if strong:
            prints = {key: self._print.of(payloads[key].encode()) for key in strong}
            return all(self._credentials[key]["payload"] == mark for key, mark in prints.items())
        old = self._overlay.meta(path) or {}
        return not may_differ and old.get(entry_metas.CUTS) == parts.cuts and self._overlay.old_body(path) == parts.data

    def _choose(
        self, path: str, values: dict[str, CredentialKind], guessable: Set[str], missing: set[str]
    ) -> dict[str, str]:
        """The credential id of each value in a file: the one it had, that of the value it replaces, or a new one.
        Those that are `missing` keep theirs. One that is `guessable` is known by its name alone."""
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
        """Credentials that came with an archive belong to the file they were cut out of, and keep their ids. Those of a
        file that was not written here stay as they came."""
        old = self._overlay.old(path) if self._unplaced else None
        for item in old.meta.get(entry_metas.CUTS, ()) if old is not None else ():
            if item[secret_cutting.CREDENTIAL] in self._unplaced:
                self._unplaced.discard(item[secret_cutting.CREDENTIAL])
                self._credentials[item[secret_cutting.CREDENTIAL]] = {"path": path, "payload": "", "value": ""}

    def _replaced(self, path: str, kind: CredentialKind, taken: set[str]) -> str | None:
        """The credential of the same name whose value stands in the file no more."""
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
        """Seal a value of which no print is kept, unless the file is the same as before."""
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
        """The fields that say of which machine a credential is, or that its value is still encrypted; what others wrote
        into them stays."""
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
        """What a credential is called stands in clear, and comes from names that anybody may have given."""
        return kind._replace(service=self.without_values(kind.service), label=self.without_values(kind.label))

    def without_values(self, text: str) -> str:
        """A name as it may stand in clear: `[secret]` in the place of known values."""
        data = _bytes_of(text)
        return mask_spans(data, ((found.start, found.end) for found in self._search.spans(data))).decode(
            "utf-8", "replace"
        )

    def known_in(self, data: bytes, work: DecodingBudget | None = None) -> Iterator[KnownSecretMatch]:
        """Where known values stand, also in what an encoded part of the text says. `work` then names what was not
        looked into."""
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
        """Values of this capture, and those that only earlier ones read, as words of their own."""
        yield from self._search.spans(data)
        if self._former:
            yield from self._print.known_in(data, self._former)


def _is_looked_for(secret: FileSecret) -> bool:
    return LEAST_KNOWN <= len(secret.value) <= LONGEST_KNOWN and not is_variable_name(secret.value)


def _bytes_of(text: str) -> bytes:
    """Bytes that are no UTF-8 come back as they were; half a surrogate pair becomes `?`."""
    return replace_surrogates(text).encode("utf-8", "surrogateescape")


def _kind_of(secret: FileSecret) -> CredentialKind:
    kept = (secret.service, secret.credential_type, secret.label)
    return CredentialKind(*kept, secret.expires_at, secret.bound, secret.locked, secret.by_look)


def _sealable(secrets: list[FileSecret]) -> list[Sealable]:
    """Secrets with what their credential holds: their own value, or {member: value} of all in their group."""
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
    """Of spans that overlap, the longest: the others are part of it."""
    kept: list[CutSpan] = []
    for span in sorted(set(spans), key=lambda one: (one.start - one.end, one.start)):
        at = bisect_left(kept, span)
        before, after = kept[at - 1 : at] if at else [], kept[at : at + 1]
        if all(one.end <= span.start for one in before) and all(one.start >= span.end for one in after):
            kept.insert(at, span)
    return kept
