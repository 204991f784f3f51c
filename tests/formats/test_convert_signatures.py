"""Signature files beside converted files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nacl.signing
import pytest

from lifeboat_core.errors import ExchangeError
from lifeboat_core.exchange.conversion_run import ConversionOrder, convert_source
from lifeboat_core.exchange.conversion_source import ConversionSource
from lifeboat_formats.interchange.conversion_report import ConversionReport
from support.alf.raising import raises_code
from support.core.protected import Protected
from support.formats.plain_format import plain_formats

pytestmark = pytest.mark.usefixtures("plain_formats")
__all__ = ["plain_formats"]


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    made.add()
    return made


def signed(ada: Protected, target: Path) -> ConversionReport:
    order = ConversionOrder(ConversionSource.of(f"agent:{ada.agent.name}"), "plain", str(target), given={"sign": True})
    return convert_source(ada.context, order, lambda preview: None)


def test_a_signature_stands_in_a_file_beside(ada: Protected, tmp_path: Path) -> None:
    target = tmp_path / "a.plain"
    done = signed(ada, target)
    assert done.signature == f"{target}.sig"
    key = nacl.signing.VerifyKey(ada.context.keys().public.sign)
    key.verify(target.read_bytes(), Path(done.signature).read_bytes())


def test_no_signature_stays_where_its_file_did_not_get_its_name(
    ada: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, replace = tmp_path / "a.plain", type(ada.context.files).replace

    def refusing(self: Any, source: Path, to: Path) -> None:
        if to == target:
            raise OSError(28, "No space left on device")
        replace(self, source, to)

    monkeypatch.setattr(type(ada.context.files), "replace", refusing)
    before = list(tmp_path.iterdir())
    with pytest.raises(ExchangeError):
        signed(ada, target)
    assert list(tmp_path.iterdir()) == before


def test_a_signature_that_is_there_keeps_a_new_file_from_standing_beside_it(ada: Protected, tmp_path: Path) -> None:
    target = tmp_path / "a.plain"
    Path(f"{target}.sig").write_bytes(b"mine")
    with raises_code(ExchangeError.FILE_EXISTS):
        signed(ada, target)
    assert not target.exists() and Path(f"{target}.sig").read_bytes() == b"mine"
