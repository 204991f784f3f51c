"""What the examples of docs/commands.md need so that they run, and why some do not run there.

The examples of one group run in order on one machine, which has an agent, a remote, and the files that examples name.
"""

from __future__ import annotations

import re

from support.adapters import openclaw_workspaces
from support.cli.cli_client import run
from support.docs.page_machine import PageMachine
from support.docs.page_stories import add_home_server, receive_memory_files
from support.docs.shown_commands import ShownCommand

_CONFIRMED = "asks for a confirmation or a secret; tests/cli answers on a terminal"
_ENDLESS = "runs until it is stopped; tests/cli and tests/endpoint stop it"
_PREPARED = "needs a situation that its own tests prepare, in tests/cli, tests/core or tests/endpoint"
_SYSTEM = "needs a program or service that this machine may lack"
NOT_RUN = {
    _CONFIRMED: (
        *("lifeboat agents adopt", "lifeboat agents uncut", "lifeboat keys init", "lifeboat keys prove"),
        *("lifeboat keys recover", "lifeboat keys rotate", "lifeboat keys unlock", "lifeboat keys lock"),
        *(
            "lifeboat keys export-kit --encrypt",
            "lifeboat purge Juniper --all",
            "lifeboat purge Juniper\n",
            "lifeboat setup",
            "lifeboat tui",
        ),
        *("lifeboat remote add", "lifeboat remote remove", "lifeboat remote token"),
        *("lifeboat restore Juniper --at 3", "lifeboat restore Juniper --without-credentials"),
        "lifeboat restore Juniper --to ~/.openclaw",
    ),
    _ENDLESS: ("lifeboat status --watch", "lifeboat log --follow", "lifeboat daemon", "lifeboat endpoint"),
    _PREPARED: (
        *("lifeboat agents hook", "lifeboat agents cut", "lifeboat agents add ~/.openclaw/workspace"),
        *("lifeboat diff Juniper 2026", "lifeboat undo"),
        *("lifeboat restore Juniper --at 2026", "lifeboat restore Juniper --from", "lifeboat receipts confirm"),
        *("mv ~/boats", "lifeboat agents move-project", "lifeboat restore Claude"),
        *("lifeboat keys rename-machine", "lifeboat remote", "lifeboat profiles test", "lifeboat config check ping"),
        *("lifeboat alf import juniper.alf --to ~/.openclaw", "lifeboat alf import juniper.alf --delta"),
        "lifeboat alf validate memory.aicf --strict",
    ),
    _SYSTEM: ("lifeboat service", "lifeboat keys export-kit -o - | lp", "lifeboat alf convert http"),
}
"""Beginnings of examples, by the reason why they do not run. A line end stands for the end of the command."""

_RENEWED = ("lifeboat alf export", "lifeboat alf convert", "lifeboat alf purge", "lifeboat keys export-kit")
"""Commands that write a file which an earlier example has written already."""


def find_example_reason(command: ShownCommand) -> str | None:
    """Return why an example is not run, or None."""
    return next((reason for reason, starts in NOT_RUN.items() if f"{command.text}\n".startswith(starts)), None)


def name_group(command: ShownCommand) -> str:
    """Return the group whose examples run on one machine: the first word after `lifeboat`, or the first program."""
    words = command.text.split()
    if words[0] in ("mv", "cp"):
        return "agents"
    return words[1] if words[0] == "lifeboat" and len(words) > 1 else words[0]


def prepare_examples(machine: PageMachine) -> None:
    """Juniper with 13 sequences, pushed to an endpoint, and the files that examples name."""
    machine.protect_juniper(sequences=13)
    add_home_server(machine)
    machine.learn_words()
    machine.write_words()
    receive_memory_files(machine)
    home = machine.home
    for name, since in (("juniper.alf", ()), ("monday.alf", ()), ("changes.alf-delta", ("--since", "3"))):
        run("alf", "export", "openclaw", machine.workspace, "-o", home / name, *since)
    (machine.workspace / "SOUL.md").write_text("# Soul\n\nBe kind and brief.\n")
    run("sync")
    run("alf", "export", "openclaw", machine.workspace, "-o", home / "tuesday.alf-delta", "--since", "12")
    run("alf", "export", "openclaw", machine.workspace, "-o", home / "tuesday.alf")
    run("purge", "Juniper", "--text", "We planted", "--yes")
    (home / "text").write_text("Ben likes tulips")
    (home / "address.txt").write_text("https://ping.example.com/abc\n")
    openclaw_workspaces.make_workspace(home / "agents" / "ada", large=False)
    (home / ".config" / "fish" / "completions").mkdir(parents=True)


def complete_example(command: ShownCommand, machine: PageMachine) -> str:
    """Return the command with real names in place of ID and NAME, and free to replace the files of other examples."""
    text = re.sub(r"--remote (?:home|NAME)$", "--remote home-server", machine.relocate(command.text))
    if " ID" in text:
        words = ("receipts", "list") if "receipts" in text else ("records", "list", "Juniper")
        text = text.replace(" ID", f" {run(*words)[words[0]][0]['id']}")
    if text.startswith("cp -a ") and not machine.workspace.exists():  # an earlier example moved it
        (machine.home / "juniper").rename(machine.workspace)
        run("agents", "move", "Juniper", machine.workspace)
    if text.startswith("lifeboat alf apply"):
        (machine.home / "tuesday.alf").unlink(missing_ok=True)
    if text.startswith(_RENEWED) and " -o " in text:
        text = text.replace(" -o ", " --force -o ")
    return f"{text} --yes" if text.startswith("lifeboat alf convert") and "--dry-run" not in text else text
