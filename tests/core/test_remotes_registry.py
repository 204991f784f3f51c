"""Second copies on disk: one file each, its token beside it for its owner alone, comments kept, broken files named."""

from __future__ import annotations

import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_core.errors import BadSetting, ConfigError, SecondCopyError
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import manage_remotes, remote_kinds, remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_vault.errors import RemoteError
from support.alf.raising import raises_code

PIN = "ab" * 32
TOKEN = "lb_abcdefgh_only-ada-knows"
HOME = RemoteConfig(
    "home",
    "https://boat.example.com:8377/ada",
    id="0198c0de",
    pin=PIN,
    optional=True,
    added_at="2026-11-20T18:00:00.000Z",
)


@pytest.fixture
def context(isolated_home: Path) -> Context:
    return Context.open()


def test_what_is_saved_is_read(context: Context) -> None:
    assert remote_registry.save_remote(context, HOME) == HOME
    assert remote_registry.list_remotes(context) == [HOME] and remote_registry.find_remote(context, "HOME") == HOME
    assert remote_registry.find_remote(context, HOME.id) == HOME


def test_comments_and_unknown_fields_stay(context: Context) -> None:
    remote_registry.save_remote(context, HOME)
    path = remote_registry.locate_remote_file(context, "home")
    path.write_text(f"# the one in the cellar\n{path.read_text()}\nshelf = 3\n")
    remote_registry.save_remote(context, RemoteConfig("home", "https://other.example.com"))
    text = path.read_text()
    assert "# the one in the cellar" in text and "shelf = 3" in text and PIN not in text


def test_nobody_else_reads_any_of_its_files(context: Context) -> None:
    remote_registry.save_remote(context, HOME)
    remote_registry.save_token(context, "home", TOKEN)
    remote_registry.save_authority(context, "home", "-----BEGIN CERTIFICATE-----")
    files = list(context.home.remotes_folder.iterdir())
    assert len(files) == 3 and all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    assert stat.S_IMODE(context.home.remotes_folder.stat().st_mode) == 0o700


def test_the_token_stands_in_a_file_of_its_own(context: Context) -> None:
    remote_registry.save_remote(context, HOME)
    remote_registry.save_token(context, "home", TOKEN)
    assert remote_registry.load_token(context, "home") == TOKEN
    assert TOKEN not in remote_registry.locate_remote_file(context, "home").read_text()


def test_removing_leaves_nothing(context: Context) -> None:
    remote_registry.save_remote(context, HOME)
    remote_registry.save_token(context, "home", TOKEN)
    remote_registry.delete_remote(context, "home")
    assert list(context.home.remotes_folder.iterdir()) == [] and remote_registry.list_remotes(context) == []


@pytest.mark.parametrize(
    "text",
    [
        "url =",
        "pin = 'x'",
        "url = 'https://a.example.com'\npin = 'zz'",
        "url = 3",
        "url = 'nowhere'",
        "\x00",
        "[" * 2000,
    ],
)
def test_a_broken_file_is_a_problem_and_not_an_error(context: Context, text: str) -> None:
    remote_registry.save_remote(context, HOME)
    remote_registry.locate_remote_file(context, "home").write_text(text)
    (found,) = remote_registry.list_remotes(context)
    assert found.name == "home" and found.problem and remote_registry.list_usable_remotes(context) == []
    with pytest.raises(ConfigError):
        remote_registry.find_remote(context, "home")
    with pytest.raises(ConfigError):
        remote_kinds.open_remote(context, found)


def test_a_token_in_an_address_is_a_problem_that_does_not_repeat_it(context: Context) -> None:
    remote_registry.save_remote(context, HOME)
    remote_registry.locate_remote_file(context, "home").write_text(f"url = 'https://{TOKEN}@boat.example.com'\n")
    (found,) = remote_registry.list_remotes(context)
    assert found.problem and TOKEN not in found.problem and found.url == ""


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", ".hidden", "a b", "x" * 65, "con", "Local", "home.token", "a\n", "Ä"]
)
def test_a_name_that_is_no_name_of_a_file_everywhere_is_refused(context: Context, name: str) -> None:
    with raises_code(SecondCopyError.REMOTE_NAME_REFUSED):
        remote_registry.save_remote(context, RemoteConfig(name, "https://boat.example.com"))


def test_names_that_differ_in_capitals_alone_are_the_same(context: Context) -> None:
    remote_registry.save_remote(context, HOME)
    with raises_code(SecondCopyError.REMOTE_EXISTS):
        remote_registry.refuse_taken_name(context, "Home")


def test_a_name_that_nobody_has_is_unknown(context: Context) -> None:
    with raises_code(SecondCopyError.UNKNOWN_REMOTE):
        remote_registry.find_remote(context, "home")


def test_reading_the_registry_loads_neither_the_network_nor_a_vault(context: Context) -> None:
    remote_registry.save_remote(
        context, replace(HOME, pin="0a1b2c3d" * 8)
    )  # no row of letters that could be joined words
    program = (
        "import sys\n"
        "from lifeboat_core.home.context import Context\n"
        "from lifeboat_core.remotes import remote_registry\n"
        "assert remote_registry.list_remotes(Context.open())[0].name == 'home'\n"
        "heavy = {'httpx', 'nacl', 'cryptography', 'sqlite3', 'tomlkit', 'lifeboat_vault'}\n"
        "keys = {name for name in sys.modules if name.startswith('lifeboat_keys.')}\n"
        "keys.discard('lifeboat_keys.words_in_texts')\n"
        "print(sorted(heavy & set(sys.modules) | keys))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# Addresses and join lines -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("HTTPS://Boat.Example.com:443/", "https://boat.example.com"),
        ("https://boat.example.com:8377/ada/", "https://boat.example.com:8377/ada"),
        ("http://localhost:8377", "http://localhost:8377"),
        ("http://[::1]:80/", "http://[::1]"),
        ("https://bücher.example.com", "https://xn--bcher-kva.example.com"),
    ],
)
def test_an_address_has_a_normal_form(written: str, normal: str) -> None:
    assert remote_kinds.check_url(written) == normal


@pytest.mark.parametrize(
    "written",
    [
        "http://boat.example.com",
        "http://192.0.2.1",
        f"https://{TOKEN}@boat.example.com",
        "https://",
        "https://boat.example.com:99999",
        f"https://boat.example.com?token={TOKEN}",
        f"ftp://{TOKEN}@boat.example.com",
        "boat.example.com",
    ],
)
def test_an_address_that_cannot_be_one_is_refused_without_repeating_it(written: str) -> None:
    with pytest.raises(BadSetting) as caught:
        remote_kinds.check_url(written)
    assert TOKEN not in str(caught.value)


def test_a_join_line_holds_address_token_and_pin() -> None:
    given = manage_remotes.parse_remote_access(f"lifeboat+https://{TOKEN}@boat.example.com:8377/?pin={PIN}\n")
    assert (given.url, given.token, given.pin) == ("https://boat.example.com:8377", TOKEN, PIN)
    assert TOKEN not in repr(given)


def test_a_join_line_over_plain_http_to_another_machine_is_refused() -> None:
    with pytest.raises(BadSetting):
        manage_remotes.parse_remote_access(f"lifeboat+http://{TOKEN}@boat.example.com/")


def test_a_join_line_that_was_cut_off_is_refused_without_repeating_it() -> None:
    with raises_code(RemoteError.JOIN_INVALID) as caught:
        manage_remotes.parse_remote_access(f"lifeboat+https://{TOKEN}@boat.example.com/?pin=abc")
    assert TOKEN not in str(caught.value)


def test_a_pin_is_read_however_it_was_written() -> None:
    written = "SHA256:" + ":".join([PIN[at : at + 2] for at in range(0, 64, 2)]).upper()
    assert manage_remotes.parse_remote_access("https://boat.example.com", pin=written).pin == PIN
