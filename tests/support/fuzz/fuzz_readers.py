"""Everything that reads bytes from outside, as targets for a fuzzer.

    python -m support.fuzz.fuzz_readers --seconds 60 [TARGET...]      coverage-guided, needs atheris (`make fuzz`)

A target takes any bytes and says whether they were good; a reader may raise what it promises, nothing else. A plain
test runs every target over its seeds and over mutations of them, so that the targets themselves cannot rot.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lifeboat_alf.testing.sample_states import MemoryState

Target = Callable[[bytes], bool]


def read_snapshot(data: bytes) -> bool:
    """Read a whole snapshot to the last body and the digest."""
    from lifeboat_alf.errors import LifeboatError
    from lifeboat_alf.snapshot import SnapshotReader

    try:
        with SnapshotReader(io.BytesIO(data)) as state:
            state.check()
    except LifeboatError:
        return False
    return True


def read_delta(data: bytes) -> bool:
    """Apply a delta to the snapshot that it was made for."""
    from lifeboat_alf.deltas.applied_state import AppliedState
    from lifeboat_alf.deltas.delta_reader import DeltaReader
    from lifeboat_alf.errors import LifeboatError
    from lifeboat_alf.snapshot import SnapshotReader

    try:
        with SnapshotReader(io.BytesIO(_snapshot())) as base, DeltaReader(io.BytesIO(data)) as delta:
            state = AppliedState(base, delta)
            for entry in state.entries():
                _body(state.body, entry.path)
            list(state.records())
    except LifeboatError:
        return False
    return True


def _body(read: Callable[[str], bytes], path: str) -> None:
    from lifeboat_alf.states.agent_state import BodyAbsent

    try:
        read(path)
    except BodyAbsent:
        return


def read_entries_of_a_snapshot(data: bytes) -> bool:
    """Read a valid ZIP in which one entry (chosen by the first byte) is arbitrary, to reach the code behind the
    container."""
    return read_snapshot(_with_entry(_snapshot(), data))


def read_entries_of_a_delta(data: bytes) -> bool:
    return read_delta(_with_entry(_delta(), data))


def read_spliced_archives(data: bytes) -> bool:
    """Read valid archives with a splice, also unsigned ones. What is read is written and read again."""
    from support.fuzz import fuzz_archive

    return fuzz_archive.one_input(data)


def read_a_listing(data: bytes) -> bool:
    """Read the answer of a WebDAV server in two pieces."""
    from lifeboat_core.remotes.webdav.webdav_listing import ListingReader
    from lifeboat_vault.errors import RemoteDamaged

    reader = ListingReader()
    try:
        for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
            reader.write(piece)
        entries = reader.finish()
    except RemoteDamaged:
        return False
    if any("/" in each.name or "/" in each.folder for each in entries):
        raise AssertionError("a name of a listing is a path")
    return True


def _scans(module: str) -> Target:
    """Check that a tokenizer's leaves are in order, do not overlap, and stay inside of the text."""

    def target(data: bytes) -> bool:
        from lifeboat_adapters.credential_types import UnparsableSecrets

        try:
            leaves = getattr(import_module(f"lifeboat_adapters.secrets.{module}_leaves"), f"scan_{module}")(data)
        except UnparsableSecrets:
            return False
        _check_spans([(leaf.start, leaf.end) for leaf in leaves], len(data))
        return True

    return target


def split_notes(data: bytes) -> bool:
    """Check that the joined sections of a note give the note."""
    from lifeboat_adapters.adapter_registry import load_adapter

    text = data.decode("utf-8", "replace")
    sections = load_adapter("openclaw").split("raw/openclaw/MEMORY.md", text)
    if sections is not None and "".join(section.content for section in sections) != text:
        raise AssertionError("the sections of a note are not the note")
    return True


def read_aicf(data: bytes) -> bool:
    """Read a file of any dialect: it is written unchanged, and each section is found alone as among all."""
    from lifeboat_formats.aicf.syntax.document import emit_document, find_section, parse_document
    from lifeboat_formats.aicf.syntax.file_checks import check_file
    from lifeboat_formats.interchange.errors import SourceRefused

    try:
        document = parse_document(data)
    except SourceRefused:
        return False
    if emit_document(document) != data:
        raise AssertionError("the parts of a file are not the file")
    for section in document.sections[:8]:
        if find_section(document.text, section.name, section.ident) != document.section(section.name, section.ident):
            raise AssertionError("a section alone is not what it is among all")
    check_file(document, strict=True)
    return True


def hear_an_instance_of_aionforge(data: bytes) -> bool:
    """Read what an instance sends, as text and as data: its records are JSON with unique ids."""
    from lifeboat_alf.common import json_codec
    from lifeboat_formats.aionforge import instance_export, nodes, text_form
    from lifeboat_formats.aionforge.text_form import UnreadableAnswer

    text, found, good = data.decode("utf-8", "replace"), [], True
    for read in (
        text_form.parse_created_id,
        text_form.parse_receipt,
        lambda said: text_form.parse_batch_receipts(said, 2),
    ):
        with contextlib.suppress(UnreadableAnswer):
            read(text)
    try:
        found = [nodes.node_from_text(each) for each in text_form.parse_memories(text)]
    except UnreadableAnswer:
        good = False
    with contextlib.suppress(UnreadableAnswer, ValueError, RecursionError):
        found.append(nodes.node_from_data(json.loads(text)))
    records = list(instance_export.records_of(found))
    if len({record["id"] for record in records}) != len({nodes.normal_id(node.id) for node in found}):
        raise AssertionError("two memories under one id")
    for record in records:
        json_codec.encode_canonical(record)
    return good


def clean(data: bytes) -> bool:
    """Check that no finding remains after cleaning, and that cleaning again finds nothing."""
    from lifeboat_formats.interchange.cleaning import Cleaner
    from lifeboat_formats.interchange.detectors import WordList

    text = data.decode("utf-8", "replace")
    words = WordList(["Ada Lovelace", "redacted"])
    clear = Cleaner(redacts=True, words=words).clean(text)
    again = Cleaner(redacts=True, words=words)
    if again.clean(clear) != clear or again.counts:
        raise AssertionError("something was found again")
    return True


def hear_on_the_control_socket(data: bytes) -> bool:
    """Read what the service receives from clients. Each line is a request or gets an answer with the reason."""
    from lifeboat_daemon.control import json_rpc
    from lifeboat_daemon.control.line_splitter import LineSplitter

    good = True
    for line in LineSplitter(json_rpc.LARGEST_REQUEST).feed(data):
        try:
            json_rpc.encode_answer(json_rpc.decode_request(line).id, {})
        except json_rpc.UnusableRequest as problem:
            good = False
            if not problem.answer.endswith(b"}\n"):
                raise AssertionError("an answer that is no line") from problem
    return good


def hear_from_the_service(data: bytes) -> bool:
    """Read what a client receives from the service or from another program in its place."""
    from lifeboat_core.errors import ServiceError
    from lifeboat_daemon.control.client_conversation import ClientConversation

    try:
        ClientConversation().take(data)
    except ServiceError:
        return False
    return True


def read_aimem(data: bytes) -> bool:
    """Read a document or a stream. Accepted input has the checksum that it names."""
    from lifeboat_formats.aimem.wire import bundle_reading
    from lifeboat_formats.aimem.wire.bundle_model import BundleRefused
    from lifeboat_formats.aimem.wire.checksum import digest_pieces

    try:
        with bundle_reading.open_bundle(io.BytesIO(data)) as bundle:
            if digest_pieces(bundle_reading.canonical_bundle_pieces(bundle)) != bundle.envelope.checksum:
                raise AssertionError("a bundle that is not what its checksum covers")
    except BundleRefused:
        return False
    return True


def decode_disguises(data: bytes) -> bool:
    """Check that decoding stays within the limits, and that every decoded part leads back to its bytes."""
    from lifeboat_alf.decoding.decoder import decode_layers
    from lifeboat_alf.decoding.decoding_budget import DecodingBudget

    work, decoded = DecodingBudget.for_size(len(data)), 0
    for reading in decode_layers(data, work):
        decoded += len(reading.data)
        size = len(reading.data)
        for start, end in ((0, size), (size // 2, size), (size // 3, size // 2)):
            spans = reading.spans(start, end)
            if not spans or not all(0 <= first <= last <= len(data) for first, last in spans):
                raise AssertionError(f"{start}..{end} of a reading is {spans} of {len(data)} bytes")
    if decoded > 3 * (DecodingBudget.for_size(len(data)).bytes_left - work.bytes_left) + 3 * len(data):
        raise AssertionError("more was decoded than was paid for")
    return decoded > 0


def _check_spans(spans: list[tuple[int, int]], length: int) -> None:
    last = 0
    for start, end in spans:
        if not last <= start <= end <= length:
            raise AssertionError(f"the span {start}..{end} after {last} in {length} bytes")
        last = end


@cache
def _agent() -> MemoryState:
    """Return an agent with data in every layer; a memory and some text were purged."""
    from lifeboat_alf.testing.sample_states import make_full_state, make_record
    from support.alf.random_states import cut, redaction

    state = make_full_state()
    gone, stays = state.add(make_record("The door opens with 492817.")), state.add(make_record("Sings."))
    state.put("raw/openclaw/door.md", b"It opens with 492817.\n", records=[gone.id, stays.id])
    leaf = state.entry("raw/openclaw/door.md").leaf
    leaves = {gone.leaf.digest: None, leaf.digest: cut(b"It opens with 492817.\n", 14, 20)}
    return state.redact(redaction(leaves, record_ids=(gone.id,)))


@cache
def _snapshot() -> bytes:
    from lifeboat_alf.snapshot import write_snapshot

    out = io.BytesIO()
    write_snapshot(_agent(), out)
    return out.getvalue()


@cache
def _delta() -> bytes:
    from lifeboat_alf.deltas.delta_writer import write_delta
    from lifeboat_alf.deltas.state_diff import diff_states
    from lifeboat_alf.testing.sample_states import make_record

    after = _agent().copy()
    after.add(make_record("One more."))
    after.put("raw/openclaw/MEMORY.md", b"Moved to Lisbon.\nLikes tea.\nOne more.\n")
    out = io.BytesIO()
    write_delta(diff_states(_agent(), after), out)
    return out.getvalue()


def _with_entry(archive: bytes, data: bytes) -> bytes:
    """Return the archive with one entry (chosen by the first byte) replaced by the remaining bytes, with matching
    checksums."""
    from support.alf import archive_files

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source", Path(folder) / "target"
        source.write_bytes(archive)
        names = sorted(set(archive_files.ArchiveFile(source).bodies) - {"manifest.json"})
        chosen = names[data[0] % len(names)] if data else names[0]
        return archive_files.edit(source, target, {chosen: data[1:]}).read_bytes()


TARGETS: dict[str, Target] = {
    "snapshot": read_snapshot,
    "snapshot-entries": read_entries_of_a_snapshot,
    "delta": read_delta,
    "delta-entries": read_entries_of_a_delta,
    "archive-splices": read_spliced_archives,
    "json5": _scans("json5"),
    "dotenv": _scans("dotenv"),
    "toml": _scans("toml"),
    "yaml": _scans("yaml"),
    "notes": split_notes,
    "aicf": read_aicf,
    "control": hear_on_the_control_socket,
    "control-answers": hear_from_the_service,
    "aimem": read_aimem,
    "aionforge": hear_an_instance_of_aionforge,
    "cleaning": clean,
    "decoding": decode_disguises,
    "webdav-listing": read_a_listing,
}


def seeds(name: str) -> list[bytes]:
    """Return valid initial input of a target."""
    if name == "snapshot":
        return [_snapshot()]
    if name == "delta":
        return [_delta()]
    if name == "archive-splices":
        from support.fuzz import fuzz_archive

        return fuzz_archive.SEEDS
    if name == "aimem":
        from support.formats import aimem_bundles

        return [form(aimem_bundles.sample()) for form in (aimem_bundles.document, aimem_bundles.stream)]
    if name == "decoding":
        from lifeboat_alf.decoding.decoder import decode_layers
        from support.disguises import DISGUISES, SECRET

        readable = (name for name in DISGUISES if any(decode_layers(DISGUISES[name](SECRET))))
        return [*(DISGUISES[name](SECRET) for name in readable), _database(SECRET)]
    if name.endswith("-entries"):
        return _entries(_snapshot() if name == "snapshot-entries" else _delta())
    return {
        "json5": [b"// note\n{ gateway: { auth: { token: '0123456789abcdef', }, }, \"n\": [1e3, +.5, 0x1f,], }\n"],
        "webdav-listing": [
            b'<d:multistatus xmlns:d="DAV:"><d:response><d:href>/boat/a%20b</d:href><d:propstat><d:prop>'
            b"<d:resourcetype><d:collection/></d:resourcetype><d:getcontentlength>4</d:getcontentlength></d:prop>"
            b"<d:status>HTTP/1.1 200</d:status></d:propstat></d:response></d:multistatus>"
        ],
        "dotenv": [b"# keys\nexport A='one two'\nB=\"three\\n\"\nC=four # five\n"],
        "toml": [
            b'# c\n[a.\'b\']\nc = """x\\u0061"""\nd = [1_0, {e.f = \'x\'}, 1979-05-27 07:32:00Z]\n[[g]]\nh = true\n'
        ],
        "yaml": [
            b"---\na: &x 'b' # c\nd:\n- |-\n  e\n- >\n  f\n\n  g\nh: {i: [j, \"k\\u0061\", *x], l: !!int 1}\n...\n"
        ],
        "notes": [b"# Memory\n\n## One\n\n- a\n- b\n\n```\n# not a heading\n```\n\n## Two\n\ntext [x|i=0.9] #tag\n"],
        "aicf": [
            b"1|@AICF_VERSION\n2|version=3.1\n3|\n4|@STATE:user\n5|user:a=b\\|c\n6|@INSIGHTS a|DATA|HIGH|LOW\n",
            b'@CONVERSATION:\nm1|2026-01-01T00:00:00Z|user|x\n\n@NOTES\nk="""a\nb"""\n@LINKS a->b|c\n',
            b"\\@MEMORY:semantic\\ncontent=a\\nimportance=0.4\n",
            b"@SCHEMA\nC#|T\n@DATA\n1|x\n@X\n- a: b\n@X_END\n",
            b'{"messages": [{"role": "user", "content": "x"}], "decisions": ["y"]}',
        ],
        "aionforge": [
            b'[search] hits=2\n<memory id="019a0000-0000-7000-8000-00000000cafe" kind="fact" trust="0.5" ns="agent:a"'
            b' at="2026-01-01T00:00:00Z[UTC]">a &lt; &amp;amp; c</memory>\n<memory id="x" kind="note">b\nc</memory>\n',
            b'{"id": "019a0000-0000-7000-8000-00000000cafe", "kind": "episode", "content": "x", "supersedes": "x",'
            b' "entities": [{"name": "A"}], "provenance": {"trust_at_write": 0.5}, "ingested_at": "2026-01-01T00:00Z"}',
            b"[batch_capture] items=2\n[capture] 019a0000-0000-7000-8000-00000000cafe verdict=new redactions=1\n"
            b"ERR_ITEM[1] ERR_EMPTY x\n",
        ],
        "cleaning": [
            b"ada@example.com, (212) 555-0123, +49 30 1234567, 123-45-6789, 4111 1111 1111 1111, phone: 030/1234567\n",
            b"Ada\nLovelace [redacted:email] redacted password: q7Zt9Xw2Kp4Rv8Lm lifeboat:allow\n",
        ],
        "control": [
            b'{"jsonrpc": "2.0", "id": 1, "method": "hello", "params": {"protocol": 1, "app": "x"}}\n'
            b'{"jsonrpc": "2.0", "id": "a", "method": "jobs"}\n{"jsonrpc": "2.0", "method": "reload", "params": {}}\n'
        ],
        "control-answers": [
            b'{"jsonrpc": "2.0", "id": 1, "result": {"protocol": 1}}\n'
            b'{"jsonrpc": "2.0", "method": "event", "params": {"event": "gone", "agent": "x"}}\n'
            b'{"jsonrpc": "2.0", "id": 2, "error": {"code": -32000, "message": "m", "data": {"code": "busy"}}}\n'
        ],
    }[name]


def _database(said: str) -> bytes:
    """Return a database with a row in several pages, and a deleted one."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        opened.execute("pragma page_size = 512")
        opened.execute("create table notes (id integer primary key, said)")
        opened.executemany("insert into notes (said) values (?)", [(said * 12,), ("x" * 900 + said * 9,)])
        opened.execute("delete from notes where id = 1")
        return opened.serialize()


def _entries(archive: bytes) -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        names = sorted(set(opened.namelist()) - {"manifest.json"})
        return [bytes([index]) + opened.read(name) for index, name in enumerate(names)]


def _fuzz(name: str, seconds: int, corpus: Path) -> None:
    """Give the process to libFuzzer, which ends it."""
    import atheris  # type: ignore[import-not-found]

    with atheris.instrument_imports(
        include=["lifeboat_alf", "lifeboat_adapters", "lifeboat_formats", "lifeboat_daemon.control"]
    ):
        for seed in seeds(name):
            TARGETS[name](seed)

    def target(data: bytes) -> None:
        TARGETS[name](data)

    for number, seed in enumerate(seeds(name)):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-timeout=60", "-rss_limit_mb=2048", str(corpus)], target)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz everything that reads bytes from outside.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all when none is named")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.corpus:
        _fuzz(chosen.targets[0], chosen.seconds, chosen.corpus)
    failed = []
    for name in chosen.targets or TARGETS:
        print(f"== {name}", flush=True)
        with tempfile.TemporaryDirectory(prefix="lifeboat-fuzz-") as folder:
            command = [sys.executable, "-m", "support.fuzz.fuzz_readers", name]
            command += ["--seconds", str(chosen.seconds), "--corpus", folder]
            failed += [name] if subprocess.run(command).returncode else []
    if failed:
        raise SystemExit(f"found something: {', '.join(failed)}")


if __name__ == "__main__":
    main()
