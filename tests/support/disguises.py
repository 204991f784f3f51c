"""Disguises of a secret, as data: each gives bytes from which anyone can read the secret."""

from __future__ import annotations

import base64
import bz2
import codecs
import gzip
import html
import io
import json
import lzma
import quopri
import random
import sqlite3
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Callable
from email.header import Header
from pathlib import Path
from urllib.parse import quote

SECRET = "sk-orchard_9f8e7d6c5b4a39281706f5e4d3c2b1a0+ZyXwVuTsRqPoNmLkJiHgFeDcBa-Qw3rT7yU1iO9pL5kJ2hG8fD4"
"""A secret of more than 92 characters, some of which encodings change."""

Disguise = Callable[[str], bytes]


def _lines(secret: str, end: str) -> bytes:
    return end.join(textwrap.wrap(secret, 40, break_on_hyphens=False)).encode()


def _broken(text: str) -> bytes:
    """Return a text in lines of 40 characters that end in a backslash."""
    return "\\\n".join(text[at : at + 40] for at in range(0, len(text), 40)).encode()


def _zip(secret: str, name: str, around: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("first.txt", "nothing here " * 40)
        made.writestr(name, f"<w:t>{'some words ' * 20}{around}{html.escape(secret)}</w:t>")
    return out.getvalue()


def _tar(secret: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as made:
        member = tarfile.TarInfo("notes/.env")
        body = f"KEY={secret}\n".encode()
        member.size = len(body)
        made.addfile(member, io.BytesIO(body))
    return out.getvalue()


def _bundle(secret: str) -> bytes:
    """Return the secret as git packs a blob: a header, then zlib."""
    body = f"the key is {secret}\n".encode()
    head = b"# v2 git bundle\n" + b"0" * 40 + b" refs/heads/main\n\nPACK\0\0\0\2\0\0\0\1"
    return head + bytes((0xB0 | (len(body) & 15), len(body) >> 4)) + zlib.compress(body) + b"\1" * 20


def _dump(secret: str) -> bytes:
    data, lines = f"key={secret}\n".encode(), []
    for at in range(0, len(data), 16):
        part = data[at : at + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{at:08x}: {part.hex(' ', -2):40} {shown}\n")
    return "".join(lines).encode()


def _png(secret: str) -> bytes:
    text = b"tEXtComment\0" + secret.encode()
    return b"\x89PNG\r\n\x1a\n" + (len(text) - 4).to_bytes(4, "big") + text + zlib.crc32(text).to_bytes(4, "big")


def _escaped_for_tex(secret: str) -> bytes:
    return "".join(f"\\{one}" if one in "_&%$#{}" else one for one in secret).encode()


DISGUISES: dict[str, Disguise] = {
    "plain text": lambda one: f"the key is {one}\n".encode(),
    "markdown fence": lambda one: f"```sh\nexport KEY={one}\n```\n".encode(),
    "json5 value": lambda one: f"{{ key: '{one}', }}\n".encode(),
    "json5 comment": lambda one: f"{{ // {one}\n /* {one} */ }}\n".encode(),
    "shell history": lambda one: f": 1700000000:0;curl -H 'X-Key: {one}' https://example.com\n".encode(),
    "yaml block": lambda one: f"key: |\n  {one}\n".encode(),
    "toml": lambda one: f'key = "{one}"\n'.encode(),
    "ini": lambda one: f"[main]\nkey={one}\n".encode(),
    "csv": lambda one: f'name,key\norchard,"{one}"\n'.encode(),
    "tsv": lambda one: f"orchard\t{one}\t1\n".encode(),
    "ndjson": lambda one: json.dumps({"key": one}).encode() + b"\n{}\n",
    "notebook": lambda one: json.dumps({"cells": [{"source": [f'k = "{one}"\n']}]}).encode(),
    "plist": lambda one: f"<plist><dict><key>k</key><string>{one}</string></dict></plist>".encode(),
    "address": lambda one: f"https://me:{one}@example.com/\n".encode(),
    "markdown link": lambda one: f"[x](https://example.com/?k={one})\n".encode(),
    "emphasis": lambda one: f"**{one}**\n".encode(),
    "png text": _png,
    "colours in a log": lambda one: f"\x1b[32m{one}\x1b[0m ok\n".encode(),
    "front matter": lambda one: f"---\nname: x\nkey: {one}\n---\n".encode(),
    "quoted in shell": lambda one: f"export KEY=\"{one}\" '{one}'\n".encode(),
    "json escapes": lambda one: ('{"k": "' + "".join(f"\\u{ord(each):04x}" for each in one) + '"}').encode(),
    "json in json": lambda one: json.dumps({"k": json.dumps({"key": one})}).encode(),
    "percent twice": lambda one: quote(quote(one, safe=""), safe="").encode(),
    "base64": lambda one: base64.b64encode(one.encode()),
    "base64url in a token": lambda one: b"eyJhbGciOiJub25lIn0." + base64.urlsafe_b64encode(one.encode()) + b".x",
    "hexadecimal": lambda one: one.encode().hex().encode(),
    "utf-16 le": lambda one: f"the key is {one}, café\n".encode("utf-16"),
    "utf-16 be": lambda one: b"\xfe\xff" + f"the key is {one}\n".encode("utf-16-be"),
    "utf-32": lambda one: f"the key is {one}\n".encode("utf-32"),
    "base64 wrapped": lambda one: base64.encodebytes(f"the long text before the key is {one}\n".encode()),
    "base64 of base64": lambda one: base64.b64encode(base64.encodebytes(one.encode())),
    "base64 of gzip": lambda one: base64.encodebytes(gzip.compress(one.encode())),
    "base32": lambda one: base64.b32encode(one.encode()),
    "ascii85": lambda one: base64.a85encode(one.encode()),
    "base85": lambda one: base64.b85encode(one.encode()),
    "rot13": lambda one: codecs.encode(one, "rot13").encode(),
    "hexadecimal with colons": lambda one: one.encode().hex(":").encode(),
    "hexadecimal as bytes": lambda one: ", ".join(f"0x{byte:02x}" for byte in one.encode()).encode(),
    "xxd": _dump,
    "html entities": lambda one: "".join(f"&#x{ord(each):x};" for each in one).encode(),
    "json list of letters": lambda one: json.dumps(list(one)).encode(),
    "upper case": lambda one: one.upper().encode(),
    "tex": _escaped_for_tex,
    "backslash and newline": lambda one: b"export KEY=" + _lines(one, "\\\n") + b"\n",
    "folded yaml": lambda one: b"key: >-\n  " + _lines(one, "\n  ") + b"\n",
    "folded vcard": lambda one: b"NOTE:" + _lines(one, "\r\n ") + b"\r\n",
    "adjacent strings": lambda one: b'KEY = (\n    "' + _lines(one, '"\n    "') + b'"\n)\n',
    "added strings": lambda one: b'key = "' + _lines(one, '" +\n  "') + b'"\n',
    "quoted-printable": lambda one: quopri.encodestring(f"the key is é {one} and so on\n".encode()),
    "mime header": lambda one: Header(f"é {one}", "utf-8").encode().encode(),
    "zero-width space": lambda one: f"{one[:30]}\u200b{one[30:60]}\u200b{one[60:]}\n".encode(),
    "groups of four": lambda one: " ".join(textwrap.wrap(one, 4, break_on_hyphens=False)).encode(),
    "gzip": lambda one: gzip.compress(f"the key is {one}\n".encode()),
    "bzip2": lambda one: bz2.compress(f"the key is {one}\n".encode()),
    "xz": lambda one: lzma.compress(f"the key is {one}\n".encode()),
    "zip": lambda one: _zip(one, "notes.txt"),
    "docx": lambda one: _zip(one, "word/document.xml", "&#233; "),
    "tar.gz": _tar,
    "git bundle": _bundle,
    "base64 in quoted-printable": lambda one: quopri.encodestring(base64.b64encode(one.encode())),
    "hexadecimal in quoted-printable": lambda one: quopri.encodestring(one.encode().hex().encode()),
    "entities over continued lines": lambda one: _broken("".join(f"&#{ord(each)};" for each in one)),
    "gzip in json escapes": lambda one: "".join(f"\\u{byte:04x}" for byte in gzip.compress(one.encode())).encode(),
}
"""59 disguises tried at first, and later ones that were found to be missed."""


def in_a_database(body: bytes, path: Path, encoding: str = "UTF-8") -> None:
    """Write a database whose rows contain the disguise, as text if it is text, otherwise as a blob."""
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("pragma synchronous = off")
    connection.execute(f"pragma encoding = '{encoding}'")
    connection.execute("create table notes (id integer primary key, said)")
    try:
        value: str | bytes = body.decode()
        value = body if "\0" in value else value
    except UnicodeDecodeError:
        value = body
    connection.executemany("insert into notes (said) values (?)", [("before " * 30,), (value,), ("after " * 30,)])
    connection.commit()
    connection.close()


def over_two_pages(body: bytes, path: Path, encoding: str = "UTF-8", split: int | None = None, page: int = 0) -> None:
    """Write a database in which a page ends within the disguise, `split` bytes after its beginning (default: half of
    it), on the first page of the row or `page` pages later. A byte-order mark at the beginning of the disguise would
    have no effect there."""
    for mark in ("utf-16-le", "utf-16-be", "utf-32-le"):
        body = body.removeprefix("\ufeff".encode(mark))
    is_wide = encoding != "UTF-8" and b"\0" not in body and _is_text(body)
    unit, split = 2 if is_wide else 1, len(body) // 2 if split is None else split
    total = (1000 + 4092 * (len(body) * unit // 4092 + 3)) // unit  # then about 1000 bytes are on the first page
    in_a_database(b"." * total if is_wide else b"\0" + b"." * (total - 1), path, encoding)
    made, dots = path.read_bytes(), b".\0" * 16 if is_wide else b"." * 16
    begin = made.index(dots)
    here = (made.index(b"\0\0", begin) - begin + 4092 * page) // unit
    row = (b"\n" if is_wide else b"\0").rjust(here - min(split, here - 1), b".") + body
    in_a_database(row + b"\n".ljust(total - len(row), b","), path, encoding)


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def in_three_megabytes(body: bytes) -> bytes:
    """Return a file of random bytes with the disguise in the middle."""
    drawn = random.Random(7)
    return drawn.randbytes(1_500_000) + b"\n" + body + b"\n" + drawn.randbytes(1_500_000)
