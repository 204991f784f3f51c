"""The site that `make docs-site` builds: every page, command and error code, and nothing from another server."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
import yaml

from support.docs import doc_pages, docs_site
from support.docs.docs_site import SiteError
from support.paths import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Building it fails on a broken link, a page outside the navigation, or a load from elsewhere."""
    return docs_site.build_site(tmp_path_factory.mktemp("docs"))


def test_the_navigation_has_the_four_doors_and_a_section_for_operators() -> None:
    nav = yaml.safe_load((ROOT / "docs" / "site.yml").read_text())["nav"]
    titles = [next(iter(entry)) for entry in nav]
    assert titles[:6] == ["Home", "Get started", "Guides", "Concepts", "Reference", "Operate an endpoint"]
    pages = list(docs_site.list_navigation(nav))
    assert len(pages) == len(set(pages))


def test_every_command_has_a_page(site: Path) -> None:
    for words, command in doc_pages.commands().items():
        text = (site / "commands" / f"{words.replace(' ', '-')}.html").read_text()
        options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
        shown = [each.opts[0] for each in options if each.opts[0] not in ("--json", "--no-pager")]
        assert [option for option in shown if option not in text] == [], words
        assert f"lifeboat {words}" in text


def test_every_error_code_has_a_heading(site: Path) -> None:
    text = (site / "errors.html").read_text()
    assert [kind.code for kind in doc_pages.error_kinds() if f'id="{kind.code}"' not in text] == []


@pytest.mark.parametrize("name", ["adapters/notebook_runtime.py", "core/sqlite_remote.py"])
def test_a_source_file_that_a_page_links_is_in_the_site(name: str, site: Path) -> None:
    path = f"tests/support/{name}"
    assert (site / path).read_text() == (ROOT / path).read_text()


def test_the_search_knows_pages_commands_and_errors(site: Path) -> None:
    found = {entry["location"] for entry in json.loads((site / "search.json").read_text())["items"]}
    assert {"tutorial.html", "commands/agents-add.html", "errors.html#unknown_agent"} <= found


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        ("See [remotes](no-such-page.md).", "no-such-page.md"),
        ("See [remotes](remotes.md#no-such-heading).", "no-such-heading"),
        ("See [add](commands.md#lifeboat-no-such-command).", "lifeboat-no-such-command"),
        ("![Picture](https://pictures.example.com/boat.png)", "pictures.example.com"),
    ],
)
def test_a_page_that_leads_nowhere_or_loads_from_elsewhere_ends_the_build(
    added: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = tmp_path / "root"
    (pages / "docs").mkdir(parents=True)
    for name in (*docs_site.SITE_PAGES, "LICENSE"):
        (pages / name).write_text(f"# {name}\n")
    (pages / "docs" / "remotes.md").write_text(f"# Remotes\n\n{added}\n")
    nav = [*docs_site.SITE_PAGES.values(), "remotes.md", {"Commands": "commands.md"}, "errors.md"]
    theme = {"variant": "modern", "font": False}
    (pages / "docs" / "site.yml").write_text(yaml.safe_dump({"site_name": "Boats", "theme": theme, "nav": nav}))
    monkeypatch.setattr(docs_site, "ROOT", pages)
    sync = doc_pages.commands()["sync"]
    monkeypatch.setattr(doc_pages, "commands", lambda: {"sync": sync})
    monkeypatch.setattr(doc_pages, "COMMANDS", "# Commands\n")
    with pytest.raises(SiteError, match=problem):
        docs_site.build_site(tmp_path / "build")


def test_a_page_outside_the_navigation_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "forgotten.md").write_text("# Forgotten\n")
    with pytest.raises(SiteError, match=r"forgotten\.md"):
        docs_site.check_navigation(["index.md"], tmp_path)
