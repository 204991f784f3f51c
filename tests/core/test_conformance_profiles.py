"""Every shipped profile passes the tests that every runtime must pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.folder import folder_profile, shipped_profiles
from lifeboat_adapters.folder.folder_adapter import FolderAdapter
from lifeboat_adapters.testing import SampleInstallation
from lifeboat_core.testing import RuntimeConformance
from lifeboat_core.testing.runtime_harness import Harness
from support.adapters.profile_installs import INSTALLS, REMEMBERED, write_files


class _OfProfile(RuntimeConformance):
    name: str

    def adapter(self) -> Adapter:
        return adapter_registry.load_adapter(self.name)

    def make(self, folder: Path) -> SampleInstallation:
        return INSTALLS[self.name](folder)

    def remember(self, made: SampleInstallation, text: str) -> None:
        file, form = REMEMBERED[self.name]
        path = made.workspace / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as stream:
            stream.write(form.format(text))


class TestMarkdown(_OfProfile):
    name = "markdown"


class TestObsidian(_OfProfile):
    name = "obsidian"


class TestNanobot(_OfProfile):
    name = "nanobot"


class TestPicoClaw(_OfProfile):
    name = "picoclaw"


class TestOpencode(_OfProfile):
    name = "opencode"


class TestGemini(_OfProfile):
    name = "gemini"


class TestGoose(_OfProfile):
    name = "goose"


class TestHermes(_OfProfile):
    name = "hermes"


class TestCodex(_OfProfile):
    name = "codex"


class TestClaudeCode(_OfProfile):
    name = "claude-code"


@pytest.mark.parametrize("name", INSTALLS)
def test_a_restore_into_an_unrelated_folder_writes_nothing_beside_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "installed").mkdir()
    made = INSTALLS[name](tmp_path / "installed")
    harness = Harness.begin(adapter_registry.load_adapter(name), made, tmp_path / "home")
    target = tmp_path / "elsewhere" / "look"
    target.parent.mkdir()
    (target.parent / "config.json").write_text('{"of": "another program"}')
    harness.restore(target)
    assert sorted(path.name for path in target.parent.iterdir()) == ["config.json", "look"]
    assert (target.parent / "config.json").read_text() == '{"of": "another program"}'


def test_a_restore_into_a_folder_of_the_runtime_writes_its_files(tmp_path: Path) -> None:
    (tmp_path / "installed").mkdir()
    made = INSTALLS["nanobot"](tmp_path / "installed")
    harness = Harness.begin(adapter_registry.load_adapter("nanobot"), made, tmp_path / "home")
    harness.restore(tmp_path / "elsewhere" / ".nanobot" / "workspace")
    restored = tmp_path / "elsewhere" / ".nanobot" / "config.json"
    assert restored.read_bytes() == (made.workspace.parent / "config.json").read_bytes()


@pytest.mark.parametrize("rule", ["whole = true", "paths = []"])
def test_a_file_that_a_profile_names_is_cut_whatever_its_suffix(tmp_path: Path, rule: str) -> None:
    text = """
name = "pebble"
title = "Pebble"
[marks]
certain = ["pebble.md"]
"""
    value = "q7Zt9Xw2Kp4Rv8Lm"
    name = "seal.bin" if rule.startswith("whole") else "deploy/prod.env"
    profile = folder_profile.parse_profile(f'{text}[[credentials]]\nglob = "{name}"\n{rule}\n', "pebble.toml")
    folder = tmp_path / "installed" / "ws"
    write_files(folder, {"pebble.md": "# a\n", name: f"TIDE_API_KEY={value}\n"})
    harness = Harness.begin(
        FolderAdapter(profile), SampleInstallation(folder, tmp_path / "installed"), tmp_path / "home"
    )
    with harness.context.vault(harness.agent.id) as vault:
        state = vault.state()
        bodies = {entry.path: state.body(entry.path) for entry in state.entries("")}
    assert f"artifacts/{name}" in bodies and not any(value.encode() in body for body in bodies.values())


def test_every_shipped_profile_is_tested() -> None:
    assert INSTALLS.keys() == REMEMBERED.keys() == shipped_profiles.load_shipped_profiles().keys()
    tested = {each.name for each in _OfProfile.__subclasses__()}
    assert tested == INSTALLS.keys()
