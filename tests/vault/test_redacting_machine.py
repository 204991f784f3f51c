"""In any order of captures, purges, thinning, resealing and copies, digests stay, purged content is nowhere, and
everything else is there byte for byte."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lifeboat_alf.common import json_codec
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import State
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.at_rest.sealer import PLAIN
from lifeboat_vault.errors import DraftInvalid
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, Retention, Vault, draft_of_state
from support.adapters.canary_scan import unpacked
from support.endpoint.sealed import new_sealer
from support.vault.redacted_vaults import DEVICE, TRUSTED, purge_of
from support.vault.vaults import START, commit, create, edit

SECRETS = (b"quiet-heron-4471", b"amber-kettle-9024", b"nine-marsh-3318")
PIECES = (*SECRETS, *(b"line %d of what anybody may read; " % number * 9 for number in range(4)))
NOTES = ("raw/openclaw/memory.md", "raw/openclaw/today.md")

Content = tuple[dict[str, bytes], dict[str, str]]
"""Bytes by path, texts of records by id."""

texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6)


class Purging(RuleBasedStateMachine):
    """One vault, copies of its newest state, and the expected content of each sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.number = itertools.count()
        self.digests: dict[int, bytes] = {}
        self.expected: dict[int, Content] = {}
        self.records: list[RecordPut] = []
        self.purged: list[bytes] = []

    @initialize(is_sealed=st.booleans())
    def begin(self, is_sealed: bool) -> None:
        self.sealer = new_sealer() if is_sealed else PLAIN
        self.vault = Vault.create(self.folder / "vault", AGENT_ID, sealer=self.sealer)

    def teardown(self) -> None:
        self.vault.close()
        shutil.rmtree(self.folder)

    # What happens -----------------------------------------------------------------------------------------------

    def _capture(self, entries: dict[str, bytes], records: list[RecordPut]) -> None:
        head = self.vault.head()
        before = ({}, {}) if head is None else self.expected[head.number]
        puts = {path: EntryPut({}, body) for path, body in entries.items()}
        time = START + timedelta(hours=next(self.number))
        made = commit(
            self.vault, Draft(puts, records), time, sign=lambda state: sequence_signatures.sign_sequence(state, DEVICE)
        )
        if made is not None:
            said = {put.id: json_codec.decode_json(put.line or b"")["content"] for put in records}
            self.digests[made.number] = made.digest
            self.expected[made.number] = ({**before[0], **entries}, {**before[1], **said})

    @rule(path=st.sampled_from(NOTES), pieces=texts)
    def write(self, path: str, pieces: list[bytes]) -> None:
        self._capture({path: b"\n".join(pieces) + b"\n"}, [])

    @rule(pieces=texts)
    def remember(self, pieces: list[bytes]) -> None:
        self.records.append(create(b" ".join(pieces).decode() + str(next(self.number))))
        self._capture({}, [self.records[-1]])

    @precondition(lambda self: bool(self.records))
    @rule(pieces=texts, data=st.data())
    def remember_otherwise(self, pieces: list[bytes], data: st.DataObject) -> None:
        """Also change a deleted record, whose id is used again."""
        old = data.draw(st.sampled_from(self.records))
        self._capture({}, [edit(old, content=b" ".join(pieces).decode())])

    @rule(secret=st.sampled_from(SECRETS), passage=st.booleans())
    def purge(self, secret: bytes, passage: bool) -> None:
        redaction = purge_of(self.vault, secret, passage=passage)
        assert self.vault.redact(redaction).swept and self.vault.remaining(redaction) == 0
        self.purged.append(secret)
        for number, (notes, said) in self.expected.items():
            kept = {name: text for name, text in said.items() if passage or secret.decode() not in text}
            cut = {name: text.replace(secret.decode(), "") for name, text in kept.items()}
            self.expected[number] = ({path: body.replace(secret, b"") for path, body in notes.items()}, cut)

    @rule(days=st.integers(1, 20))
    def thin(self, days: int) -> None:
        report = self.vault.thin(Retention(), START + timedelta(days=days))
        for number in report.dropped:
            del self.digests[number], self.expected[number]

    @rule(is_sealed=st.booleans())
    def reseal(self, is_sealed: bool) -> None:
        self.sealer = new_sealer() if is_sealed else PLAIN
        self.vault.reseal(self.sealer)

    @rule()
    def open_again(self) -> None:
        self.vault.close()
        self.vault = Vault.open(self.folder / "vault", sealer=self.sealer)
        assert self.vault.is_swept()

    @precondition(lambda self: bool(self.digests))
    @rule(order=st.randoms(use_true_random=False), first=st.booleans())
    def send(self, order: object, first: bool) -> None:
        """Push to a second copy that hears of the purges in any order; it refuses what it does not know."""
        state = self.vault.state()
        known = list(self.vault.redactions)
        order.shuffle(known)  # type: ignore[attr-defined]
        with Vault.create(self.folder / f"copy{next(self.number)}", AGENT_ID) as copy:
            if not first and any(not entry.leaf.salt for entry in state.entries()):
                with pytest.raises(DraftInvalid):
                    _accept(copy, state)
            for redaction in known:
                copy.redact(redaction)
            _accept(copy, state)
            assert _content(copy.state()) == self.expected[state.sequence.number]
            assert merkle.state_digest(copy.state()) == state.sequence.digest
            assert copy.verify(trusted=TRUSTED).findings == []

    # What holds --------------------------------------------------------------------------------------------------

    @invariant()
    def every_sequence_is_what_it_was(self) -> None:
        rows = self.vault.sequences()
        assert {row.number: row.digest for row in rows} == self.digests
        for row in rows:
            state = self.vault.state(row.number)
            assert merkle.state_digest(state) == row.digest
            assert _content(state) == self.expected[row.number]

    @invariant()
    def the_vault_is_whole(self) -> None:
        assert self.vault.verify(trusted=TRUSTED).findings == []

    @invariant()
    def what_was_purged_is_nowhere(self) -> None:
        """Except what was written again since."""
        said = {
            text
            for notes, records in self.expected.values()
            for text in (*notes.values(), *map(str.encode, records.values()))
        }
        nowhere = [secret for secret in self.purged if not any(secret in text for text in said)]
        for data in _everything_in(self.folder / "vault"):
            assert not [secret for secret in nowhere if secret in data]


def _accept(copy: Vault, state: State) -> None:
    copy.accept(state.sequence, draft_of_state(state), kind="push", writer="w", raw_time=START)


def _content(state: State) -> Content:
    said = {record.id: json_codec.decode_json(record.line)["content"] for record in state.records()}
    return {entry.path: state.body(entry.path) for entry in state.entries()}, said


def _everything_in(folder: Path) -> Iterator[bytes]:
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            yield data
            yield from (inner for _, inner in unpacked(data))


TestPurging = Purging.TestCase
TestPurging.settings = settings(max_examples=12, stateful_step_count=16, deadline=None)
