"""AIMEM bundles as streams of lines (section 3.1), read and written."""

from __future__ import annotations

import gc
import io
import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_formats.aimem.wire import bundle_reading
from lifeboat_formats.aimem.wire.bundle_model import AimemBundle, BundleLimits, BundleRefused, Envelope
from lifeboat_formats.aimem.wire.bundle_writing import BundleWriter
from lifeboat_formats.aimem.wire.spools import NamesInMemory, NamesOnDisk, RecordSpool
from support.formats import aimem_bundles as made
from support.formats.aimem_bundles import ABSENT
from support.formats.aimem_states import open_bundle_bytes


def records(bundle: AimemBundle) -> dict[str, list[dict[str, Any]]]:
    return {name: list(bundle.array(name)) for name in made.ARRAYS}


def taken(data: bytes) -> dict[str, list[dict[str, Any]]]:
    with open_bundle_bytes(data) as bundle:
        return records(bundle)


def refused(data: bytes, limits: BundleLimits = bundle_reading.LIMITS) -> tuple[str, int]:
    with pytest.raises(BundleRefused) as caught, open_bundle_bytes(data, limits=limits):
        pass
    return caught.value.format_code, caught.value.status


def lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


def joined(found: list[Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in found)


def written(bundle: dict[str, Any]) -> bytes:
    """Return a bundle as the writer streams it."""
    head = {name: value for name, value in bundle.items() if name not in made.ARRAYS and name != "checksum"}
    with BundleWriter(Envelope(**head)) as writer:
        for name, add in zip(made.ARRAYS, (writer.chunk, writer.entity, writer.edge, writer.link), strict=True):
            for record in bundle[name]:
                add(record)
        out = io.BytesIO()
        assert writer.write_stream(out) == json.loads(out.getvalue().split(b"\n")[0])["checksum"]
    return out.getvalue()


def test_060_the_first_line_is_the_envelope_without_arrays() -> None:
    first, *rest = lines(written(made.sample()))
    assert not set(first) & set(made.ARRAYS)
    assert {"format", "version", "producer", "tenant_id", "exported_at", "scope", "checksum"} <= set(first)
    assert [line["_kind"] for line in rest] == ["chunk"] * 4 + ["entity"] * 3 + ["edge"] * 4 + ["chunk_entity"] * 3
    assert written(made.sample()).endswith(b"}\n")


def test_060_the_checksum_is_that_of_the_whole_document() -> None:
    first, *rest = lines(written(made.sample()))
    whole = {**first, **{name: [] for name in made.ARRAYS}}
    arrays = {kind: name for name, kind in made.ARRAYS.items()}
    for line in rest:
        whole[arrays[line.pop("_kind")]].append(line)
    assert made.checksum(whole) == first["checksum"]
    assert records(bundle_reading.parse_bundle(made.document(whole))) == taken(written(made.sample()))


def test_060_a_bundle_without_records_is_one_line() -> None:
    assert len(lines(written(made.bundle()))) == 1
    assert taken(written(made.bundle())) == {name: [] for name in made.ARRAYS}


def test_060_what_is_written_is_taken_as_it_was_given() -> None:
    sample = made.sample()
    found = taken(written(sample))
    complete = [{"content_hash": made.content_hash(chunk["content"]), **chunk} for chunk in sample["chunks"]]
    assert found == {**{name: sample[name] for name in made.ARRAYS}, "chunks": complete}


@pytest.mark.parametrize("what", [what for what in made.ODD if what != "no optional arrays"])
def test_061_a_stream_is_taken_like_the_document(what: str) -> None:
    document = bundle_reading.parse_bundle(made.document(made.ODD[what]))
    with open_bundle_bytes(made.stream(made.ODD[what])) as stream:
        assert records(stream) == records(document)
        assert (stream.envelope, stream.notices) == (document.envelope, document.notices)


@pytest.mark.parametrize("what", made.INVALID)
def test_061_a_stream_is_refused_like_the_document(what: str) -> None:
    bundle, code, status = made.INVALID[what]
    assert refused(made.stream(bundle)) == (code, status)


@settings(max_examples=30, deadline=None)
@given(st.integers())
def test_061_lines_come_in_any_order_of_kinds(seed: int) -> None:
    first, *rest = lines(made.stream(made.sample()))
    waiting = {kind: iter([line for line in rest if line["_kind"] == kind]) for kind in made.ARRAYS.values()}
    kinds = [line["_kind"] for line in rest]
    Random(seed).shuffle(kinds)
    found = taken(joined([first, *(next(waiting[kind]) for kind in kinds)]))
    assert found == {name: made.sample()[name] for name in made.ARRAYS}


def test_061_the_order_of_arrival_is_the_order_of_the_array() -> None:
    first, one, two, *rest = lines(made.stream(made.sample()))
    assert refused(joined([first, two, one, *rest])) == ("checksum_mismatch", 409)


def test_061_a_stream_that_ends_early_does_not_fit_its_checksum() -> None:
    whole = made.stream(made.sample())
    first = whole.index(b"\n") + 1
    cuts = [cut for cut in range(first, len(whole) - 1, 37) if whole[cut : cut + 1] != b"\n"]
    assert len(cuts) > 50
    assert {refused(whole[:cut]) for cut in [first, *cuts]} == {("checksum_mismatch", 409)}


def test_061_the_end_of_the_last_line_may_be_missing() -> None:
    whole = made.stream(made.sample())
    assert taken(whole[:-1]) == taken(whole)


@pytest.mark.parametrize("kind", ["chunks", "", "Chunk", None, 1, ["chunk"], {}, "envelope", ABSENT])
def test_061_a_line_of_another_kind_is_refused(kind: object) -> None:
    first, *rest = lines(made.stream(made.sample()))
    line = {"a": 1} if kind is ABSENT else {"_kind": kind}
    assert refused(joined([first, line, *rest])) == ("unknown_kind", 422)


@pytest.mark.parametrize("line", [b"[]", b"1", b"null", b'"chunk"'])
def test_061_a_line_that_is_no_object_is_refused(line: bytes) -> None:
    assert refused(made.stream(made.bundle()) + line + b"\n") == ("invalid_type", 422)


@pytest.mark.parametrize(
    ("line", "code"),
    [(b'{"_kind":"chunk","a":1,"a":2}', "malformed_json"), (b"{", "malformed_json"), (b"\xff", "malformed_json"),
     (b'{"_kind":"chunk","_kind":"edge"}', "malformed_json"), (b'{"_kind":"chunk","a":NaN}', "malformed_json"),
     (b'{"_kind":"chunk","a":1e400}', "not_canonicalizable"),
     (b'{"_kind":"edge","a":"\\ud800"}', "not_canonicalizable"),
     (b'{"_kind":"chunk","a":' + b"[" * 200 + b"]" * 200 + b"}", "nested_too_deep")],
)  # fmt: skip
def test_061_a_line_that_is_not_strict_json_is_refused(line: bytes, code: str) -> None:
    with (
        pytest.raises(BundleRefused) as caught,
        open_bundle_bytes(made.stream(made.bundle()) + line + b"\n"),
    ):
        pass
    assert (caught.value.format_code, caught.value.status, caught.value.where) == (code, 422, "line 2")


def test_061_nothing_is_seen_of_a_stream_before_its_checksum_fits() -> None:
    data = made.stream({**made.sample(), "checksum": "sha256:" + "0" * 64})
    seen = []
    with pytest.raises(BundleRefused), open_bundle_bytes(data) as bundle:
        seen.append(bundle)
    assert seen == []


@pytest.mark.parametrize("what", made.INVALID)
@pytest.mark.parametrize("form", [made.document, made.stream])
def test_065_a_bundle_is_there_whole_or_not_at_all(what: str, form: Any) -> None:
    wrong = made.INVALID[what][0]
    before = [made.chunk(f"before-{number}") for number in range(20)]
    bundle = {**wrong, "chunks": [*before, *wrong["chunks"]]}
    if made.INVALID[what][1] not in ("missing_checksum", "checksum_mismatch"):
        bundle = made.sealed(bundle)
    seen = []
    with pytest.raises(BundleRefused) as caught, open_bundle_bytes(form(bundle)) as found:
        seen.extend(found.chunks)
    assert seen == []
    assert caught.value.format_code == made.INVALID[what][1]


def test_065_a_source_that_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            raise ConnectionResetError("gone")

    whole = made.stream(made.sample())
    source = io.BufferedReader(_Joined(whole[: len(whole) // 2], Broken()))
    with pytest.raises(ConnectionResetError), bundle_reading.open_bundle(source, folder=tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_061_an_envelope_comes_before_everything_behind_it() -> None:
    assert refused(made.stream(made.bundle(scope="no")) + b"nonsense\n") == ("invalid_scope", 422)


def test_061_a_wrong_checksum_comes_before_wrong_records() -> None:
    bundle = made.with_chunk(memory_type="opinion")
    assert refused(made.stream(bundle)) == ("invalid_memory_type", 422)
    assert refused(made.stream({**bundle, "exported_at": "2026-06-12T10:00:01Z"})) == ("checksum_mismatch", 409)


def test_061_a_kind_is_no_member_of_a_record() -> None:
    assert all("_kind" not in record for found in taken(made.stream(made.sample())).values() for record in found)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n", b" \n\t\n"])
def test_061_empty_lines_and_other_line_ends_say_nothing(ending: bytes) -> None:
    whole = made.stream(made.sample())
    assert taken(whole.replace(b"\n", ending)) == taken(whole)


def test_061_a_byte_order_mark_is_left_out() -> None:
    assert taken(b"\xef\xbb\xbf" + made.stream(made.sample())) == taken(made.stream(made.sample()))


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_a_document_is_told_from_a_stream_by_what_it_holds(indent: int | None) -> None:
    data = json.dumps(made.sample(), indent=indent).encode()
    for ending in (b"", b"\n", b"\r\n \n"):
        assert taken(data + ending) == taken(made.stream(made.sample()))


def test_a_document_with_something_behind_it_is_no_stream() -> None:
    assert refused(made.document(made.sample()) + b"\n{}\n") == ("malformed_json", 422)


def test_a_first_line_over_a_mebibyte_begins_a_document() -> None:
    bundle = made.bundle(x_other="y" * (1 << 20))
    assert taken(made.document(bundle)) == {name: [] for name in made.ARRAYS}


class OneWay(io.RawIOBase):
    """A stream of pieces without seeking."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._inner = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._inner.read(min(7, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


@pytest.mark.parametrize("form", [made.document, made.stream])
def test_a_source_need_not_be_wound_back_and_stays_open(form: Any) -> None:
    source = io.BufferedReader(OneWay(form(made.sample())))
    with bundle_reading.open_bundle(source) as bundle:
        assert len(bundle.chunks) == 4
    assert not source.closed


@pytest.mark.parametrize("form", [made.document, made.stream])
def test_a_file_is_read_by_its_path(form: Any, tmp_path: Path) -> None:
    path = tmp_path / "sample"
    path.write_bytes(form(made.sample()))
    with bundle_reading.open_bundle(path) as bundle:
        assert records(bundle) == {name: made.sample()[name] for name in made.ARRAYS}


def test_temporary_files_are_gone_afterwards(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    with bundle_reading.open_bundle(io.BytesIO(made.stream(made.sample())), folder=tmp_path) as bundle:
        assert len(bundle.chunks) == 4
    with (
        pytest.raises(BundleRefused),
        bundle_reading.open_bundle(io.BytesIO(made.stream(made.sample())[:-40]), folder=tmp_path),
    ):
        pass
    with BundleWriter(Envelope("aimem-bundle", "1", made.PRODUCER, made.TENANT, made.WHEN, "FULL"), tmp_path) as writer:
        writer.chunk(made.chunk())
        writer.finish()
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert not before or len(os.listdir("/proc/self/fd")) <= before


def test_records_of_a_closed_stream_are_not_read() -> None:
    with open_bundle_bytes(made.stream(made.sample())) as bundle:
        pass
    with pytest.raises(ValueError):
        list(bundle.chunks)


def test_records_are_read_as_often_as_wanted_even_at_once() -> None:
    with open_bundle_bytes(made.stream(made.many(50))) as bundle:
        pairs = zip(bundle.chunks, bundle.chunks, strict=True)
        assert all(one == other for one, other in pairs)
        assert len(list(bundle.edges)) == len(bundle.edges) == 49


def test_lines_and_streams_over_their_limits_are_too_large() -> None:
    data = made.stream(made.sample())
    longest = max(map(len, data.split(b"\n"))) + 1
    assert refused(data, BundleLimits(line=longest - 1)) == ("too_large", 413)
    assert refused(data, BundleLimits(stream=len(data) - 1)) == ("too_large", 413)
    with open_bundle_bytes(data, limits=BundleLimits(line=longest, stream=len(data))) as bundle:
        assert len(bundle.chunks) == 4


@pytest.mark.parametrize("name", made.ARRAYS)
def test_more_records_than_a_reader_takes_are_too_many(name: str) -> None:
    few = BundleLimits(**{name: 2})
    assert refused(made.stream(made.sample()), few) == ("too_many", 413)


def test_a_stream_without_end_is_left_at_the_limit() -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    for head in (b"", made.stream(made.bundle())):
        source = io.BufferedReader(_Joined(head, Endless()))
        limits = BundleLimits(document=5_000_000, line=5_000_000, stream=5_000_000)
        with pytest.raises(BundleRefused) as caught, bundle_reading.open_bundle(source, limits=limits):
            pass
        assert caught.value.format_code == "too_large"


class _Joined(io.RawIOBase):
    def __init__(self, head: bytes, rest: io.RawIOBase) -> None:
        super().__init__()
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._head:
            return self._rest.readinto(buffer)  # type: ignore[attr-defined,no-any-return]
        piece, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)


def _pieces(count: int) -> Iterator[bytes]:
    """Yield a stream of `count` chunks and as many edges, never whole in memory."""
    envelope = Envelope("aimem-bundle", "1", made.PRODUCER, made.TENANT, made.WHEN, "FULL")
    with BundleWriter(envelope) as writer:
        for number in range(count):
            writer.chunk(made.chunk(f"c{number}", f"Memory number {number}. " + "It was a long day.\n" * 20))
            writer.edge(made.edge(f"c{number}", f"c{(number + 1) % count}"))
        yield from writer.stream_lines()


def _peak(count: int, path: Path) -> tuple[int, int]:
    """Return the peak memory of writing and reading, in bytes."""
    peaks = []
    tracemalloc.start()
    with path.open("wb") as out:
        for piece in _pieces(count):
            out.write(piece)
    peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.reset_peak()
    with bundle_reading.open_bundle(path) as bundle:
        assert sum(1 for _ in bundle.chunks) == count
    peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    return peaks[0], peaks[1]


def test_memory_stays_flat_while_a_bundle_grows(tmp_path: Path) -> None:
    few, many = _peak(500, tmp_path / "few"), _peak(4000, tmp_path / "many")
    assert (tmp_path / "many").stat().st_size > 3_000_000
    for small, large in zip(few, many, strict=True):
        assert large < small + 2_500_000


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"")), max_size=30))
def test_a_spool_gives_back_what_was_put_in(pieces: list[bytes]) -> None:
    with RecordSpool() as spool:
        for piece in pieces:
            spool.append(piece)
        assert list(spool.pieces()) == list(spool.pieces()) == pieces
        assert len(spool) == len(pieces)


def test_a_spool_gives_back_pieces_larger_than_what_it_reads_at_once() -> None:
    pieces = [bytes([65 + number]) * (300_000 * number) for number in range(5)]
    with RecordSpool() as spool:
        for piece in pieces:
            spool.append(piece)
        assert list(spool.pieces()) == pieces


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=40))
def test_names_on_disk_are_names_in_memory(names: list[str]) -> None:
    with NamesOnDisk() as disk:
        memory = NamesInMemory()
        for number, name in enumerate(names):
            assert (name in disk) == (name in memory)
            if number % 3:
                assert disk.add(name) == memory.add(name)
                assert name in disk
