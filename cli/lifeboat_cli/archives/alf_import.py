"""`lifeboat alf import`: write an archive into a workspace."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.archives import encryption_options
from lifeboat_cli.keys import passphrase_input
from lifeboat_cli.restore import quarantine_view
from lifeboat_cli.restore.restore_commands import (
    add_row_options,
    add_seen_option,
    print_restore_report,
    restore_exit_status,
)
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import RUNTIME
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.texts.human_text import quote_argument

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    "import",
    short_help="Write the agent in an archive into a workspace.",
    epilog=format_examples(
        "lifeboat alf import juniper.alf --to ~/juniper --dry-run",
        "lifeboat alf import juniper.alf --delta changes.alf-delta --to ~/juniper",
        "lifeboat alf import juniper.alf --to ~/.openclaw/workspace --with-credentials",
    ),
)
@click.argument("file", type=FILE)
@click.option("--to", "target", type=click.Path(file_okay=False, path_type=Path), required=True, help="The workspace.")
@click.option(
    "--delta", "deltas", type=FILE, multiple=True, help="Apply this delta to the archive first (repeatable, in order)."
)
@click.option(
    "--runtime",
    type=RUNTIME,
    help="Runtime that will use the workspace (default: the runtime named in the archive, if Lifeboat supports it).",
)
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="State directory of the runtime, for example ~/.openclaw.",
)
@add_row_options
@click.option(
    "--with-credentials",
    is_flag=True,
    help="Decrypt the credentials in the archive and put them back into their files.",
)
@click.option(
    "--accept-unsigned",
    is_flag=True,
    help="Import although the archive is not signed with this home's key. Review the archive first.",
)
@add_seen_option
@click.option("--dry-run", is_flag=True, help="Show what would be written; write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before writing into a folder that is not empty.")
@encryption_options.passphrase_option
@session_command
def import_file(
    session: CommandSession,
    /,
    file: Path,
    target: Path,
    deltas: tuple[Path, ...],
    runtime: str | None,
    passphrase_stdin: bool,
    state_dir: Path | None,
    with_cron: bool,
    with_sessions: bool,
    seen: str | None,
    **flags: Any,
) -> int:
    """Write the agent in an archive into a workspace.

    Data that the runtime cannot represent is kept, and later exports contain it again. If the archive is not signed
    with this home's key, the command first shows everything in the archive that a program could run or follow as an
    instruction. To import such an archive, use --accept-unsigned and answer the question. In a script, also pass
    --seen with the displayed code.
    """
    from lifeboat_adapters.memory_stores import RowChoice
    from lifeboat_core import exchange
    from lifeboat_core.restore.restore_options import RestoreOptions

    if seen is not None and not flags["accept_unsigned"]:
        raise click.UsageError("--seen needs --accept-unsigned")
    passphrase = encryption_options.passphrase_from_stdin(passphrase_stdin)
    if flags["with_credentials"]:
        session = passphrase_input.with_unlocked_session(session)
    with session.output.progress("Importing") as tell:
        report = exchange.import_archive(
            session.context,
            file,
            target,
            RestoreOptions(runtime=runtime, state_dir=state_dir, rows=RowChoice(with_cron, with_sessions), **flags),
            deltas=deltas,
            passphrase=passphrase,
            tell=tell,
            ask_consent=partial(quarantine_view.ask_consent, session, seen=seen),
        ).to_json()

    def text() -> None:
        print_restore_report(session.output, report, is_dry_run=flags["dry_run"])
        if not flags["dry_run"]:
            _say_registered(session.output, report)

    session.output.document(report, text)
    return restore_exit_status(report) if not flags["dry_run"] else 0


def _say_registered(output: CommandOutput, report: JsonObject) -> None:
    """Describe what an import creates beside the files: an agent that is not captured yet."""
    if report["copied_from"]:
        output.line(
            "This home already has the agent in the archive. The imported agent is a copy with a new id, "
            f"named {report['name']}."
        )
    output.line(f"{report['name']} is not captured yet. To start captures:")
    output.verbatim(f"  lifeboat agents resume {quote_argument(report['name'])}")
