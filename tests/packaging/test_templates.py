"""Recipes for systems that these tests do not run on: each is rendered and looked at."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import click
import pytest

import container_lint
import formula
import locked
import manual
import units
from facts import ROOT

_CONTAINER = ROOT / "packaging" / "container" / "Containerfile"
_RECIPES = (_CONTAINER, _CONTAINER.with_name("Containerfile.endpoint"))
_SCRIPTS = sorted((ROOT / "packaging" / "debian").glob("p*"))


# Homebrew -----------------------------------------------------------------------------------------------------------


class _Index(BaseHTTPRequestHandler):
    """A package index that has one source distribution, and a wheel, of each name."""

    known: ClassVar[dict[str, str]] = {}

    def do_GET(self) -> None:
        name = self.path.strip("/").rpartition("/")[2]
        digest = {"sha256": self.known[name]}
        wheel = {"filename": f"{name}.whl", "url": f"../files/{name}.whl", "hashes": digest}
        other = {"filename": f"{name}-0.tar.gz", "url": "../files/other", "hashes": {"sha256": "0" * 64}}
        source = {
            "filename": f"{name}.tar.gz",
            "url": f"../files/{name}.tar.gz",
            "hashes": {"sha256": self.known[name]},
        }
        body = json.dumps({"files": [wheel, other, source]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    _Index.known = {each.name: each.hashes[0] for each in locked.read()}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Index)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/simple"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def sdist(tmp_path: Path) -> Path:
    path = tmp_path / "agent_lifeboat-0.2.0.tar.gz"
    path.write_bytes(b"source")
    return path


def _formula(sdist: Path, index: str, **more: Path) -> str:
    return formula.render(sdist, homepage="https://example.com", release="https://example.com/r/", index=index, **more)


def test_the_formula_has_a_resource_for_everything_that_runs_on_a_mac(sdist: Path, index: str) -> None:
    text = _formula(sdist, index)
    resources = dict(re.findall(r'resource "([^"]+)" do\n    url "[^"]+"\n    sha256 "([0-9a-f]{64})"\n  end', text))
    assert resources == {each.name: each.hashes[0] for each in formula.wanted(ROOT / "requirements.lock")}
    assert not resources.keys() & {"secretstorage", "jeepney", "hatchling", "pip"}, "none of these runs on a Mac"
    assert 'url "https://example.com/r/agent_lifeboat-0.2.0.tar.gz"' in text
    assert not re.search(r"@[A-Z]+@", text)
    assert text.startswith("class AgentLifeboat < Formula\n")


def test_the_formula_is_ruby(sdist: Path, index: str) -> None:
    if shutil.which("ruby") is None:
        pytest.skip("needs ruby")
    done = subprocess.run(["ruby", "-c"], input=_formula(sdist, index), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_words_and_ends_of_the_formula_are_balanced(sdist: Path, index: str) -> None:
    """What can be said without ruby."""
    lines = [line.strip() for line in _formula(sdist, index).splitlines()]
    begun = [line for line in lines if re.match(r"(class|def) ", line) or re.search(r"\bdo$", line)]
    assert len(begun) == lines.count("end")


def test_a_file_that_the_lock_does_not_name_is_not_taken(sdist: Path, index: str, tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text(f"click==8.5.1 \\\n    --hash=sha256:{'1' * 64}\n    # via agent-lifeboat (pyproject.toml)\n")
    with pytest.raises(formula.NotInIndex, match=r"click 8\.5\.1"):
        _formula(sdist, index, lock=lock)


# Container ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", _RECIPES, ids=lambda recipe: recipe.name)
def test_the_recipe_of_a_container_keeps_the_rules(recipe: Path) -> None:
    assert container_lint.findings(recipe, ROOT) == []


def test_the_server_in_a_container_is_locked_as_everything_is() -> None:
    tested = {each.name: each for each in locked.read(ROOT / "requirements-dev.lock")}
    installed = {each.name: each for each in locked.read(_CONTAINER.with_name("endpoint.lock"))}
    extra = {"httptools", "prometheus-client", "starlette", "uvicorn", "uvloop"}
    assert installed.keys() >= {each.name for each in locked.read()} | extra
    assert {name: (each.version, each.hashes) for name, each in installed.items()} == {
        name: (tested[name].version, tested[name].hashes) for name in installed
    }


@pytest.mark.parametrize("recipe", _RECIPES, ids=lambda recipe: recipe.name)
def test_a_container_sheds_exactly_what_only_builds(recipe: Path) -> None:
    removed = re.search(r"pip uninstall --yes ([a-z -]+?) *\\", recipe.read_text())
    assert removed is not None
    only_builds = {each.name for each in locked.read()} - {each.name for each in locked.needed()}
    assert set(removed[1].split()) == only_builds


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("USER 10001:10001", "USER root", "it runs as root"),
        ("USER 10001:10001\n", "", "no USER"),
        ("bookworm\n", "bookworm:latest\n", "base is not pinned: python:3.13-slim-bookworm:latest"),
        (
            "ARG BASE=",
            "ARG BASE=registry.example.com/",
            "base names a registry: registry.example.com/python:3.13-slim-bookworm",
        ),
        ("COPY tui ./tui", "COPY gone ./gone", "COPY of gone, which does not exist"),
        ('ENTRYPOINT ["lifeboat"]', "ENTRYPOINT lifeboat", "ENTRYPOINT goes through a shell"),
        ("--require-hashes ", "", "RUN installs without hashes"),
        ("FROM ${BASE} AS run", "RUN true", "only one stage"),
        ("WORKDIR", "MAINTAINER ada\nWORKDIR", "unknown instruction MAINTAINER"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_found(tmp_path: Path, old: str, new: str, finding: str) -> None:
    text = _CONTAINER.read_text()
    assert old in text
    recipe = tmp_path / "Containerfile"
    recipe.write_text(text.replace(old, new, 1))
    assert any(finding in each for each in container_lint.findings(recipe, ROOT))


# Units --------------------------------------------------------------------------------------------------------------


def test_units_are_written_for_three_systems(tmp_path: Path) -> None:
    made = units.write(tmp_path)
    assert [path.name for path in made] == ["lifeboat.service", "agent-lifeboat.service.plist", "lifeboat-task.xml"]
    assert all(path.stat().st_size > 500 for path in made)


@pytest.mark.parametrize(
    ("name", "old", "new", "finding"),
    [
        ("lifeboat.service", "WatchdogSec=", "#", "no WatchdogSec"),
        ("lifeboat.service", "@PYTHON@", "/bin/true", "it starts another program"),
        ("lifeboat.service", "[Install]", "", "sections"),
        ("agent-lifeboat.service.plist", "RunAtLoad", "RunLater", "no RunAtLoad"),
        ("agent-lifeboat.service.plist", "@PYTHON@", "/bin/true", "it starts another program"),
        ("lifeboat-task.xml", "LogonTrigger", "BootTrigger", "no Triggers/LogonTrigger/UserId"),
        ("lifeboat-task.xml", "@PYTHON@", "", "no Actions/Exec/Command"),
    ],
)
def test_what_is_wrong_with_a_unit_is_found(name: str, old: str, new: str, finding: str) -> None:
    coding = "utf-16" if name.endswith(".xml") else "utf-8"
    text = units.FILES[name]().decode(coding)
    assert units.findings(name, text.encode(coding)) == []
    assert old in text
    assert any(finding in each for each in units.findings(name, text.replace(old, new).encode(coding)))


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    unit = tmp_path / "lifeboat.service"
    unit.write_text(units.FILES[unit.name]().decode().replace("@PYTHON@", "/bin/true"))
    run_folder = tmp_path / "run"
    run_folder.mkdir(mode=0o700)
    around = {"XDG_RUNTIME_DIR": str(run_folder), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = ["systemd-analyze", "--user", "--man=no", "verify", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, env=around)
    if "initialize manager" in done.stderr:
        pytest.skip(f"systemd-analyze does not work here: {done.stderr.strip()}")
    said = [line for line in done.stderr.splitlines() if unit.name in line]
    assert (done.returncode, said) == (0, [])


# Manual page and maintainer scripts -----------------------------------------------------------------------------------


def test_the_manual_page_names_every_command_and_option() -> None:
    plain = manual.page("2026-11-22", "0.2.0").replace("\\-", "-")
    for words, command in manual.walk_commands("lifeboat", manual.program):
        assert f".SS {words}" in plain
        options = [item for item in command.params if isinstance(item, click.Option) and not item.hidden]
        assert [item.opts[-1] for item in options if f"{item.opts[-1]}" not in plain] == [], words


def test_nothing_in_the_manual_page_is_taken_for_a_request() -> None:
    known = {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".BR", ".I", ".RS", ".RE", ".nf", ".fi"}
    lines = manual.page("2026-11-22", "0.2.0").splitlines()
    assert {line.split()[0] for line in lines if line.startswith(".")} <= known
    assert [line for line in lines if line.startswith("'")] == []


@pytest.mark.parametrize("tool", [["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-Tutf8", "-ww", "-z"]])
def test_the_manual_page_is_well_formed(tmp_path: Path, tool: list[str]) -> None:
    if shutil.which(tool[0]) is None:
        pytest.skip(f"needs {tool[0]}")
    page = tmp_path / "lifeboat.1"
    page.write_text(manual.page("2026-11-22", "0.2.0"), encoding="utf-8")
    done = subprocess.run([*tool, str(page)], capture_output=True, text=True)
    assert (done.stdout + done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("script", _SCRIPTS, ids=lambda path: path.name)
def test_a_script_of_the_package_is_shell_and_names_no_home(script: Path) -> None:
    subprocess.run(["sh", "-n", str(script)], check=True)
    text = script.read_text()
    assert text.startswith("#!/bin/sh\n") and "set -e\n" in text
    assert not re.search(r"/home|/root|~|XDG_|LIFEBOAT_HOME|--now| enable", "\n".join(text.splitlines()[3:]))


def test_packaging_is_no_package_of_python() -> None:
    """It would hide the library of that name."""
    assert list((ROOT / "packaging").rglob("__init__.py")) == []
