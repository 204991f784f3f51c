"""Changes of what a log holds already: files that take the place of others, new signatures, what nobody names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from lifeboat_alf.errors import SignatureError
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_alf.state import Sequence as Signed
from lifeboat_daemon.remotes.contract import Material
from lifeboat_daemon.remotes.sealed import bundles, compacting
from lifeboat_daemon.remotes.sealed.bundles import Shelf, name_of, size_of
from lifeboat_daemon.remotes.sealed.chain import Chain
from lifeboat_daemon.remotes.sealed.compacting import Make
from lifeboat_daemon.remotes.sealed.files import Files, HeadMoved
from lifeboat_daemon.remotes.sealed.head import Head, JsonObject, Row, row_of, with_signature
from lifeboat_daemon.remotes.sealed.heads import Heads
from lifeboat_daemon.remotes.sealed.inside import Inside
from lifeboat_endpoint.errors import RemoteRefused
from lifeboat_endpoint.remote.contract import Bundle, BundleKind
from lifeboat_keys import signing

_ORPHANED = 86400.0
"""Seconds after which a file that no head names is nobody's."""

Signers = dict[str, JsonObject]


class Rewriting:
    """Of the logs of one remote."""

    def __init__(self, files: Files, heads: Heads, inside: Inside, shelf: Shelf) -> None:
        self._files = files
        self._heads = heads
        self._inside = inside
        self._shelf = shelf

    def compact(self, agent_id: str, material: Material) -> bool:
        """See `SealedLog.compact`."""
        loaded = self._heads.load(agent_id)
        head, rows = loaded.head, self._inside.rows(loaded.head)
        wanted = compacting.plan(rows, material.gone(), material.numbers(), with_snapshot=compacting.is_due(head.grown))
        if wanted == rows:
            return True
        made, signers = self._made_rows(head, wanted, material, Chain(rows))
        grown = compacting.grown_of(made)
        changed = msgspec.structs.replace(self._inside.with_rows(head, made, signers), grown=grown)
        try:
            self._heads.replace(loaded, changed)
        except HeadMoved:
            return False
        self.sweep(agent_id)
        return True

    def _made_rows(
        self, head: Head, wanted: Sequence[Row | Make], material: Material, chain: Chain
    ) -> tuple[list[Row], Signers]:
        made, signers = list[Row](), head.signers
        for each in wanted:
            if isinstance(each, Make):
                row, signers = self._made_row(head, each, material, chain.row(each.number), signers)
                made.append(row)
            else:
                made.append(each)
        return made, signers

    def _made_row(
        self, head: Head, wanted: Make, material: Material, known: Row, signers: Signers
    ) -> tuple[Row, Signers]:
        with self._shelf.unnamed() as file:
            material.write(wanted.number, wanted.on, file)
            kind: BundleKind = "snapshot" if wanted.on is None else "delta"
            checked = bundles.check(Bundle(kind, wanted.number, wanted.on, file, size_of(file)), head.agent)
            if checked.sequence.digest.hex() != known.digest:
                raise RemoteRefused(f"sequence {wanted.number} is another state here than there")
            reached(Step.SEALED_FILE_WRITTEN)
            stored = self._shelf.keep(head.agent, name_of(checked), file)
        large = [self._inside.key(head).name_of(sha256) for sha256 in checked.large]
        row = row_of(checked.sequence, checked.on, known.writer, stored, large)
        return with_signature(row, checked.sequence.signature, signers)

    def put_signatures(self, agent_id: str, given: Mapping[int, JsonObject]) -> int:
        """See `Remote.put_signatures`. The user's key was replaced, so the log's key is wrapped for the new one."""
        taken: set[int] = set()

        def edit(head: Head) -> Head | None:
            before = self._inside.rows(head)
            taken.clear()
            taken.update({row.number for row in before} & given.keys())
            rows, signers = list[Row](), head.signers
            for row in before:
                made = row
                if row.number in given:
                    made, signers = _signed_again(head, row, given[row.number], signers)
                rows.append(made)
            if rows != before:
                return self._inside.with_rows(head, rows, signers)
            return head if self._heads.is_for_a_former_key(head) else None

        self._heads.change(agent_id, edit)
        return len(taken)

    def sweep(self, agent_id: str) -> int:
        """Remove files that no head has named for a day; how many. What other machines are writing is younger."""
        reached(Step.SEALED_SWEPT)
        loaded = self._heads.load(agent_id)
        named = self._inside.named(loaded.head)
        old = [
            file.name
            for file in self._files.names(agent_id)
            if file.name not in named and file.age is not None and file.age > _ORPHANED
        ]
        if not self._heads.is_current(loaded):
            return 0
        for name in old:
            self._files.remove(agent_id, name)
        return len(old)


def _signed_again(head: Head, row: Row, signature: JsonObject, signers: Signers) -> tuple[Row, Signers]:
    sequence = Signed(head.agent, row.number, row.base, row.epoch, row.time, bytes.fromhex(row.digest), signature)
    try:
        signing.verify(sequence, None)
    except SignatureError as error:
        raise RemoteRefused(f"the signature of sequence {row.number} does not hold: {error.message}") from error
    return with_signature(row, signature, signers)
