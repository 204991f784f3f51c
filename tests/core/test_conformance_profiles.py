"""Every shipped profile passes the tests that every runtime must pass."""

from __future__ import annotations

from pathlib import Path

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.folder import shipped_profiles
from lifeboat_adapters.testing import SampleInstallation
from lifeboat_core.testing import RuntimeConformance
from support.adapters.profile_installs import INSTALLS, REMEMBERED


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


def test_every_shipped_profile_is_tested() -> None:
    assert INSTALLS.keys() == REMEMBERED.keys() == shipped_profiles.load_shipped_profiles().keys()
    tested = {each.name for each in _OfProfile.__subclasses__()}
    assert tested == INSTALLS.keys()
