"""AIMEM bundles as a format for conversions: reads bundles as memories and writes memories as bundles."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lifeboat_adapters.item_fates import ItemFate
from lifeboat_alf.common import ids
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.convert import bundle_export, bundle_import
from lifeboat_formats.aimem.convert.bundle_import import BundleImport
from lifeboat_formats.aimem.convert.bundle_options import ConsumerOptions, ExistingMemories, ProducerOptions
from lifeboat_formats.aimem.convert.existing_memories import ORPHANS
from lifeboat_formats.aimem.convert.link_index import LinkIndex
from lifeboat_formats.aimem.wire import bundle_reading, bundle_signatures
from lifeboat_formats.aimem.wire.bundle_model import FORMAT as NAME
from lifeboat_formats.aimem.wire.bundle_model import FULL, LEGACY_FORMAT, SCOPES, AimemBundle, BundleRefused
from lifeboat_formats.interchange import cleaning
from lifeboat_formats.interchange.cleaning import Cleaner
from lifeboat_formats.interchange.contract import (
    ConversionContext,
    Format,
    FormatFinding,
    FormatNotice,
    FormatOption,
    FormatReading,
    FormatWriteResult,
    MappingTable,
    OptionKind,
    Options,
    WriterIdentity,
)
from lifeboat_formats.interchange.errors import InterchangeError, SourceRefused

DOCUMENT, STREAM = ".aimem.json", ".aimem.ndjson"
_RAW = "raw/aimem/"
_KEPT = 256 << 20
"""Largest source in bytes that is stored beside its memories."""
_BLOCK = 1 << 20

SALVAGE = "salvage"
OPTIONS = (
    FormatOption(
        "scope",
        "memories to export: FULL, DNA_ONLY (protected), SINCE (recent)",
        OptionKind.CHOICE,
        SCOPES,
        FULL,
        writes=True,
    ),
    FormatOption(
        "since",
        "the earliest time for SINCE, such as 2026-04-01T09:30:00Z",
        OptionKind.TEXT,
        writes=True,
    ),
    FormatOption("closure", "with SINCE: also the memories that edges point to", writes=True),
    FormatOption("include-embeddings", "include embeddings (vectors), from which texts can be guessed", writes=True),
    FormatOption(
        "embedding-model",
        "the embedding model to export, if there are several",
        OptionKind.TEXT,
        writes=True,
    ),
    FormatOption("include-history", "include superseded and archived memories", writes=True),
    FormatOption("include-identity", "include the texts of the agent's identity as memories", writes=True),
    FormatOption("preserve-ids", "keep the ids of memories that another program exported", writes=True),
    FormatOption("pure", "write no Lifeboat extension; fields unknown to AIMEM are lost", writes=True),
    FormatOption("tenant", "the tenant of the memories: a UUID or a URI", OptionKind.TEXT, writes=True),
    FormatOption("stream", "write lines of JSON (a stream) instead of one document", writes=True),
    FormatOption("sign", "sign with your key; write the signature to TARGET.sig", writes=True),
    FormatOption(SALVAGE, "read only the valid records of a damaged bundle", reads=True),
    FormatOption("signature", "the signature file, if it is not SOURCE.sig", OptionKind.FILE, reads=True),
    FormatOption(
        "trusted-key",
        "file with the public keys you trust (COSE_Key or COSE_KeySet)",
        OptionKind.FILE,
        reads=True,
    ),
    *cleaning.OPTIONS,
)


class AimemFormat(Format):
    """Implementation of `contract.Format` for AIMEM bundles, documents and streams."""

    name = "aimem"
    title = "AIMEM bundle"
    suffixes = (DOCUMENT, STREAM)
    options = OPTIONS

    def recognises(self, source: str, head: bytes) -> bool:
        if source.lower().endswith(self.suffixes):
            return True
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        return start.startswith(b"{") and any(f'"{name}"'.encode() in head for name in (NAME, LEGACY_FORMAT))

    @contextmanager
    def read(self, source: str, options: Options, around: ConversionContext) -> Iterator[FormatReading]:
        path = Path(source)
        with _refusing(path), bundle_reading.open_bundle(path, salvages=options.get(SALVAGE) is True) as bundle:
            own = around.identity.producer
            checked = _check_signature(path, bundle, options)
            with LinkIndex(bundle, own) as links:
                kept = _KeptSource(path)
                importing = BundleImport(
                    bundle, links, ExistingMemories(), ConsumerOptions(namespace=own), file=kept.origin
                )
                entries = kept.entries(list(links.orphans()))
                notices = [*bundle.notices, *checked, *kept.notices]
                yield FormatReading(
                    _agent_name(bundle, path), importing.inserts(), entries, importing.fates, notices, _agent_id(bundle)
                )

    def losses(self, state: State, options: Options) -> list[ItemFate]:
        return bundle_export.list_export_losses(state, _producer_options(options, None))

    def write(self, state: State, target: BinaryIO, options: Options, around: ConversionContext) -> FormatWriteResult:
        is_signed = options.get("sign") is True
        if is_signed and (around.identity.sign is None or not around.identity.public):
            raise InterchangeError("the bundle cannot be signed, because you have no key", fix="lifeboat keys init")
        chosen = _producer_options(options, Cleaner.of(options))
        with bundle_export.produce_bundle(state, chosen, around) as produced:
            write = produced.writer.write_stream if options.get("stream") is True else produced.writer.write_json
            write(target)
            written = FormatWriteResult(produced.fates, produced.notices, dict(produced.figures))
            if is_signed:
                signature = bundle_signatures.sign_detached(produced.writer.canonical(), around.identity)
                written.signature = (bundle_signatures.SUFFIX, signature)
                written.notices.append(_public_key(around.identity))
        return written

    def check(self, source: str, *, strict: bool) -> Iterable[FormatFinding]:
        """Return the first error, at which a reader stops, else the notices of a careful reader. `strict` also refuses
        names of other producers."""
        path = Path(source)
        try:
            with _refusing(path), bundle_reading.open_bundle(path, own_namespace=strict) as bundle:
                return [FormatFinding(each.code, each.text, False, where=each.where) for each in bundle.notices]
        except SourceRefused as problem:
            return [FormatFinding(problem.format_code, problem.detail, True, _line(problem.where), problem.where)]

    def mappings(self) -> Sequence[MappingTable]:
        return aimem_mapping.build_mapping_tables()


class _KeptSource:
    """The source as stored beside its memories. `origin` is its name there, "" if it is too large."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.notices: list[FormatNotice] = []
        self.origin = ""
        if path.stat().st_size <= _KEPT:
            suffix = STREAM if path.name.lower().endswith(STREAM) else DOCUMENT
            self.origin = f"{_digest(path)}{suffix}"
        else:
            text = (
                f"the source has more than {_KEPT:,} bytes, so the archive contains its memories but not the "
                "bundle itself"
            )
            self.notices.append(FormatNotice("original_not_kept", text))

    def entries(self, orphans: list[JsonObject]) -> Mapping[str, bytes]:
        """Return the raw files: the source, and the entities that no memory names."""
        found: dict[str, bytes] = {}
        if self.origin:
            found[_RAW + self.origin] = self._path.read_bytes()
        if orphans:
            found[ORPHANS] = bundle_import.encode_entities(orphans)
        return found


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Raise SourceRefused for a file that cannot be opened."""
    try:
        yield
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise SourceRefused(
            f"{path}: {error.strerror}", format_code="unreadable", fix="give the path of a bundle file"
        ) from error


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def _line(where: str) -> int | None:
    """Return the line of a stream that a refusal names."""
    number = where.removeprefix("line ").split(":")[0] if where.startswith("line ") else ""
    return int(number) if number.isdecimal() else None


def _ours(bundle: AimemBundle) -> JsonObject:
    return as_object(bundle.envelope.extra.get(aimem_mapping.OURS))


def _agent_name(bundle: AimemBundle, path: Path) -> str:
    """Return the agent's name in the bundle, else the name of the file."""
    named = _ours(bundle).get("agent_name")
    if isinstance(named, str) and named.strip() and named.isprintable():
        return named[:200]
    stem = path.name.split(".")[0]
    return stem if stem.strip() and stem.isprintable() else bundle.envelope.producer


def _agent_id(bundle: AimemBundle) -> str:
    """Return the agent's own id if we wrote the bundle, else an id derived from producer and tenant."""
    tenant = bundle.envelope.tenant_id
    if _ours(bundle) and ids.is_version_7(tenant):
        return tenant
    return ids.derive_id(0, f"aimem\0{bundle.envelope.producer}\0{tenant}")


def _producer_options(options: Options, cleaner: Cleaner | None) -> ProducerOptions:
    def text(name: str) -> str:
        return str(options.get(name) or "")

    def flag(name: str) -> bool:
        return options.get(name) is True

    return ProducerOptions(
        scope=text("scope") or FULL,
        since=text("since") or None,
        embeddings=flag("include-embeddings"),
        model=text("embedding-model"),
        pure=flag("pure"),
        include_history=flag("include-history"),
        include_identity=flag("include-identity"),
        preserve_ids=flag("preserve-ids"),
        closure=flag("closure"),
        tenant_id=text("tenant"),
        cleaner=cleaner,
    )


# Signatures ---------------------------------------------------------------------------------------------------------


def _public_key(identity: WriterIdentity) -> FormatNotice:
    """Return a notice with the public key that verifies the signature, in the form that a key file may hold."""
    document, _ = bundle_signatures.public_document([bundle_signatures.ed25519_key(identity.public)])
    text = (
        "to verify the signature, save the following line in a file and pass the file as --trusted-key: "
        f"{bundle_signatures.encode_header(document)}"
    )
    return FormatNotice("signed_with", text)


def _check_signature(path: Path, bundle: AimemBundle, options: Options) -> list[FormatNotice]:
    """Verify the signature if a trusted key is given, and return notices about it. Raises SignatureRefused."""
    trusted, given = str(options.get("trusted-key") or ""), str(options.get("signature") or "")
    beside = path.with_name(path.name + bundle_signatures.SUFFIX)
    if not trusted:
        if given:
            refused = SourceRefused("--signature needs --trusted-key, a file with the public keys that you trust")
            raise refused.with_again("--trusted-key", "FILE")
        reason = (
            "the bundle is signed, but no --trusted-key was given" if beside.exists() else "the bundle is not signed"
        )
        return [FormatNotice(bundle_signatures.SKIPPED, f"the signature was not checked: {reason}")]
    file = Path(given) if given else beside
    if not file.exists():
        raise BundleRefused("the bundle is not signed", format_code=bundle_signatures.INVALID, where=file.name)
    keys = bundle_signatures.read_keys(Path(trusted).read_bytes(), trusted)
    signature = bundle_signatures.decode_signature_file(file.read_bytes(), file.name)
    key = bundle_signatures.verify_detached(signature, bundle_reading.canonical_bundle_pieces(bundle), keys)
    return [FormatNotice("signature_valid", "the bundle is signed with a key that you trust", key.kid.hex())]


FORMAT = AimemFormat()
