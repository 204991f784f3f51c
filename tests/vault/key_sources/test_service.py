from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from lifeboat_vault.at_rest.key_sources import key_service
from lifeboat_vault.at_rest.key_sources.key_service import ServiceKey
from lifeboat_vault.errors import KeyRevoked, KeySourceAway, KeySourceRefused, VaultDamaged
from support.patience import patience
from support.waiting import until

SPEC = "transit:https://vault.example.com/transit/keys/customer"


class Service:
    """A service that reverses secrets. `decrypts` replaces its answers while it is set."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.decrypts: Callable[[bytes], bytes] | None = None

    def encrypt(self, secret: bytes) -> bytes:
        return secret[::-1]

    def decrypt(self, wrapped: bytes) -> bytes:
        self.asked.append(wrapped)
        return self.decrypts(wrapped) if self.decrypts else wrapped[::-1]


class Now:
    """A clock that is moved by hand."""

    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def raising(error: Exception) -> Callable[[bytes], bytes]:
    def decrypts(wrapped: bytes) -> bytes:
        raise error

    return decrypts


def source(now: Callable[[], float] = time.monotonic) -> tuple[ServiceKey, Service]:
    asked = Service()
    return ServiceKey(SPEC, asked, 300.0, now=now), asked


def test_what_it_wraps_it_unwraps() -> None:
    key, _ = source()
    assert key.unwrap(key.wrap(b"secret")) == b"secret" and key.cache_seconds == 300.0 and key.spec == SPEC


def test_damage_is_found_without_asking() -> None:
    key, asked = source()
    with pytest.raises(VaultDamaged):
        key.unwrap(key.wrap(b"secret")[:-1])
    assert asked.asked == []


def test_a_refusal_is_believed_for_some_seconds() -> None:
    now = Now()
    key, asked = source(now)
    wrapped = key.wrap(b"secret")
    asked.decrypts = raising(KeyRevoked("no", fix="ask its owner"))
    for _ in range(5):
        with pytest.raises(KeyRevoked) as caught:
            key.unwrap(wrapped)
        assert caught.value.fix == "ask its owner"
    assert len(asked.asked) == 1
    asked.decrypts = None
    now.seconds += key_service.REFUSED_SECONDS + 0.1
    assert key.unwrap(wrapped) == b"secret"


def test_who_may_not_unwrap_may_wrap() -> None:
    key, asked = source()
    wrapped = key.wrap(b"secret")
    asked.decrypts = raising(KeyRevoked("no"))
    with pytest.raises(KeyRevoked):
        key.unwrap(wrapped)
    assert key.wrap(b"secret") == wrapped


def test_one_data_key_that_is_refused_leaves_the_others() -> None:
    key, asked = source()
    one, other = key.wrap(b"one"), key.wrap(b"other")
    asked.decrypts = raising(KeyRevoked("no", only_this=True))
    for _ in range(3):
        with pytest.raises(KeyRevoked):
            key.unwrap(one)
    asked.decrypts = None
    assert key.unwrap(other) == b"other" and len(asked.asked) == 2


def test_silence_is_believed_longer_each_time() -> None:
    now = Now()
    key, asked = source(now)
    wrapped = key.wrap(b"secret")
    asked.decrypts = raising(KeySourceAway("nobody there"))
    times = []
    for _ in range(400):
        with pytest.raises(KeySourceAway):
            key.unwrap(wrapped)
        if len(asked.asked) > len(times):
            times.append(now.seconds - 1000)
        now.seconds += 0.125
    assert times == [0, 1, 3, 7, 15, 30, 45]
    now.seconds += 15
    asked.decrypts = None
    assert key.unwrap(wrapped) == b"secret"
    asked.decrypts = raising(KeySourceAway("nobody there"))
    with pytest.raises(KeySourceAway):
        key.unwrap(wrapped)
    now.seconds += 1.1
    asked.decrypts = None
    assert key.unwrap(wrapped) == b"secret"


def test_an_answer_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_service, "_ANSWER_SECONDS", 0.1)
    over = threading.Event()
    key, asked = source()
    wrapped = key.wrap(b"secret")
    answered: list[bytes] = []

    def late(wrapped: bytes) -> bytes:
        over.wait(patience())
        answered.append(wrapped)
        return b"late"

    asked.decrypts = late
    with pytest.raises(KeySourceAway, match="did not respond within"):
        key.unwrap(wrapped)
    assert answered == []
    over.set()


def test_a_source_that_hangs_takes_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_service, "_ANSWER_SECONDS", patience())
    monkeypatch.setattr(key_service, "_ROOM_SECONDS", 0.05)
    over = threading.Event()
    key, asked = source()
    wrapped = [key.wrap(bytes([number])) for number in range(8)]
    asked.decrypts = lambda wrapped: b"late" if over.wait(patience()) else b""
    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(key.unwrap, each) for each in wrapped]
        try:
            until(lambda: sum(each.done() for each in asking) == 6, "six to be told that others wait already")
            assert len(asked.asked) == 2
        finally:
            over.set()
    refused = [error for each in asking if (error := each.exception()) is not None]
    assert [type(error) for error in refused] == [KeySourceAway] * 6


def test_answers_that_never_come_are_counted_and_not_too_many_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_service, "_ANSWER_SECONDS", 0.01)
    monkeypatch.setattr(key_service, "_MOST_LEFT", 3)
    over = threading.Event()
    now = Now()
    key, asked = source(now)
    wrapped = key.wrap(b"secret")
    asked.decrypts = lambda wrapped: b"late" if over.wait(patience()) else b""
    for _ in range(6):
        with pytest.raises(KeySourceAway):
            key.unwrap(wrapped)
        now.seconds += 60
    assert len(asked.asked) == 3
    over.set()
    asked.decrypts = None
    until(lambda: not key._left, "the late answers")
    assert key.unwrap(wrapped) == b"secret"


def test_an_accident_of_a_library_is_told_without_its_message() -> None:
    key, asked = source()
    wrapped = key.wrap(b"secret")
    asked.decrypts = raising(RuntimeError("the plaintext is secret"))
    with pytest.raises(KeySourceAway, match="RuntimeError") as caught:
        key.unwrap(wrapped)
    assert "plaintext" not in caught.value.message and caught.value.__suppress_context__


def test_a_key_that_cannot_be_used_is_told_before_data_rests_on_it() -> None:
    key, asked = source()
    key_service.check_key_source(key)
    asked.decrypts = lambda wrapped: b"something else"
    with pytest.raises(
        KeySourceRefused, match="returned a different value when it decrypted a value that it had encrypted"
    ):
        key_service.check_key_source(key)
    asked.decrypts = raising(KeyRevoked("does not decrypt", fix="allow it"))
    with pytest.raises(KeySourceRefused, match="does not decrypt") as caught:
        key_service.check_key_source(key)
    assert caught.value.fix == "allow it"


@pytest.mark.parametrize("text", ["9", "3601", "0", "-1", "1e2", "", "many", "99999999999"])
def test_a_time_to_keep_keys_is_neither_too_short_nor_too_long(text: str) -> None:
    with pytest.raises(KeySourceRefused, match="from 10 to 3600"):
        key_service.parse_cache_seconds(SPEC, {"cache": text})


def test_a_time_to_keep_keys_is_minutes_unless_it_is_said() -> None:
    assert (
        key_service.parse_cache_seconds(SPEC, {}) == 300.0
        and key_service.parse_cache_seconds(SPEC, {"cache": "600"}) == 600.0
    )


@pytest.mark.parametrize("query", ["cache", "cache=", "cache=60&cache=60", "colour=red", "cache=60&", "cach%65=60&x"])
def test_options_that_there_are_not_are_refused(query: str) -> None:
    with pytest.raises(KeySourceRefused):
        key_service.parse_options(SPEC, f"place?{query}", ("cache",))


@pytest.mark.parametrize(
    "url",
    [
        "http://vault.example.com:8200",
        "http://192.0.2.1",
        "http://127.0.0.1.example.com",
        "ftp://127.0.0.1",
        "https://",
        "https://[::1",
        "https://host:port",
        "vault.example.com",
    ],
)
def test_an_address_is_https_unless_it_is_this_machine(url: str) -> None:
    with pytest.raises(KeySourceRefused):
        key_service.check_address(SPEC, url)


@pytest.mark.parametrize("url", ["https://vault.example.com", "http://127.0.0.1:8200", "http://[::1]:8200"])
def test_an_address_that_is_safe_is_taken(url: str) -> None:
    key_service.check_address(SPEC, url)


def test_an_address_with_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(KeySourceRefused) as caught:
        key_service.check_address("transit", "https://ada:hunter2@vault.example.com")
    assert "hunter2" not in caught.value.message
