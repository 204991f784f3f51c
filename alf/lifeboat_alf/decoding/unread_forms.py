"""Recognise formats that the decoder does not read, in which no search finds anything."""

from __future__ import annotations

from lifeboat_alf.decoding.decoder import decode_layers
from lifeboat_alf.decoding.decoding_budget import DecodingBudget

NOT_READ = (
    "encrypted files, images, audio, video, PDF, archives other than gzip, bzip2, xz, tar and zip, "
    "and data that is encoded or compressed more than twice"
)
"""Formats that no search looks into."""

_STARTS = (
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"7z\xbc\xaf\x27\x1c", "7-zip"),
    (b"Rar!\x1a\x07", "rar"),
    (b"%PDF-", "PDF"),
    (b"age-encryption.org/", "encrypted"),
    (b"-----BEGIN AGE ENCRYPTED FILE-----", "encrypted"),
    (b"-----BEGIN PGP MESSAGE-----", "encrypted"),
    (b"Salted__", "encrypted"),
    (b"\x89PNG\r\n", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"BM", "a picture"),
    (b"II*\0", "a picture"),
    (b"MM\0*", "a picture"),
    (b"OggS", "sound"),
    (b"ID3", "sound"),
    (b"fLaC", "sound"),
)
_RIFF = {b"WEBP": "a picture", b"WAVE": "sound", b"AVI ": "a film"}


def unread_form(start: bytes) -> str:
    """Return the name of an unsupported format by its first bytes; "" for any other."""
    if start[:4] == b"RIFF":
        return _RIFF.get(start[8:12], "")
    if start[4:8] == b"ftyp":
        return "a film"
    form = next((name for magic, name in _STARTS if start.startswith(magic)), "")
    return "" if start[:2] == b"BM" and b"\0" not in start[:16] else form


def unread_in(data: bytes) -> str:
    """Return a description of the parts of these bytes that are not searched; "" when there are none."""
    work = DecodingBudget.for_size(len(data))
    for _ in decode_layers(data, work):
        pass
    return unread_words(data, work)


def unread_words(data: bytes, work: DecodingBudget) -> str:
    """Return the same as `unread_in` for bytes that were decoded with `work`."""
    form = unread_form(data[:64])
    return ", ".join([form] if form else sorted(work.unread))
