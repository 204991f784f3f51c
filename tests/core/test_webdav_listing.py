"""Answers to PROPFIND: read in pieces, with nothing expanded and everything bounded."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_core.remotes.webdav import webdav_listing
from lifeboat_core.remotes.webdav.webdav_listing import ListingEntry, ListingReader
from lifeboat_vault.errors import RemoteDamaged

EXAMPLE = b"""<?xml version="1.0" encoding="utf-8"?>
<d:multistatus xmlns:d="DAV:" xmlns:o="urn:example">
  <d:response><d:href>/remote.php/dav/files/ada/boat/agents/</d:href><d:propstat><d:prop>
    <d:resourcetype><d:collection/></d:resourcetype></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>
  </d:response>
  <d:response><d:href>https://cloud.example.com/dav/agents/a%20b.age</d:href><d:propstat><d:prop><d:resourcetype/>
    <d:getcontentlength>417</d:getcontentlength><d:getlastmodified>Fri, 02 Jan 2026 03:04:05 GMT</d:getlastmodified>
    <o:status>HTTP/1.1 500 None</o:status><d:owner><d:href>/principals/ada</d:href></d:owner>
    </d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>
    <d:propstat><d:prop><d:getcontentlength>1</d:getcontentlength></d:prop>
    <d:status>HTTP/1.1 404 Not Found</d:status></d:propstat>
  </d:response>
</d:multistatus>"""
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def read(data: bytes, *, step: int = 1 << 20) -> list[ListingEntry]:
    reader = ListingReader()
    for place in range(0, len(data), step):
        reader.write(data[place : place + step])
    return reader.finish()


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_a_listing_is_read_in_pieces_of_any_size(step: int) -> None:
    assert read(EXAMPLE, step=step) == [
        ListingEntry("boat", "agents", True, None, None),
        ListingEntry("agents", "a b.age", False, 417, MOMENT),
    ]


def test_a_deep_listing_is_refused() -> None:
    with pytest.raises(RemoteDamaged, match="nested too deeply"):
        read(b'<d:multistatus xmlns:d="DAV:">' + b"<a>" * 100)


def test_a_text_without_an_end_is_refused() -> None:
    data = b'<d:multistatus xmlns:d="DAV:"><d:response><d:href>' + b"a" * 100_000
    with pytest.raises(RemoteDamaged, match="too long"):
        read(data, step=100)


def test_a_listing_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webdav_listing, "MOST_ENTRIES", 10)
    with pytest.raises(RemoteDamaged, match="too many entries"):
        read(b'<d:multistatus xmlns:d="DAV:">' + b"<d:response/>" * 11 + b"</d:multistatus>")


@pytest.mark.parametrize("size", ["-1", "1e9", "٣", "", "x"])
def test_a_size_that_is_no_number_is_unknown(size: str) -> None:
    (_, entry) = read(EXAMPLE.replace(b"417", size.encode()))
    assert entry.size is None


@given(st.one_of(st.binary(max_size=300), st.tuples(st.integers(0, len(EXAMPLE)), st.binary(max_size=20))))
def test_rubbish_is_damage_and_nothing_else(data: bytes | tuple[int, bytes]) -> None:
    text = data if isinstance(data, bytes) else EXAMPLE[: data[0]] + data[1] + EXAMPLE[data[0] + 5 :]
    try:
        found = read(text)
    except RemoteDamaged:
        return
    assert all("/" not in each.name for each in found)
