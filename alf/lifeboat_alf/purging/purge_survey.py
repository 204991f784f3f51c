"""Find the records that a purge removes, and their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from lifeboat_alf.errors import PurgeError
from lifeboat_alf.purging import body_cuts, record_line_cuts
from lifeboat_alf.purging.purge_items import PurgeItem, PurgeOptions
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.purging.purged_texts import PurgedTexts
from lifeboat_alf.purging.record_kinship import RecordKinship

Items = Callable[[], Iterable[PurgeItem]]


@dataclass(frozen=True, slots=True)
class PurgeSurvey:
    """`gone`: ids of removed records. `alone`: ids of records removed without their chains, because they say the same
    and nothing else. `spared`: derived records that stay. `texts`: texts of removed records. `echoes`: texts of
    remaining records that contain one of those."""

    kinship: RecordKinship
    gone: frozenset[str]
    alone: frozenset[str]
    spared: frozenset[str]
    texts: PurgedTexts
    echoes: frozenset[str]

    @property
    def all_gone(self) -> frozenset[str]:
        return self.gone | self.alone


def survey_purge(items: Items, record_ids: Iterable[str], wanted: PurgeTerms, options: PurgeOptions) -> PurgeSurvey:
    """Find the records to remove. Raises PurgeError for an unknown id, and for more records than the options allow.

    A record whose every version says only what a purged one said is removed too: it is the same memory, captured twice.
    (Not with `only`.)
    """
    kinship, matched = _met(items, PurgeTerms() if options.passage else wanted)
    asked = dict.fromkeys(record_ids)
    for record_id in asked:
        if record_id not in kinship.known:
            raise PurgeError(
                f"no record has the id {record_id}; nothing was changed", fix="lifeboat records list AGENT"
            )
    gone, spared = kinship.closure(matched | set(asked), chains=not options.only, derived=options.derived)
    _check_number(len(gone), options)
    texts = _texts_of(items, gone)
    kept, echoes, twins = _echoes(items, gone, texts)
    if options.only:
        texts, twins = PurgedTexts(texts.by_id, frozenset(kept)), set[str]()
    _check_number(len(gone | twins), options)
    return PurgeSurvey(kinship, frozenset(gone), frozenset(twins), frozenset(spared), texts, frozenset(echoes))


def _check_number(number: int, options: PurgeOptions) -> None:
    if number > options.most_records:
        raise PurgeError(
            f"the purge would remove {number} records, more than the limit of {options.most_records}; use a longer "
            "text, or give the ids of the records"
        )


def record_lines(items: Items) -> Iterator[tuple[PurgeItem, str, str, bytes]]:
    """Yield (item, record id, partition, line) of every held version of every record."""
    for item in items():
        if item.record_id is None or item.partition is None:
            continue
        try:
            line = item.body()
        except KeyError:
            continue
        if line:
            yield item, item.record_id, item.partition, line


def _met(items: Items, wanted: PurgeTerms) -> tuple[RecordKinship, set[str]]:
    kinship, matched = RecordKinship(), set[str]()
    for _, record_id, partition, line in record_lines(items):
        kinship.add(record_id, line)
        if wanted and record_id not in matched and wanted.spans(partition, line):
            matched.add(record_id)
    return kinship, matched


def _texts_of(items: Items, gone: set[str]) -> PurgedTexts:
    said: dict[str, set[str]] = {}
    if gone:
        chosen = (item for item in items() if item.record_id in gone)
        for _, record_id, _, line in record_lines(lambda: chosen):
            if (content := record_line_cuts.read_line_content(line)).strip():
                said.setdefault(record_id, set()).add(content)
    return PurgedTexts({record_id: frozenset(texts) for record_id, texts in said.items()})


def _echoes(items: Items, gone: set[str], texts: PurgedTexts) -> tuple[set[str], set[str], set[str]]:
    """Of the remaining records, return the texts that contain a removed text, the ids of those records, and the ids of
    those that never say anything else."""
    kept, echoing, same, other = set[str](), set[str](), set[str](), set[str]()
    if not texts.long:
        return kept, echoing, same
    for _, record_id, partition, line in record_lines(items):
        if record_id in gone:
            continue
        is_echo = texts.stand_in(partition, line)
        if is_echo:
            echoing.add(record_id)
        if not (content := record_line_cuts.read_line_content(line)).strip():
            continue
        if not is_echo:
            other.add(record_id)
            continue
        kept.add(content)
        left = body_cuts.cut_body(partition, line, partial(texts.long.spans, partition))
        says_more = left is not None and record_line_cuts.read_line_content(left.body).strip()
        (other if says_more else same).add(record_id)
    return kept, echoing, same - other
