"""Places where the key lies that protects data keys, one of each kind, for tests: the key can be taken away and given
back."""

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
    spec: str
    told: str
    """A pattern of what is said when the key is not there."""

    def take_away(self) -> None: ...

    def give_back(self) -> None: ...


class FilePlace:
    told = r"file:.*endpoint\.key gives no key"

    def __init__(self, folder: Path) -> None:
        self.spec = key_file(folder)
        self._here, self._elsewhere = folder / "endpoint.key", folder / "taken.key"

    def take_away(self) -> None:
        self._here.rename(self._elsewhere)

    def give_back(self) -> None:
        self._elsewhere.rename(self._here)


class KmsPlace:
    told = "does not decrypt"

    def __init__(self, kms: FakeKms) -> None:
        self.spec = kms.spec()
        self._kms = kms

    def take_away(self) -> None:
        self._key = self._kms.keys.pop(arn())

    def give_back(self) -> None:
        self._kms.keys[arn()] = self._key


class TransitPlace:
    told = "does not decrypt"

    def __init__(self, transit: FakeTransit) -> None:
        self.spec = transit.spec()
        self._transit = transit

    def take_away(self) -> None:
        self._key = self._transit.keys.pop("customer")

    def give_back(self) -> None:
        self._transit.keys["customer"] = self._key


@contextmanager
def key_place(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyPlace]:
    """A place of a kind. What it refused is not believed for longer than the refusal."""
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
    """Whoever heeds the environment asks a proxy that does not answer, also for what is on this machine."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
