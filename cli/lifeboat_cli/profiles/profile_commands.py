"""`lifeboat profiles`: list, show and test the files that describe a runtime."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import click

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.errors import ProfileInvalid, UnknownRuntime
from lifeboat_adapters.folder import profile_trial, shipped_profiles
from lifeboat_adapters.folder.folder_adapter import FolderAdapter
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.lazy_group import DefaultCommandGroup
from lifeboat_cli.terminal.pager import pager_option
from lifeboat_core.documents.profile_documents import ListedProfile, ListedProfiles, TestedFile, TestedProfile
from lifeboat_core.texts.human_text import count_text, join_names

_SHIPPED = "shipped"


@click.group(cls=DefaultCommandGroup, default="list")
def profiles() -> None:
    """Manage folder profiles: files that describe a runtime that Lifeboat does not know."""


@profiles.command("list", epilog=format_examples("lifeboat profiles list"))
@pager_option
@session_command
def list_profiles(session: CommandSession) -> None:
    """List the profiles of Lifeboat and your own profiles."""
    folder = session.context.home.profiles_folder
    found = ListedProfiles(tuple(_list_profiles(folder)))

    def text() -> None:
        rows = [(one.name, one.title if one.problem is None else "not valid", one.source) for one in found.profiles]
        with session.output.pager():
            session.output.table(("profile", "what it is for", "from"), rows)
        for one in found.profiles:
            if one.problem is not None:
                session.output.warn(one.problem)
        session.output.note(
            f"Your own profiles have the path {folder}/NAME.toml. To start from an existing one: "
            "lifeboat profiles show markdown"
        )

    session.output.document(found, text)


def _list_profiles(folder: Path) -> Iterator[ListedProfile]:
    own = shipped_profiles.list_user_profiles(folder)
    for name, profile in shipped_profiles.load_shipped_profiles().items():
        if name not in own:
            yield ListedProfile(name, profile.title, _SHIPPED)
    for name, path in own.items():
        if adapter_registry.has_adapter(name):
            yield ListedProfile(
                name, "", str(path), f"Lifeboat supports {name} without a profile, so this profile is not used"
            )
            continue
        try:
            yield ListedProfile(name, shipped_profiles.read_user_profile(name, path)[0].title, str(path))
        except ProfileInvalid as error:
            yield ListedProfile(name, "", str(path), error.message)


@profiles.command("show", epilog=format_examples("lifeboat profiles show nanobot > my-runtime.toml"))
@click.argument("name")
@session_command
def show_profile(session: CommandSession, name: str) -> None:
    """Print a profile, for example as a template for your own."""
    own = shipped_profiles.list_user_profiles(session.context.home.profiles_folder).get(name)
    if own is not None:
        text = own.read_text("utf-8")
    elif name in shipped_profiles.load_shipped_profiles():
        file = resources.files(shipped_profiles.__package__).joinpath("profiles", f"{name}.toml")
        text = file.read_text("utf-8")
    else:
        raise UnknownRuntime(f"no profile has the name {name!r}", fix="lifeboat profiles list")
    document = {"name": name, "source": str(own or _SHIPPED), "text": text}
    session.output.document(document, lambda: session.output.block(text.rstrip("\n")))


@profiles.command(
    "test",
    epilog=format_examples("lifeboat profiles test my-runtime.toml ~/.my-runtime"),
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@session_command
def check_profile(session: CommandSession, file: Path, folder: Path) -> int:
    """Test the profile in FILE on FOLDER, and write nothing.

    The command shows which files, memories and credentials a capture would contain, and which files it would leave
    out. Credentials are shown by name only. Exit 1 if the profile does not work.
    """
    adapter = FolderAdapter(*shipped_profiles.read_profile(file))
    trial = profile_trial.try_profile(adapter, folder.absolute(), session.context.user_home)
    files = tuple(TestedFile(each.path, each.memories, each.credentials) for each in trial.files)
    problems = trial.problems
    if adapter_registry.has_adapter(trial.name):
        problems = (
            f"Lifeboat already supports a runtime with the name {trial.name}: give the profile another name",
            *problems,
        )
    document = TestedProfile(
        trial.name, str(folder.absolute()), trial.recognised, files, dict(trial.left_out), problems
    )
    session.output.document(document, lambda: _print_trial(session, document))
    return 1 if problems else 0


def _print_trial(session: CommandSession, tried: TestedProfile) -> None:
    output = session.output
    rows = [(each.path, str(each.memories or ""), join_names(each.credentials)) for each in tried.files]
    output.table(("file", "memories", "credentials"), rows)
    for path, reason in tried.left_out.items():
        output.line(f"left out of captures: {path}: {reason}")
    memories = sum(each.memories for each in tried.files)
    credentials = sum(len(each.credentials) for each in tried.files)
    output.line(
        f"A capture would contain {count_text(len(tried.files), 'file')}, {count_text(memories, 'memory')} and "
        f"{count_text(credentials, 'credential')}."
    )
    for problem in tried.problems:
        output.warn(problem)
    if not tried.problems:
        folder = session.context.home.profiles_folder
        output.line(f"The profile works for this folder. To use the profile, copy it to {folder}/{tried.name}.toml")
