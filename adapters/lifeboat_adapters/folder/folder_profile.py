"""What a profile says about a runtime, and how it is read from TOML.

A profile is data: it names files, and how memories and credentials are found in them. `FolderAdapter` does the rest.
Globs are those of `fnmatch`, relative to the workspace, with `/`; `*` also matches `/`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Annotated

import msgspec

from lifeboat_adapters.errors import ProfileInvalid
from lifeboat_adapters.runtime_marks import JsonMark, RuntimeMarks
from lifeboat_alf.memory import memory_records

LARGEST = 1 << 18
"""Bytes of a profile."""

_MEMORY_TYPES = memory_records.ENUMS["memory_type"].values

PLACEHOLDERS = ("{day}", "{id}", "{home}")
"""What the name of a new note may contain: the day of the memory, the end of its id, and the path of the user's home
with a hyphen for every character that is no letter or digit."""

_VARIABLE = re.compile("[A-Z][A-Z0-9_]*")

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class Division(StrEnum):
    """How a file divides into memories."""

    HEADINGS = "headings"
    BULLETS = "bullets"
    SEPARATOR = "separator"
    FILE = "file"


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a profile. Unknown keys are refused, so that a typing error cannot leave a credential unprotected."""


class AgentPlace(_Part, frozen=True):
    """Where an agent lies. `home` is the folder of the runtime (`~/.nanobot`), `workspace` the folder in it that is
    captured ("." for the home itself), `home_variable` the environment variable that moves the home. `listed_in` is a
    JSON file with workspaces, `listed_at` the path of each in it (`vaults.*.path`)."""

    home: str = ""
    home_variable: str = ""
    workspace: str = "."
    listed_in: str = ""
    listed_at: str = ""


class ProfileMarks(_Part, frozen=True):
    """What makes a workspace recognisable. See `RuntimeMarks`; `json` maps a file to paths of which it has one."""

    folders: tuple[Text, ...] = ()
    certain: tuple[Text, ...] = ()
    usual: tuple[Text, ...] = ()
    unless: tuple[Text, ...] = ()
    json: dict[str, tuple[Text, ...]] = {}


class ExcludeRule(_Part, frozen=True):
    """Files and folders that are never captured, and why."""

    globs: tuple[Text, ...]
    reason: Text


class MemoryRule(_Part, frozen=True):
    """Files that hold memories. `new` is the name of the note for memories from elsewhere, and `limit` the largest size
    of such a note in characters (0: none); `types` gives the memory type for the values of the front matter's field
    `type_field`. `index` is the name of files that list the notes beside them: their lines are no memories."""

    glob: Text
    divide: Division = Division.HEADINGS
    separator: str = ""
    memory_type: str = "semantic"
    about_user: bool = False
    type_field: str = ""
    types: dict[str, str] = {}
    new: str = ""
    limit: int = 0
    index: str = ""


class PersonaFiles(_Part, frozen=True):
    """The files that say who the agent is. `blocks` are further texts by the name of their block (ALF §3.2.2). `seeds`
    are SHA-256 digests of texts with which the runtime creates such a file: they say nothing about the agent."""

    soul: str = ""
    operating_instructions: str = ""
    identity_profile: str = ""
    user: str = ""
    skills: str = ""
    blocks: dict[str, str] = {}
    seeds: tuple[Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")], ...] = ()


class CredentialRule(_Part, frozen=True):
    """Values that are credentials, beside those that their names show. `paths` are joined by `.`; `*` matches one step.
    `whole` cuts the whole file. `bound` credentials work on this machine only."""

    glob: Text
    paths: tuple[Text, ...] = ()
    whole: bool = False
    bound: bool = False
    service: str = ""


class ProviderKeys(_Part, frozen=True):
    """Where the runtime reads keys of model providers: a dotenv file of the workspace, and the variable for each
    service. A restore adds keys from other runtimes there. In a JSON file of the workspace or of `home_files`, `path`
    is the place of a key, and `variables` gives the `{name}` in it. `services` are those with the usual variable
    (`OPENAI_API_KEY`), or with their own name in JSON."""

    file: str = ""
    path: str = ""
    services: tuple[Text, ...] = ()
    variables: dict[Text, Annotated[str, msgspec.Meta(pattern="^[A-Za-z][A-Za-z0-9_-]*$")]] = {}

    @property
    def is_json(self) -> bool:
        """Return whether the keys are values of a JSON file."""
        return self.file.endswith(".json")

    @property
    def names(self) -> dict[str, str]:
        """Return the variable, or the name in JSON, of each service."""
        usual = "{}" if self.is_json else "{}_API_KEY"
        same = {each: usual.format(each if self.is_json else each.upper()) for each in self.services}
        return same | self.variables

    def place_of(self, variable: str) -> tuple[str, ...]:
        """Return where in the file the key with this variable, or name, is."""
        return tuple(step.replace("{name}", variable) for step in self.path.split(".")) if self.is_json else (variable,)


class TranscriptFiles(_Part, frozen=True):
    """Files in which each line is a part of a conversation. They are read as rows with the setting `transcripts`, and
    an `exclude` rule keeps them out of the capture of files."""

    globs: tuple[Text, ...] = ()


class HookPlace(_Part, frozen=True):
    """Where the runtime looks for shell lines that it runs: a JSON file of the home, and the events that end a session.
    `off` names values of the file that switch all hooks off. `trusted_in` is the TOML file in which the runtime notes
    the hooks that the user trusts."""

    file: str = ""
    events: tuple[Text, ...] = ()
    off: tuple[Text, ...] = ()
    trusted_in: str = ""


class RunningMarks(_Part, frozen=True):
    """What shows that the runtime is running: names of programs, and files in the home with a process id. `stop` is the
    runtime's own command that stops it."""

    programs: tuple[Text, ...] = ()
    pid_files: tuple[Text, ...] = ()
    stop: str = ""


class FolderProfile(_Part, frozen=True):
    """The description of one runtime. `splitter` has to be increased when the same text would divide in other places.

    `takes_any_folder` says that a folder needs no marks: any folder with notes may be a workspace. Such a profile is
    offered, and never chosen without being named. `state` lists further files that only this runtime reads.
    """

    name: Name
    title: Text
    splitter: int = 1
    takes_any_folder: bool = False
    agent: AgentPlace = AgentPlace()
    marks: ProfileMarks = ProfileMarks()
    home_files: tuple[Text, ...] = ()
    state: tuple[Text, ...] = ()
    exclude: tuple[ExcludeRule, ...] = ()
    memories: tuple[MemoryRule, ...] = ()
    persona: PersonaFiles = PersonaFiles()
    credentials: tuple[CredentialRule, ...] = ()
    keys: ProviderKeys = ProviderKeys()
    volatile: dict[str, tuple[Text, ...]] = {}
    transcripts: TranscriptFiles = TranscriptFiles()
    hook: HookPlace = HookPlace()
    running: RunningMarks = RunningMarks()

    @property
    def raw(self) -> str:
        """Return the archive prefix of the workspace."""
        return f"raw/{self.name}/"

    @property
    def raw_home(self) -> str:
        """Return the archive prefix of the files around the workspace."""
        return f"raw/{self.name}-home/"

    def runtime_marks(self) -> RuntimeMarks:
        """Return the marks in the form that all runtimes share."""
        listed = tuple(
            JsonMark(file, tuple(tuple(path.split(".")) for path in paths)) for file, paths in self.marks.json.items()
        )
        marks = self.marks
        return RuntimeMarks(
            self.title, marks.folders, marks.certain, marks.usual, marks.unless, listed, profiles=(self.name,)
        )

    def memory_rule(self, name: str) -> MemoryRule | None:
        """Return the first rule for a file of the workspace, None for a file without memories. Persona files and
        skills, also those of another runtime, hold none."""
        rule = None if self._is_persona(name) else self._rule_of(name)
        return None if rule is None or name.rpartition("/")[2] in (rule.index, "SKILL.md") else rule

    def _rule_of(self, name: str) -> MemoryRule | None:
        return next((rule for rule in self.memories if fnmatchcase(name, rule.glob)), None)

    def is_state(self, name: str) -> bool:
        """Return whether the runtime itself reads a file: memories, persona, skills, settings. Other files are the
        agent's own work, which another runtime can keep as it is."""
        named = (*(rule.glob for rule in self.credentials), *self.volatile, *self.state)
        is_named = any(fnmatchcase(name, glob) for glob in named)
        return is_named or self._is_persona(name) or self._rule_of(name) is not None

    def _is_persona(self, name: str) -> bool:
        skills = self.persona.skills.rstrip("/")
        return name in self.persona_names() or bool(skills and name.startswith(f"{skills}/"))

    def persona_names(self) -> set[str]:
        """Return the names of all persona files."""
        return {*self.persona_files().values(), *self.persona.blocks.values(), self.persona.user} - {""}

    def persona_files(self) -> dict[str, str]:
        """Return the prose files of the agent by their field of ALF §3.2.2, as far as the runtime has them."""
        named = {
            "soul": self.persona.soul,
            "operating_instructions": self.persona.operating_instructions,
            "identity_profile": self.persona.identity_profile,
        }
        return {field: file for field, file in named.items() if file}


TABLES: tuple[type[msgspec.Struct], ...] = (
    AgentPlace,
    ProfileMarks,
    ExcludeRule,
    MemoryRule,
    PersonaFiles,
    CredentialRule,
    ProviderKeys,
    TranscriptFiles,
    HookPlace,
    RunningMarks,
)
"""The tables of a profile."""


def parse_profile(text: str, source: str) -> FolderProfile:
    """Return the profile in a TOML text. `source` names it in errors. Raises ProfileInvalid, which says where."""
    if len(text) > LARGEST:
        raise ProfileInvalid(f"{source} is larger than the limit of {LARGEST >> 10} KB")
    try:
        profile = msgspec.convert(tomllib.loads(text), FolderProfile, strict=True)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise ProfileInvalid(f"{source}: {error}") from None
    problem = next(_problems(profile), None)
    if problem is not None:
        raise ProfileInvalid(f"{source}: {problem}")
    return profile


def parse_carried_profile(name: str, text: str) -> FolderProfile:
    """Return the profile of the runtime `name` that a captured state contains.

    Unlike a profile that the user put into the home, it must not look outside of the user's home. Raises
    ProfileInvalid.
    """
    source = f"the folder profile for {name!r} that was captured together with the agent"
    profile = parse_profile(text, source)
    if profile.name != name:
        raise ProfileInvalid(f"{source} contains another name: {profile.name!r}")
    for key, place in (("home", profile.agent.home), ("listed_in", profile.agent.listed_in)):
        parts = PurePosixPath(place).parts
        if place and (len(parts) < 2 or parts[0] != "~" or ".." in parts):
            raise ProfileInvalid(
                f"in {source}, agent.{key} = {place!r} must be a path below the home directory and begin with ~/"
            )
    return profile


def _problems(profile: FolderProfile) -> Iterator[str]:
    """Yield what a profile says that cannot work."""
    for place, name in _relative_names(profile):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or set(name) & {"\\", "\0"}:
            yield f"{place}: {name!r} is not allowed, because it is not a relative path below the workspace"
    for number, rule in enumerate(profile.memories, start=1):
        yield from (f"[[memories]] number {number}: {problem}" for problem in _problems_of_memories(rule))
    marks = profile.marks
    is_recognisable = any((marks.folders, marks.certain, marks.json)) or len(marks.usual) >= 2
    if not (is_recognisable or profile.takes_any_folder):
        yield (
            "[marks] does not say how to recognise a folder; set `folders`, `certain` or `json`, or list at "
            "least two names in `usual`"
        )
    if bool(profile.hook.file) != bool(profile.hook.events):
        yield "[hook] must set both file and events, or neither"
    yield from _problems_of_keys(profile)
    if any("*" in glob.split("/")[0] for glob in profile.transcripts.globs):
        yield "[transcripts] each pattern in globs must begin with the name of a folder, without *"
    if bool(profile.agent.listed_in) != bool(profile.agent.listed_at):
        yield "[agent] must set both listed_in and listed_at, or neither"
    for named in profile.credentials:
        if named.whole and named.paths:
            yield f"[[credentials]] for {named.glob} must not set both whole and paths"


def _problems_of_keys(profile: FolderProfile) -> Iterator[str]:
    keys = profile.keys
    if bool(keys.file) != bool(keys.names):
        yield "[keys] must set both file and variables, or neither"
    if keys.file and PurePosixPath(keys.file).name != ".env" and not keys.is_json:
        yield f"[keys] file = {keys.file!r} must be a JSON file or a file with the name .env"
    if keys.is_json != ("{name}" in keys.path.split(".")):
        yield "[keys] path must be set for a JSON file, and only then, with {name} as one of its steps"
    if keys.file and not any(fnmatchcase(keys.file, rule.glob) for rule in profile.credentials):
        yield f"[keys] no table [[credentials]] matches {keys.file!r}, so Lifeboat would capture the keys in plain text"
    wrong = [] if keys.is_json else [name for name in keys.names.values() if not _VARIABLE.fullmatch(name)]
    if wrong:
        yield f"[keys] {', '.join(wrong)} cannot be a variable of a .env file"


def _problems_of_memories(rule: MemoryRule) -> Iterator[str]:
    if (rule.divide is Division.SEPARATOR) != bool(rule.separator):
        yield 'separator must be set if divide = "separator", and only then'
    unknown = {rule.memory_type, *rule.types.values()} - _MEMORY_TYPES
    if unknown:
        yield f"unknown memory type: {', '.join(sorted(unknown))} (known types: {', '.join(sorted(_MEMORY_TYPES))})"
    if bool(rule.types) != bool(rule.type_field):
        yield "set both type_field and types, or neither"
    name = rule.new
    for mark in PLACEHOLDERS:
        name = name.replace(mark, "0")
    if "{" in name or "}" in name:
        yield (
            f"new = {rule.new!r} contains an unknown placeholder; the known placeholders are "
            f"{' and '.join(PLACEHOLDERS)}"
        )
    elif name and not fnmatchcase(name, rule.glob):
        yield (
            f"new = {rule.new!r} does not match {rule.glob!r}, so Lifeboat could not read the memories that it "
            "writes to this file"
        )
    if rule.divide is Division.FILE and rule.new and "{id}" not in rule.new:
        yield 'divide = "file" stores one memory per file, so the file name in the setting `new` must contain {id}'


def _relative_names(profile: FolderProfile) -> Iterator[tuple[str, str]]:
    persona = profile.persona
    yield from (("home_files", name) for name in profile.home_files)
    yield from (("memories", rule.new) for rule in profile.memories)
    yield from (("persona", name) for name in (*profile.persona_files().values(), persona.user, persona.skills))
    yield from (("persona.blocks", name) for name in persona.blocks.values())
    yield from (("running", name) for name in profile.running.pid_files)
    marks = profile.marks
    yield from (("marks", name) for name in (*marks.certain, *marks.usual, *marks.unless))
    yield from (("marks.json", name.removeprefix("../")) for name in marks.json)
    yield ("keys", profile.keys.file)
    yield from (("hook", name) for name in (profile.hook.file, profile.hook.trusted_in))
    yield from (("transcripts", glob) for glob in profile.transcripts.globs)
    yield ("agent.workspace", profile.agent.workspace)
