"""A profile is data: what it may say, how it divides files, which values it cuts, and what it is recognised by."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.contract import Adapter, Installation, Placement
from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.errors import NotAWorkspace, ProfileInvalid, RuntimeDatabaseError
from lifeboat_adapters.folder import folder_profile, profile_credentials, profile_trial, shipped_profiles
from lifeboat_adapters.folder.folder_adapter import FolderAdapter
from support.adapters.profile_installs import INSTALLS, KEY, make_nanobot, write_files

PLAIN = """
name = "pebble"
title = "Pebble"

[marks]
certain = ["pebble.json"]
"""


def _adapter(text: str = "") -> FolderAdapter:
    return FolderAdapter(folder_profile.parse_profile(PLAIN + text, "pebble.toml"))


# What a profile may say ------------------------------------------------------------------------------------------

WRONG = {
    "no TOML": ("name =", "Invalid value"),
    "a name with capitals": (PLAIN.replace('"pebble"', '"Pebble"'), "name"),
    "an unknown key": (PLAIN + "[[credentials]]\nglob = 'a'\npath = ['x']\n", "unknown field `path`"),
    "an unknown division": (PLAIN + "[[memories]]\nglob = 'a'\ndivide = 'lines'\n", "Invalid enum value"),
    "a wrong type": (PLAIN + "[[memories]]\nglob = 3\n", "Expected `str`"),
    "a file outside": (
        PLAIN + "[persona]\nsoul = '../SOUL.md'\n",
        "is not allowed, because it is not a relative path below the workspace",
    ),
    "an absolute file": (
        PLAIN.replace("title", "home_files = ['/etc/x']\ntitle"),
        "is not allowed, because it is not a relative path below the workspace",
    ),
    "no marks": (
        PLAIN.replace('certain = ["pebble.json"]', 'usual = ["a"]'),
        "does not say how to recognise a folder",
    ),
    "a separator for headings": (
        PLAIN + "[[memories]]\nglob = 'a'\nseparator = 'x'\n",
        "separator must be set if divide",
    ),
    "no such memory type": (PLAIN + "[[memories]]\nglob = 'a'\nmemory_type = 'fact'\n", "unknown memory type: fact"),
    "a note that is not read": (PLAIN + "[[memories]]\nglob = 'a/*.md'\nnew = 'b.md'\n", "does not match"),
    "a note with another mark": (
        PLAIN + "[[memories]]\nglob = '*'\nnew = '{x}.md'\n",
        "contains an unknown placeholder",
    ),
    "many memories in a file of one": (
        PLAIN + "[[memories]]\nglob = '*'\ndivide = 'file'\nnew = 'a.md'\n",
        r"the file name in the setting `new` must contain \{id\}",
    ),
    "a list without a path": (
        PLAIN + "[agent]\nlisted_in = '~/x.json'\n",
        "must set both listed_in and listed_at, or neither",
    ),
    "a whole file with paths": (
        PLAIN + "[[credentials]]\nglob = 'a'\nwhole = true\npaths = ['x']\n",
        "must not set both whole and paths",
    ),
    "keys without variables": (PLAIN + "[keys]\nfile = '.env'\n", "must set both file and variables"),
    "keys in another kind of file": (
        PLAIN + "[keys]\nfile = 'keys.yaml'\nvariables = { openai = 'OPENAI_API_KEY' }\n",
        "must be a JSON file or a file with the name .env",
    ),
    "keys without a place in JSON": (
        PLAIN + "[keys]\nfile = 'keys.json'\nvariables = { openai = 'openai' }\n",
        "path must be set for a JSON file",
    ),
    "keys that a capture would not cut out": (
        PLAIN + "[keys]\nfile = '.env'\nvariables = { openai = 'OPENAI_API_KEY' }\n",
        "would capture the keys in plain text",
    ),
    "a key for an odd variable": (
        PLAIN + "[keys]\nfile = '.env'\nvariables = { openai = 'A B' }\n",
        "Expected `str` matching regex",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_profile_is_refused_with_its_file_and_the_place(case: str) -> None:
    text, problem = WRONG[case]
    with pytest.raises(ProfileInvalid, match=problem) as raised:
        folder_profile.parse_profile(text, "pebble.toml")
    assert raised.value.message.startswith("pebble.toml: ")


def test_a_huge_profile_is_refused() -> None:
    with pytest.raises(ProfileInvalid, match="is larger than the limit of 256 KB"):
        folder_profile.parse_profile("#" * (folder_profile.LARGEST + 1), "pebble.toml")


# Memories --------------------------------------------------------------------------------------------------------

ENTRIES = '[[memories]]\nglob = "MEMORY.md"\ndivide = "separator"\nseparator = "\\n§\\n"\n'


def test_entries_stand_between_separators_and_the_file_has_no_final_line_end() -> None:
    adapter = _adapter(ENTRIES)
    sections = adapter.split("raw/pebble/MEMORY.md", "Likes tea.\n§\nHas a boat.")
    assert sections is not None
    assert [(each.content, each.text) for each in sections] == [
        ("Likes tea.\n§\n", "Likes tea."),
        ("Has a boat.", "Has a boat."),
    ]
    assert (
        adapter.join("raw/pebble/MEMORY.md", [("1", "Likes tea."), ("2", "Has a boat.")])
        == "Likes tea.\n§\nHas a boat."
    )


@given(st.lists(st.text(min_size=1).filter(lambda text: text.strip() and not text.endswith("\n")), min_size=1))
def test_any_memories_come_back_as_many_from_a_separated_file(texts: list[str]) -> None:
    adapter = _adapter(ENTRIES)
    joined = adapter.join("raw/pebble/MEMORY.md", [(str(number), text) for number, text in enumerate(texts)])
    sections = adapter.split("raw/pebble/MEMORY.md", joined) or []
    assert [each.text.replace("\n§ \n", "\n§\n") for each in sections] == [
        text.replace("\n§ \n", "\n§\n") for text in texts
    ]


def test_front_matter_gives_the_type_and_the_tags_of_a_file() -> None:
    adapter = _adapter(
        '[[memories]]\nglob = "memory/*.md"\ndivide = "file"\ntype_field = "metadata.type"\n'
        '[memories.types]\nuser = "preference"\nfeedback = "procedural"\n'
    )
    text = "---\nname: tea\ntags: [tea, home]\nmetadata: \n  node_type: memory\n  type: user\n---\nLikes green tea.\n"
    sections = adapter.split("raw/pebble/memory/tea.md", text)
    assert sections is not None and len(sections) == 1
    assert sections[0].fields["memory_type"] == "preference"
    assert sections[0].fields["tags"] == ["tea", "home"]
    assert sections[0].text == text


@pytest.mark.parametrize("text", ["---\n: [\n---\nx\n", "---\n- a\n---\nx\n", "---\nno end\n", "---\n&a [*a]\n---\n"])
def test_front_matter_that_does_not_parse_changes_nothing(text: str) -> None:
    adapter = _adapter(
        '[[memories]]\nglob = "*"\ndivide = "file"\ntype_field = "type"\ntypes = { user = "preference" }\n'
    )
    sections = adapter.split("raw/pebble/a.md", text)
    assert sections is not None and sections[0].fields["memory_type"] == "semantic"


def test_bullets_are_memories_of_their_own() -> None:
    adapter = _adapter('[[memories]]\nglob = "*"\ndivide = "bullets"\n')
    sections = adapter.split("raw/pebble/a.md", "## Added\n- Likes tea.\n- Has a boat,\n  a red one.\n") or []
    assert [each.text for each in sections] == ["## Added\n", "- Likes tea.\n", "- Has a boat,\n  a red one.\n"]


# Credentials ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("providers.*.apiKey", ("providers", "mock", "apiKey"), True),
        ("providers.*.apiKey", ("providers", "apiKey"), False),
        ("list.*.key", ("list", 0, "key"), True),
        ("env.**", ("env", "A", "B"), True),
        ("env.**", ("env",), False),
        ("*", ("a",), True),
        ("*", ("a", "b"), False),
    ],
)
def test_a_pattern_fits_paths_step_by_step(pattern: str, path: tuple[str | int, ...], fits: bool) -> None:
    assert profile_credentials.matches_path(pattern, path) is fits


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("c.json", json.dumps({"odd": {"x": KEY}})),
        ("c.yaml", f"odd:\n  x: {KEY}\n"),
        ("c.toml", f'[odd]\nx = "{KEY}"\n'),
    ],
)
def test_a_listed_path_is_cut_whatever_it_is_called(file: str, text: str) -> None:
    adapter = _adapter('[[credentials]]\nglob = "c.*"\npaths = ["odd.*"]\nbound = true\n')
    assert adapter.credentials is not None
    [found] = adapter.credentials.find(f"raw/pebble/{file}", text.encode()) or []
    assert (found.value, found.bound) == (KEY, True)
    assert adapter.credentials.secret_places(f"raw/pebble/{file}", text.encode(), [found.start]) == [("odd", "x")]


def test_a_credential_file_that_does_not_parse_is_not_captured_in_clear() -> None:
    adapter = _adapter('[[credentials]]\nglob = "c.json"\n')
    assert adapter.credentials is not None
    with pytest.raises(UnparsableSecrets):
        adapter.credentials.find("raw/pebble/c.json", b'{"apiKey": "')


def test_references_and_switches_are_no_credentials() -> None:
    adapter = _adapter('[[credentials]]\nglob = "c.json"\npaths = ["env.**"]\n')
    assert adapter.credentials is not None
    data = json.dumps({"env": {"A": "${HOME_KEY}", "B": True, "C": ""}}).encode()
    assert adapter.credentials.find("raw/pebble/c.json", data) == []


# Files ----------------------------------------------------------------------------------------------------------


def test_a_file_that_says_that_the_runtime_is_running_is_not_captured() -> None:
    adapter = _adapter('[running]\npid_files = ["run/pebble.pid"]\n')
    assert (
        adapter.exclusion("raw/pebble/run/pebble.pid", is_folder=False)
        == "file that names a running process of this machine"
    )
    assert adapter.exclusion("raw/pebble/run/other", is_folder=False) is None


def test_a_skill_of_another_runtime_is_no_memory() -> None:
    adapter = _adapter('[[memories]]\nglob = "*.md"\n')
    assert adapter.split("raw/pebble/skill/invoices/SKILL.md", "# Invoices\n") is None
    assert adapter.split("raw/pebble/skill/invoices/notes.md", "# Invoices\n") is not None


def test_an_excluded_folder_takes_everything_below_with_it() -> None:
    adapter = _adapter('[[exclude]]\nglobs = ["logs/**"]\nreason = "log"\n')
    for name in ("logs", "logs/a.txt", "logs/b/c.txt"):
        assert adapter.place(f"raw/pebble/{name}", is_folder=False) is Placement.EXCLUDED
    assert adapter.place("raw/pebble/logs.txt", is_folder=False) is Placement.ARTIFACT


def test_what_the_runtime_reads_is_its_state_and_other_files_are_the_work_of_the_agent() -> None:
    adapter = _adapter('[[memories]]\nglob = "m/*"\n[persona]\nsoul = "WHO.md"\nskills = "skills/"\n')
    for name in ("m/a.md", "WHO.md", "skills/x/SKILL.md"):
        assert adapter.place(f"raw/pebble/{name}", is_folder=False) is Placement.MANAGED, name
    for name in ("report.md", "m/a.png", "data/x.db"):
        assert adapter.place(f"raw/pebble/{name}", is_folder=False) is Placement.ARTIFACT, name


@pytest.mark.parametrize("file", ["s.json", "s.yaml", "s.toml"])
def test_a_volatile_value_is_no_change(file: str) -> None:
    adapter = _adapter('[volatile]\n"s.*" = ["jobs.*.next", "at"]\n')
    texts = {
        "s.json": ('{{"at": {0}, "jobs": [{{"name": "{1}", "next": {0}}}]}}'),
        "s.yaml": "at: {0}\njobs:\n  a:\n    name: {1}\n    next: {0}\n",
        "s.toml": 'at = {0}\n[jobs.a]\nname = "{1}"\nnext = {0}\n',
    }
    form = texts[file]
    first = adapter.matters(f"raw/pebble/{file}", form.format(1, "x").encode())
    assert first is not None
    assert adapter.matters(f"raw/pebble/{file}", form.format(2, "x").encode()) == first
    assert adapter.matters(f"raw/pebble/{file}", form.format(1, "y").encode()) != first


def test_every_change_counts_in_a_volatile_file_that_does_not_parse() -> None:
    assert _adapter('[volatile]\n"s.json" = ["at"]\n').matters("raw/pebble/s.json", b"{") is None


# Recognition ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in INSTALLS if name != "markdown"])
def test_a_folder_is_recognised_by_its_marks_beside_all_others(tmp_path: Path, name: str) -> None:
    workspaces = {each: make(tmp_path).workspace for each, make in INSTALLS.items()}
    assert adapter_registry.recognise_workspace(workspaces[name]).runtime == name


def test_a_workspace_may_lie_less_deep_than_its_profile_says(tmp_path: Path) -> None:
    deep = "/".join("abcdefgh" * 8)
    adapter = FolderAdapter(
        folder_profile.parse_profile(
            PLAIN.replace("title", 'home_files = ["x.json"]\ntitle')
            + f"[agent]\nhome = '~/.pebble'\nworkspace = '{deep}'\n",
            "pebble.toml",
        )
    )
    (tmp_path / "pebble.json").write_text("{}")
    found = adapter.locate(tmp_path, {}, tmp_path)
    assert found.state_dir is None and adapter.placement.home_around(tmp_path) is None


def test_a_file_that_is_too_large_is_named_with_a_limit_above_zero(tmp_path: Path) -> None:
    path = tmp_path / "pebble.toml"
    path.write_bytes(b"#" * (folder_profile.LARGEST + 1))
    with pytest.raises(ProfileInvalid, match="is larger than 256 KB"):
        shipped_profiles.read_profile(path)


def test_notes_without_marks_are_offered_as_markdown(tmp_path: Path) -> None:
    write_files(tmp_path / "my notes", {"a.md": "x"})
    with pytest.raises(NotAWorkspace) as raised:
        adapter_registry.recognise_workspace(tmp_path / "my notes")
    assert raised.value.fix == f"lifeboat agents add --runtime markdown '{tmp_path}/my notes'"


@pytest.mark.parametrize("runtime", ["markdown", "obsidian"])
def test_the_home_of_a_runtime_without_an_adapter_is_no_folder_of_notes(tmp_path: Path, runtime: str) -> None:
    write_files(tmp_path / ".hermes", {"SOUL.md": "x", "memories/MEMORY.md": "x"})
    with pytest.raises(NotAWorkspace, match="belongs to the runtime Hermes Agent"):
        adapter_registry.load_adapter(runtime).locate(tmp_path / ".hermes", {}, tmp_path)


def test_a_folder_that_the_runtime_made_and_never_used_is_no_agent(tmp_path: Path) -> None:
    (tmp_path / ".nanobot" / "workspace").mkdir(parents=True)
    assert adapter_registry.load_adapter("nanobot").discover({}, tmp_path) == []


def test_a_process_in_a_pid_file_is_named(tmp_path: Path) -> None:
    adapter = _adapter('[running]\npid_files = ["gateway.pid"]\n')
    write_files(tmp_path, {"pebble.json": "{}", "gateway.pid": json.dumps({"pid": os.getppid()})})
    assert adapter.placement is not None
    installation = adapter.locate(tmp_path, {}, tmp_path)
    assert adapter.placement.running(installation) == f"Pebble, process {os.getppid()}"
    (tmp_path / "gateway.pid").write_text("none")
    assert adapter.placement.running(installation) == ""


# Profiles of the user ---------------------------------------------------------------------------------------------


def _own(folder: Path, name: str, text: str) -> Path:
    write_files(folder, {f"{name}.toml": text})
    return folder


def test_a_profile_of_the_user_is_a_runtime(tmp_path: Path) -> None:
    own = _own(tmp_path / "profiles", "pebble", PLAIN)
    write_files(tmp_path / "p", {"pebble.json": "{}"})
    assert "pebble" in adapter_registry.list_runtimes(own)
    assert adapter_registry.recognise_workspace(tmp_path / "p", own).runtime == "pebble"


def test_a_profile_of_the_user_replaces_a_shipped_one(tmp_path: Path) -> None:
    own = _own(tmp_path, "goose", PLAIN.replace('"pebble"', '"goose"'))
    adapter = adapter_registry.load_adapter("goose", own)
    assert isinstance(adapter, FolderAdapter) and adapter.profile.title == "Pebble"


def test_a_profile_cannot_take_the_place_of_an_adapter(tmp_path: Path) -> None:
    own = _own(tmp_path, "openclaw", PLAIN.replace('"pebble"', '"openclaw"'))
    assert not isinstance(adapter_registry.load_adapter("openclaw", own), FolderAdapter)
    assert "openclaw" in adapter_registry.load_adapters(own), "its agents are captured on"
    assert "it already has an adapter for openclaw" in adapter_registry.find_refused_adapters(own)["openclaw"].message


def test_a_broken_profile_hides_no_other_runtime_and_is_named(tmp_path: Path) -> None:
    own = _own(tmp_path, "pebble", "name =")
    adapters = adapter_registry.load_adapters(own)
    assert "pebble" not in adapters and {"openclaw", "markdown"} <= adapters.keys()
    assert "pebble.toml" in adapter_registry.find_refused_adapters(own)["pebble"].message


def test_a_profile_has_the_name_of_its_file(tmp_path: Path) -> None:
    own = _own(tmp_path, "other", PLAIN)
    with pytest.raises(ProfileInvalid, match="must be the same as the file name"):
        adapter_registry.load_adapter("other", own)


# Trying a profile -------------------------------------------------------------------------------------------------


def _shipped(name: str) -> FolderAdapter:
    return FolderAdapter(shipped_profiles.load_shipped_profiles()[name])


def test_a_trial_shows_what_would_be_captured_and_no_secret(tmp_path: Path) -> None:
    made = make_nanobot(tmp_path)
    trial = profile_trial.try_profile(_shipped("nanobot"), made.workspace, tmp_path)
    by_path = {each.path: each for each in trial.files}
    assert trial.problems == () and trial.recognised
    assert by_path["raw/nanobot/memory/MEMORY.md"].memories == 2
    assert by_path["raw/nanobot-home/config.json"].credentials == (
        "config.json: providers.openrouter.apiKey",
        "config.json: channels.telegram.token",
    )
    assert KEY not in repr(trial)


def test_a_trial_names_what_does_not_work(tmp_path: Path) -> None:
    adapter = _adapter('[[memories]]\nglob = "memroy/*.md"\n[[credentials]]\nglob = "c.json"\n')
    write_files(tmp_path, {"pebble.json": "{}", "c.json": "{", "memory/a.md": "x"})
    trial = profile_trial.try_profile(adapter, tmp_path, tmp_path)
    assert "the rule for memories matches no file: 'memroy/*.md'" in trial.problems
    assert any(each.startswith("Lifeboat cannot search raw/pebble/c.json for credentials") for each in trial.problems)


def test_a_trial_writes_nothing(tmp_path: Path) -> None:
    made = make_nanobot(tmp_path)
    before = _stats(tmp_path)
    profile_trial.try_profile(_shipped("nanobot"), made.workspace, tmp_path)
    assert _stats(tmp_path) == before


def _stats(folder: Path) -> dict[Path, tuple[int, ...]]:
    """Return what a write would change; reading may change the time of the last access."""
    stats = {path: path.stat() for path in folder.rglob("*")}
    return {path: (stat.st_ino, stat.st_mode, stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}


def test_every_shipped_profile_is_small() -> None:
    folder = Path(shipped_profiles.__file__).parent / "profiles"
    adapters = {"claude-code", "hermes"}  # code adds to these profiles
    for path in (each for each in folder.iterdir() if each.stem not in adapters):
        assert len(path.read_text().splitlines()) <= 80, path.name


def test_the_name_of_a_shipped_profile_is_that_of_its_file() -> None:
    folder = Path(shipped_profiles.__file__).parent / "profiles"
    assert {path.stem for path in folder.iterdir()} == shipped_profiles.load_shipped_profiles().keys()
    adapters: list[Adapter] = [adapter_registry.load_adapter(name) for name in shipped_profiles.load_shipped_profiles()]
    assert all(adapter_registry.find_contract_problem(each) == "" for each in adapters)


# Transcripts -----------------------------------------------------------------------------------------------------


def test_transcripts_in_a_folder_that_cannot_be_listed_are_not_taken_for_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"talks/a/1.jsonl": "{}\n", "talks/b/2.jsonl": "{}\n"})
    databases = _adapter("[transcripts]\nglobs = ['talks/*.jsonl', 'missing/*.jsonl']\n").databases
    assert databases is not None
    installation = Installation("pebble", tmp_path, "pebble", "Pebble")
    assert len(list(databases.rows(installation, transcripts=True))) == 2
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if Path(path).name == "b":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(RuntimeDatabaseError, match="talks/b"):
        list(databases.rows(installation, transcripts=True))
