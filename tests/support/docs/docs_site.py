"""The documentation as a site: the pages of docs/, one page for each command, one heading for each error code.

    PYTHONPATH=tests python -m support.docs.docs_site      builds build/docs/site (`make docs-site`)

The build fails on a link or an anchor that leads nowhere, on a page outside the navigation, and on a site that would
load anything from another server. It needs no network.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import yaml

from support.docs import doc_pages
from support.paths import ROOT

BUILD = ROOT / "build" / "docs"
SITE_PAGES = {"README.md": "index.md"} | {name: name for name in ("SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")}
"""Pages at the root of the repository, and their names in the site."""
_SOURCE_FILE = re.compile(r"\]\((?:\.\./)+((?:\w+/)+\w+\.py)\)")
"""A link to a source file. The site has a copy at the same path."""
_LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
"""Elements that make a browser fetch something, with the attribute that names it."""
_LOADING_RELATIONS = {"stylesheet", "preload", "prefetch", "preconnect", "dns-prefetch", "icon", "modulepreload"}


class SiteError(Exception):
    """A problem of the pages that ends the build."""


def build_site(folder: Path = BUILD) -> Path:
    """Build the site below a folder and return the folder with its HTML. Raises SiteError."""
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "source"
    source.mkdir(parents=True)
    _write_source(source)
    config = _make_config()
    (folder / "mkdocs.yml").write_text(json.dumps(config), encoding="utf-8")
    check_navigation(config["nav"], source)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(folder / "mkdocs.yml")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode != 0 or "issues found" in done.stdout:
        raise SiteError(re.sub(r"\x1b\[[0-9;]*m", "", f"{done.stdout}{done.stderr}"))
    site = folder / "site"
    pages = _parse_pages(site)
    problems = [*_broken_links(site, pages), *_foreign_loads(site, pages)]
    if problems:
        raise SiteError("\n".join(problems))
    return site


# Source -----------------------------------------------------------------------------------------------------------


def _write_source(source: Path) -> None:
    for path in (ROOT / "docs").rglob("*"):
        target = source / path.relative_to(ROOT / "docs")
        if path.is_dir():
            target.mkdir(exist_ok=True)
        elif path.suffix == ".md":
            depth = len(target.relative_to(source).parts) - 1
            text = path.read_text(encoding="utf-8")
            for name in _SOURCE_FILE.findall(text):
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                (source / name).write_bytes((ROOT / name).read_bytes())
            _write_page(target, _relink(text, depth))
        elif path.suffix != ".yml":
            target.write_bytes(path.read_bytes())
    for name, target_name in SITE_PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](").replace('src="docs/', 'src="')
        text = text.replace("](LICENSE)", "](LICENSE.md)").replace("](README.md)", "](index.md)")
        _write_page(source / target_name, _relink(text, 0))
    _write_page(source / "LICENSE.md", f"# Licence\n\n{(ROOT / 'LICENSE').read_text(encoding='utf-8')}")
    _write_page(source / "commands.md", _commands_index())
    (source / "commands").mkdir()
    for words in doc_pages.commands():
        _write_page(source / _command_page(words), _relink(_command_text(words), 1))
    _write_page(source / "errors.md", _errors_text())


def _write_page(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _relink(text: str, depth: int) -> str:
    """Return a page whose links to root pages, commands and source files lead to their places in the site."""
    up = "../" * depth
    text = _SOURCE_FILE.sub(rf"]({up}\1)", text)
    for name, target in SITE_PAGES.items():
        text = text.replace(f"]({'../' * (depth + 1)}{name}", f"]({up}{target}")
    known = {_anchor(words): words for words in doc_pages.commands()}

    def page_of_command(found: re.Match[str]) -> str:
        if found[1] not in known:
            raise SiteError(f"no command has the anchor {found[1]}")
        return f"]({up}{_command_page(known[found[1]])})"

    return re.sub(r"\]\((?:\.\./)*commands\.md#([a-z-]+)\)", page_of_command, text)


def _anchor(words: str) -> str:
    return "lifeboat" if not words else f"lifeboat-{words.replace(' ', '-')}"


def _command_page(words: str) -> str:
    return f"commands/{words.replace(' ', '-')}.md"


def _commands_index() -> str:
    """Return the page of the commands: what they have in common, and a list with a line for each."""
    rows = []
    for words, command in doc_pages.commands().items():
        summary = command.get_short_help_str(100).rstrip(".")
        rows.append(f"| [`lifeboat {words}`]({_command_page(words)}) | {summary} |")
    return "\n".join([doc_pages.COMMANDS, "| command | |", "|---|---|", *rows, ""])


def _command_text(words: str) -> str:
    return f"# lifeboat {words}\n\n" + doc_pages.command_section(words).split("\n", 2)[2]


def _errors_text() -> str:
    """Return the page of the errors with a heading for each code, so that search finds it and a link can name it."""
    parts = [doc_pages.ERRORS]
    for code, error in doc_pages.described_errors().items():
        parts.append(f"## {code}\n")
        parts += [f"- {line}" for line in (", ".join(error.remarks), error.text) if line]
        parts += [f"- fix: {error.fix}"] if error.fix else []
        parts.append("")
    return "\n".join(parts)


# Configuration ----------------------------------------------------------------------------------------------------


def _make_config() -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "site.yml").read_text(encoding="utf-8"))
    config |= {"docs_dir": "source", "site_dir": "site", "site_url": ""}
    config["nav"] = [_with_commands(entry) for entry in config["nav"]]
    return config


def _with_commands(entry: Any) -> Any:
    """Return an entry of the navigation with the pages of commands below their index."""
    if isinstance(entry, dict):
        ((title, value),) = entry.items()
        if value == "commands.md":
            pages: list[Any] = [{words: _command_page(words)} for words in doc_pages.commands()]
            return {title: ["commands.md", *pages]}
        return {title: [_with_commands(each) for each in value] if isinstance(value, list) else value}
    return entry


def list_navigation(entries: list[Any]) -> Iterator[str]:
    """Yield every page of a navigation."""
    for entry in entries:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(value, list):
            yield from list_navigation(value)
        else:
            yield value


def check_navigation(nav: list[Any], source: Path) -> None:
    """Refuse a navigation that lacks a page or names one that does not exist. Raises SiteError."""
    named = sorted(list_navigation(nav))
    written = sorted(path.relative_to(source).as_posix() for path in source.rglob("*.md") if path.name != "LICENSE.md")
    if named != written:
        raise SiteError(f"docs/site.yml names other pages than there are: {sorted(set(named) ^ set(written))}")


# The built site ---------------------------------------------------------------------------------------------------


class _PageParser(HTMLParser):
    """Collects the ids, the links, and what a browser fetches for one page."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and not _LOADING_RELATIONS & set(given.get("rel", "").split()):
            return
        if given.get(_LOADING.get(tag, "")):
            self.loads.append(given[_LOADING[tag]])


def _parse_pages(site: Path) -> dict[Path, _PageParser]:
    pages = {}
    for path in site.rglob("*.html"):
        pages[path] = _PageParser()
        pages[path].feed(path.read_text(encoding="utf-8"))
    return pages


def _broken_links(site: Path, pages: dict[Path, _PageParser]) -> Iterator[str]:
    """Yield every link between pages of the site whose page or anchor does not exist."""
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:|//", link) or path.name == "404.html":
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{path.relative_to(site)}: no page {link}"
            elif anchor and target in pages and anchor not in pages[target].ids:
                yield f"{path.relative_to(site)}: no heading {link}"


def _foreign_loads(site: Path, pages: dict[Path, _PageParser]) -> Iterator[str]:
    """Yield everything that a page or style sheet would fetch from another server."""
    for path, page in pages.items():
        yield from (f"{path.relative_to(site)} loads {each}" for each in page.loads if re.match(r"[a-z]+://|//", each))
    for path in site.rglob("*.css"):
        found = re.findall(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')]+)", path.read_text(encoding="utf-8"))
        yield from (f"{path.relative_to(site)} loads {each}" for each in found)


def main() -> int:
    try:
        site = build_site()
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{site.relative_to(ROOT)}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
