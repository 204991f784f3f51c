"""Settings: value, source, effect; comments survive, a broken file leaves the last good one in force."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.errors import BadSetting, ConfigError
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.settings import config_file
from lifeboat_core.settings.settings_table import SETTINGS
from support.alf.raising import raises_code

FILES = SystemFiles()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home").open(FILES)


def test_without_a_file_the_defaults_are_in_force(home: Home) -> None:
    value = config_file.load_config(home, FILES).get("artifacts.threshold")
    assert (value.value, value.source) == (102400, "default")
    assert value.effect


def test_every_default_is_a_value_of_its_kind() -> None:
    for setting in SETTINGS.values():
        assert setting.read(setting.default) is not None
        assert setting.effect


def test_what_stands_in_the_file_wins_and_says_so(home: Home) -> None:
    home.config_file.write_text('[artifacts]\nthreshold = "50 KB"\n')
    value = config_file.load_config(home, FILES).get("artifacts.threshold")
    assert (value.value, value.source, value.written) == (51200, "config.toml", "50 KB")


def test_what_an_agent_says_wins_over_the_file(home: Home) -> None:
    home.config_file.write_text("transcripts = false\n")
    value = config_file.load_config(home, FILES).get("transcripts", {"transcripts": True})
    assert (value.value, value.source) == (True, "agent")


def test_setting_keeps_comments_and_other_settings(home: Home) -> None:
    home.config_file.write_text('# mine\nscan.interval = "5m" # often\n')
    config_file.write_config(home, FILES, "held.share", 0.7)
    text = home.config_file.read_text()
    assert "# mine" in text and "# often" in text
    found = config_file.load_config(home, FILES)
    assert (found.get("scan.interval").value, found.get("held.share").value) == (300, 0.7)


def test_unsetting_brings_the_default_back(home: Home) -> None:
    config_file.write_config(home, FILES, "scan.interval", "5m")
    assert config_file.write_config(home, FILES, "scan.interval", None).get("scan.interval").source == "default"


def test_a_value_of_the_wrong_kind_is_refused_and_nothing_is_written(home: Home) -> None:
    with pytest.raises(BadSetting, match="a size"):
        config_file.write_config(home, FILES, "artifacts.threshold", "many")
    assert not home.config_file.exists()


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("held.share", 0),
        ("held.share", 1.5),
        ("cadence", "soon"),
        ("scan.interval", "9" * 20 + "h"),
        ("scan.interval", 10**12),
        ("transcripts", "maybe"),
        ("held.minimum", 0),
        ("metrics.file", "/run/\0"),
    ],
)
def test_values_out_of_range_are_refused(name: str, written: object) -> None:
    with pytest.raises(BadSetting):
        SETTINGS[name].read(written)


def test_an_unknown_setting_is_refused_by_name(home: Home) -> None:
    with raises_code(ConfigError.UNKNOWN_SETTING, match="cadense"):
        config_file.write_config(home, FILES, "cadense", 5)


@pytest.mark.parametrize("text", ["cadence = [", "cadense = 5\n", 'cadence = "soon"\n', "\xff"])
def test_a_broken_file_leaves_the_last_good_one_in_force(home: Home, text: str) -> None:
    home.config_file.write_text('scan.interval = "5m"\n')
    config_file.load_config(home, FILES)
    home.config_file.write_text(text, encoding="latin-1")
    found = config_file.load_config(home, FILES)
    assert found.get("scan.interval").value == 300
    assert found.problem
    home.config_file.write_text('scan.interval = "6m"\n')
    assert config_file.load_config(home, FILES).problem is None


def test_a_broken_file_is_not_written_over(home: Home) -> None:
    home.config_file.write_text("cadence = [")
    with pytest.raises(ConfigError, match="repair"):
        config_file.write_config(home, FILES, "scan.interval", "5m")
    assert home.config_file.read_text() == "cadence = ["


# Private settings -------------------------------------------------------------------------------------------------

PRIVATE = sorted(name for name, setting in SETTINGS.items() if setting.private)
ADDRESS = "https://ping.example.com/canary-5471"


def test_the_addresses_are_private_and_for_all_agents() -> None:
    assert PRIVATE == ["ntfy.url", "ping.url"]
    assert not any(SETTINGS[name].per_agent for name in PRIVATE)


@pytest.mark.parametrize("name", PRIVATE)
def test_a_private_setting_stands_apart_and_only_its_owner_can_read_it(home: Home, name: str) -> None:
    config_file.write_config(home, FILES, "scan.interval", "5m")
    value = config_file.write_config(home, FILES, name, ADDRESS).get(name)
    assert (value.value, value.source, value.private) == (ADDRESS, "private.toml", True)
    assert ADDRESS not in home.config_file.read_text()
    kept = [path for path in home.folder.rglob("*") if path.is_file() and ADDRESS in path.read_text(errors="replace")]
    assert set(kept) == {home.folder / "private.toml", home.folder / "private.good.toml"}
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


def test_a_private_setting_that_is_taken_back_is_nowhere(home: Home) -> None:
    config_file.write_config(home, FILES, "ping.url", ADDRESS)
    assert config_file.write_config(home, FILES, "ping.url", None).get("ping.url").value == ""
    assert not any(ADDRESS in path.read_text(errors="replace") for path in home.folder.rglob("*") if path.is_file())


def test_nothing_of_a_private_value_is_in_an_error_or_a_representation(home: Home) -> None:
    with pytest.raises(BadSetting) as wrong:
        config_file.write_config(home, FILES, "ping.url", "canary-5471")
    written = config_file.write_config(home, FILES, "ping.url", ADDRESS)
    assert "canary" not in f"{wrong.value} {written} {written.get('ping.url')}"


@pytest.mark.parametrize("text", [f"[ping]\nurl = {ADDRESS}", f'"{ADDRESS}" = 1', 'cadence = "manual"', "\xff"])
def test_a_private_file_that_cannot_be_used_leaves_the_last_good_one_in_force(home: Home, text: str) -> None:
    config_file.write_config(home, FILES, "ping.url", ADDRESS)
    (home.folder / "private.toml").write_text(text, encoding="latin-1")
    found = config_file.load_config(home, FILES)
    assert found.get("ping.url").value == ADDRESS
    assert found.problem is not None and found.problem.file == "private.toml" and "canary" not in str(found.problem)


def test_without_any_private_file_that_can_be_used_nothing_else_stops(home: Home) -> None:
    config_file.write_config(home, FILES, "scan.interval", "5m")
    for name in ("private.toml", "private.good.toml"):
        (home.folder / name).write_text("[")
    found = config_file.load_config(home, FILES)
    assert (found.get("scan.interval").value, found.get("ping.url").value) == (300, "")
    assert found.problem


def test_an_address_in_the_file_for_everything_is_refused_with_what_to_do(home: Home) -> None:
    home.config_file.write_text(f'[ping]\nurl = "{ADDRESS}"\n')
    problem = config_file.load_config(home, FILES).problem
    assert problem is not None and "--stdin" in problem.message and "canary" not in str(problem)


@pytest.mark.parametrize("expression", ["0 9 * * 8", "hourly", "0 0 31 2 *"])
def test_a_schedule_is_five_fields_of_cron(expression: str) -> None:
    assert SETTINGS["schedule"].read("30 7 * * 1-5") == "30 7 * * 1-5"
    with pytest.raises(BadSetting):
        SETTINGS["schedule"].read(expression)


@pytest.mark.parametrize(
    "text",
    [
        "held.minimum = inf\n",
        "artifacts.versions = -inf\n",
        "held.minimum = " + "9" * 5000 + "\n",
        "held = " + "[" * 5000 + "]" * 5000 + "\n",
        "held = " + "{a=" * 3000 + "1" + "}" * 3000 + "\n",
        ".".join("a" * 10_000) + " = 1\n",
    ],
)
def test_numbers_and_depths_beyond_all_measure_are_refused_like_any_mistake(home: Home, text: str) -> None:
    config_file.write_config(home, SystemFiles(), "cadence", "manual")
    home.config_file.write_text(text)
    found = config_file.load_config(home, SystemFiles())
    assert found.problem is not None and found.get("cadence").value == "manual"


@pytest.mark.parametrize("content", [None, b""])
def test_lost_settings_are_written_again_from_their_copy(content: bytes | None) -> None:
    home, files = Context.open().home, SystemFiles()
    config_file.write_config(home, files, "cadence", "manual")
    home.config_file.unlink() if content is None else home.config_file.write_bytes(content)
    assert config_file.load_config(home, files).get("cadence").value == "manual"
    assert config_file.parse_settings(home.config_file.read_bytes()) == {"cadence": "manual"}


def test_the_last_setting_that_is_taken_back_does_not_come_back() -> None:
    home, files = Context.open().home, SystemFiles()
    config_file.write_config(home, files, "cadence", "manual")
    config_file.write_config(home, files, "cadence", None)
    assert config_file.load_config(home, files).get("cadence").source == config_file.DEFAULT
