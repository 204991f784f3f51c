"""One key place of each kind for tests, whose key can be revoked and given back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from lifeboat_vault.at_rest.key_sources import key_service
from support.endpoint.sealed import key_file
from support.vault.fake_kms import FakeKms, arn, fake_kms
from support.vault.fake_transit import FakeTransit, fake_transit

KINDS = ["file", "aws-kms", "transit"]


class KeyPlace(Protocol):
    """A place that holds the key of a source."""

    spec: str
    told: str
    """Pattern of the error while the key is revoked."""

    def take_away(self) -> None: ...

    def give_back(self) -> None: ...


class FilePlace:
    """A key in a file."""

    told = r"file:.*endpoint\.key contains no key"

    def __init__(self, folder: Path) -> None:
        self.spec = key_file(folder)
        self._here, self._elsewhere = folder / "endpoint.key", folder / "taken.key"

    def take_away(self) -> None:
        self._here.rename(self._elsewhere)

    def give_back(self) -> None:
        self._elsewhere.rename(self._here)


class KmsPlace:
    """A key in the fake AWS KMS."""

    told = "refused to decrypt"

    def __init__(self, kms: FakeKms) -> None:
        self.spec = kms.spec()
        self._kms = kms

    def take_away(self) -> None:
        self._key = self._kms.keys.pop(arn())

    def give_back(self) -> None:
        self._kms.keys[arn()] = self._key


class TransitPlace:
    """A key in the fake transit engine."""

    told = "refused to decrypt"

    def __init__(self, transit: FakeTransit) -> None:
        self.spec = transit.spec()
        self._transit = transit

    def take_away(self) -> None:
        self._key = self._transit.keys.pop("customer")

    def give_back(self) -> None:
        self._transit.keys["customer"] = self._key


@contextmanager
def key_place(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyPlace]:
    """Yield a place of a kind. Refusals are not cached after the key is given back."""
    monkeypatch.setattr(key_service, "REFUSED_SECONDS", 0.0)
    if kind == "file":
        yield FilePlace(folder)
    elif kind == "aws-kms":
        with fake_kms(monkeypatch) as kms:
            yield KmsPlace(kms)
    else:
        with fake_transit(monkeypatch) as transit:
            yield TransitPlace(transit)


def behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set an environment whose proxy does not answer, even for this machine."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
