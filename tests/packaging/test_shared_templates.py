"""Examples of a shared endpoint, for systemd and for containers, say nothing that the program does not understand."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
import yaml

import manual
from facts import ROOT
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_endpoint.engines.objects import store_address
from lifeboat_endpoint.engines.postgres import connection_pools
from lifeboat_endpoint.server.process_supervisor import SILENT_SECONDS
from lifeboat_endpoint.server.routes import about_routes

_COMPOSE = ROOT / "packaging" / "compose"
_UNITS = sorted((ROOT / "packaging" / "systemd").glob("lifeboat-endpoint*.service"))
_COMMANDS = dict(manual.walk_commands("lifeboat", manual.program))
_IMAGE_BEGINS = ["lifeboat", "endpoint", "serve", "--listen", "0.0.0.0:8443"]


def understood(words: list[str]) -> click.Context:
    """What the program makes of a command line. Raises click.UsageError."""
    name = max((each for each in _COMMANDS if f"{' '.join(words)} ".startswith(f"{each} ")), key=len)
    return _COMMANDS[name].make_context(name, words[len(name.split()) :])


@pytest.fixture(scope="module")
def compose() -> JsonObject:
    found: JsonObject = yaml.safe_load((_COMPOSE / "compose.yaml").read_text())
    return found


def ours(compose: JsonObject) -> dict[str, JsonObject]:
    return {name: each for name, each in compose["services"].items() if each["image"] == "lifeboat-endpoint"}


def seen(service: JsonObject) -> dict[str, str]:
    """The names of the files below /run/secrets, and what they are in the example."""
    given = [{"source": each, "target": each} if isinstance(each, str) else each for each in service.get("secrets", [])]
    return {each["target"]: each["source"] for each in given}


def mounted(service: JsonObject) -> list[tuple[str, bool]]:
    """What of the machine is mounted, and whether for reading only."""
    short = [each for each in service.get("volumes", []) if isinstance(each, str)]
    long = [each for each in service.get("volumes", []) if each not in short]
    found = [(each.partition(":")[0], each.endswith(":ro")) for each in short]
    return found + [(each["source"], bool(each.get("read_only"))) for each in long]


def told() -> list[list[str]]:
    """The words of every command that the example tells to give."""
    head = (_COMPOSE / "compose.yaml").read_text().partition("x-lifeboat:")[0]
    lines = re.sub(r"\\\n#\s+", "", head).splitlines()
    commands = [each.removeprefix("#   ") for each in lines if re.match(r"#   (docker|podman) ", each)]
    return [shlex.split(part, comments=True) for each in commands for part in each.split(" | ")]


def line(service: JsonObject) -> list[str]:
    return [*service.get("entrypoint", _IMAGE_BEGINS), *service["command"], "--data", "/var/lib/lifeboat/data"]


def test_there_are_two_servers_and_two_workers(compose: JsonObject) -> None:
    assert ours(compose).keys() == {"server-1", "server-2", "worker-1", "worker-2", "prepare"}
    assert {"database", "objects", "balancer"} == compose["services"].keys() - ours(compose).keys()


def test_the_program_understands_every_command(compose: JsonObject) -> None:
    for name, service in ours(compose).items():
        assert understood(line(service)).params, name


def test_every_command_of_its_first_steps_and_of_an_upgrade_is_understood(compose: JsonObject) -> None:
    runs = [words for words in told() if words[:3] == ["docker", "compose", "run"]]
    assert len(runs) == 4
    for words in runs:
        at = next(number for number, word in enumerate(words) if word in compose["services"])
        service, arguments = compose["services"][words[at]], words[at + 1 :]
        begin = ["lifeboat"] if "--entrypoint" in words else service["entrypoint"]
        given = understood([*begin, *(arguments or service["command"]), "--data", "/var/lib/lifeboat/data"]).params
        assert given.get("database") is None or connection_pools.check_database_address(given["database"])


def test_an_upgrade_takes_one_server_after_the_other(compose: JsonObject) -> None:
    """Of what is brought up with other settings than before, `--no-deps` among them, `up` makes all anew at once."""
    alone = [words[-1] for words in told() if words[:5] == ["docker", "compose", "up", "-d", "--wait"]]
    assert [name for name in alone if name.startswith("server")] == ["server-1", "server-2"]
    assert all("--no-deps" not in words for words in told() if "up" in words)


def test_a_process_has_the_password_of_no_other_role(compose: JsonObject) -> None:
    passwords = {name: seen(service)["pgpass"] for name, service in ours(compose).items()}
    for name, source in passwords.items():
        assert source == f"pgpass-{name.partition('-')[0]}"


def test_the_database_is_well_only_when_it_is_reached_as_the_others_reach_it(compose: JsonObject) -> None:
    asked = compose["services"]["database"]["healthcheck"]["test"]
    assert asked[asked.index("-h") + 1] == "127.0.0.1"


def test_an_option_that_there_is_not_is_found() -> None:
    with pytest.raises(click.UsageError):
        understood(["lifeboat", "endpoint", "serve", "--no-such-option"])


def test_every_secret_and_volume_that_is_named_is_there(compose: JsonObject) -> None:
    for name, service in compose["services"].items():
        used = set(re.findall(r"/run/secrets/([\w.-]+)", yaml.safe_dump(service)))
        assert used <= seen(service).keys(), name
        assert set(seen(service).values()) <= compose["secrets"].keys(), name
        volumes = {source for source, _ in mounted(service)}
        assert {each for each in volumes if not each.startswith(".")} <= compose["volumes"].keys()
        assert service.get("depends_on", {}).keys() <= compose["services"].keys()


def test_the_database_and_the_object_store_are_reached_over_verified_tls(compose: JsonObject) -> None:
    given = understood(line(compose["services"]["prepare"])).params
    assert "sslmode=verify-full" in connection_pools.check_database_address(given["database"])
    options = dict(each.split("=", 1) for each in given["options"])
    assert not store_address.check_store_address(given["objects"], options).is_plain
    assert "-cssl_min_protocol_version=TLSv1.3" in compose["services"]["database"]["command"]


def test_containers_write_nowhere_and_may_nothing(compose: JsonObject) -> None:
    for name, service in ours(compose).items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert name == "prepare" or all(read_only for _, read_only in mounted(service))


def test_a_missing_endpoint_json_does_not_become_a_folder(compose: JsonObject) -> None:
    for name, service in ours(compose).items():
        short = [each for each in service["volumes"] if isinstance(each, str)]
        assert not [each for each in short if "endpoint.json" in each], name
        assert all(not each["bind"]["create_host_path"] for each in service["volumes"] if each not in short), name


def test_the_balancer_passes_tls_through_and_asks_who_is_ready(compose: JsonObject) -> None:
    text = (_COMPOSE / "haproxy.cfg").read_text()
    assert re.findall(r"^\s+server (\S+) (\S+)", text, re.MULTILINE) == [
        (name, f"{name}:8443") for name in ours(compose) if name.startswith("server")
    ]
    asked = re.search(r"option httpchk GET (\S+)", text)
    assert asked is not None and asked[1] in {route.path for route in about_routes.ROUTES}
    assert "mode tcp" in text and "ssl crt" not in text


def test_the_balancer_finds_a_server_that_has_another_address_now() -> None:
    text = (_COMPOSE / "haproxy.cfg").read_text()
    named = re.search(r"^resolvers (\S+)\n +parse-resolv-conf$", text, re.MULTILINE)
    assert named is not None
    default = re.search(r"^ +default-server (.*)$", text, re.MULTILINE)
    assert default is not None and f"resolvers {named[1]} init-addr none" in default[1]


# Units --------------------------------------------------------------------------------------------------------------


def settings(unit: Path) -> dict[str, str]:
    lines = unit.read_text().splitlines()
    return dict(each.split("=", 1) for each in lines if "=" in each and not each.startswith("#"))


@pytest.mark.parametrize("unit", _UNITS, ids=lambda unit: unit.name)
def test_the_program_understands_what_a_unit_starts(unit: Path) -> None:
    """With the options that its own comment shows."""
    shown = re.search(r"LIFEBOAT_OPTIONS=(--proxy [\d.]*\d)", unit.read_text())
    start = settings(unit)["ExecStart"].replace("$LIFEBOAT_OPTIONS", shown[1] if shown else "")
    words = shlex.split(start.replace("%i", "8443"))
    assert words[0] == "/opt/lifeboat/bin/lifeboat"
    assert understood(["lifeboat", *words[1:]]).params


@pytest.mark.parametrize("unit", _UNITS, ids=lambda unit: unit.name)
def test_the_watchdog_waits_until_a_process_that_hangs_was_replaced(unit: Path) -> None:
    assert int(settings(unit)["WatchdogSec"]) > 3 * SILENT_SECONDS


@pytest.mark.parametrize("unit", _UNITS, ids=lambda unit: unit.name)
def test_a_unit_has_as_long_to_stop_as_the_program_takes(unit: Path) -> None:
    found = settings(unit)
    given = dict(re.findall(r"--(drain|finish) (\d+)", found["ExecStart"]))
    assert int(found["TimeoutStopSec"]) > sum(int(seconds) for seconds in given.values())


def test_the_units_say_how_a_program_with_a_server_comes_to_where_they_start_it() -> None:
    """The Debian package has none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, wanted in (
        ("lifeboat-endpoint.service", {"server"}),
        ("lifeboat-endpoint@.service", {"server", "scale"}),
    ):
        text = (ROOT / "packaging" / "systemd" / name).read_text()
        found = re.search(r"^#   /opt/lifeboat/bin/pip install '[\w.-]+\.whl\[([\w,]+)\]'$", text, re.MULTILINE)
        assert found is not None and set(found[1].split(",")) == wanted <= project["optional-dependencies"].keys()


def test_a_process_of_a_shared_endpoint_begins_no_endpoint_of_its_own() -> None:
    """`serve` makes one where its folder holds none."""
    for unit in _UNITS:
        found = settings(unit)
        folder = found["ExecStart"].partition("--data ")[2].split()[0]
        shared = unit.name != "lifeboat-endpoint.service"
        assert found.get("AssertPathExists") == (f"{folder}/endpoint.json" if shared else None)


def test_all_units_may_as_little() -> None:
    """What was tried with one of them was tried with all."""
    limits = {unit.read_text().partition("\nUMask=")[2] for unit in _UNITS}
    assert len(limits) == 1
    assert {"ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet="} <= set(limits.pop().splitlines())


@pytest.mark.parametrize("unit", _UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_a_unit(unit: Path, tmp_path: Path) -> None:
    copy = of_systemd(unit, tmp_path)
    done = subprocess.run(["systemd-analyze", "--man=no", "verify", copy], capture_output=True, text=True)
    assert (done.returncode, [each for each in done.stderr.splitlines() if copy.name in each]) == (0, [])


@pytest.mark.parametrize("unit", _UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_little_that_a_unit_may(unit: Path, tmp_path: Path) -> None:
    """Tenths of a point; a service without limits has 96."""
    command = ["systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=15"]
    done = subprocess.run([*command, of_systemd(unit, tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def of_systemd(unit: Path, folder: Path) -> Path:
    """A copy that can be checked where the program is not installed."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    copy = folder / unit.name.replace("@", "@8443")
    copy.write_text(unit.read_text().replace("/opt/lifeboat/bin/lifeboat", "/bin/true"))
    return copy
