"""`lifeboat alf convert`: convert memories of another system to an archive, or an archive to another system's
format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from lifeboat_adapters.item_fates import ItemOutcome, count_outcomes
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_cli.archives import encryption_options
from lifeboat_cli.keys import passphrase_input
from lifeboat_cli.terminal.command_session import CommandSession, can_ask, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import NameOption
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.errors import ExchangeError
from lifeboat_core.exchange import conversion_options
from lifeboat_core.exchange.conversion_run import ConversionOrder, convert_source
from lifeboat_core.exchange.conversion_source import ALF, ConversionSource
from lifeboat_core.exchange.encrypted_archives import SUFFIX, Archive, ArchiveEncryption
from lifeboat_core.texts.human_text import count_text, join_names, snippet_text
from lifeboat_formats.interchange import format_registry
from lifeboat_formats.interchange.contract import FormatOption, OptionKind, Value
from lifeboat_formats.interchange.conversion_report import LOST, ConversionReport, group_fates

_FOUND = "found_"
_SHOWN = 20
"""The number of kinds of loss that are printed. `--json` has all."""
FORMAT = NameOption("format", lambda ctx: [ALF, *format_registry.list_formats()])


def _format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add every option of a format to the command, with the names of the formats that have it."""
    for name, owners in sorted(conversion_options.list_options().items(), reverse=True):
        option = owners[0][1]
        command = click.option(f"--{name}", _parameter(name), help=_help(option, owners), **_kind(option))(command)
    return command


def _help(option: FormatOption, owners: Iterable[tuple[str, FormatOption]]) -> str:
    """Return the help of an option: a sentence, the formats that have the option, and its default."""
    said = option.help.rstrip(".")
    default = f"; default: {option.default}" if option.default else ""
    return f"{said[:1].upper()}{said[1:]}{default} ({', '.join(owner for owner, _ in owners)})."


def _parameter(name: str) -> str:
    return f"of_format_{name.replace('-', '_')}"


def _kind(option: FormatOption) -> JsonObject:
    if option.kind is OptionKind.FLAG:
        return {"is_flag": True, "default": None}
    if option.kind is OptionKind.CHOICE:
        return {"type": click.Choice(option.choices)}
    if option.kind is OptionKind.FILE:
        return {"type": click.Path(exists=True, dir_okay=False)}
    return {"metavar": option.name.rpartition("-")[2].upper()}


def _given(parameters: Mapping[str, Any]) -> dict[str, Value]:
    names = {_parameter(name): name for name in conversion_options.list_options()}
    return {names[key]: value for key, value in parameters.items() if value is not None and value is not False}


@click.command(
    "convert",
    short_help="Convert from and to other memory systems.",
    epilog=format_examples(
        "lifeboat alf convert memory.aimem.json --to alf -o juniper.alf",
        "lifeboat alf convert juniper.alf --to aicf -o juniper.aicf",
        "lifeboat alf convert agent:Juniper --to aimem -o juniper.aimem.json --dry-run",
        "lifeboat alf convert http://127.0.0.1:3918/mcp --to alf -o graph.alf",
    ),
)
@click.argument("source")
@click.option(
    "--to", "to", type=FORMAT, required=True, help="Format to write: `alf`, or the name of another system's format."
)
@click.option(
    "-o", "--output", "target", metavar="TARGET", help="Write to this file, or to the running instance at this address."
)
@click.option("--from", "named", type=FORMAT, help="Format of SOURCE (default: recognised from its content).")
@click.option("--dry-run", is_flag=True, help="Show the report; write nothing.")
@click.option("--yes", is_flag=True, help="Convert even if the target format cannot represent some data.")
@click.option("--allow-partial", is_flag=True, help="Exit with 0 even if some items were refused.")
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
@click.option(
    "--producer",
    metavar="NAME",
    help="Name of this installation in the converted file (default: derived from the id of the installation).",
)
@encryption_options.add_rewrite_options
@_format_options
@session_command
def convert_file(
    session: CommandSession,
    /,
    source: str,
    to: str,
    target: str | None,
    named: str | None,
    dry_run: bool,
    yes: bool,
    allow_partial: bool,
    force: bool,
    producer: str | None,
    encrypt: bool | None,
    recipients: tuple[str, ...],
    passphrase_stdin: bool,
    **parameters: Any,
) -> int:
    """Convert SOURCE to another format. SOURCE is an archive, a file or a running instance of another memory system,
    or agent:NAME for a protected agent.

    The address of a running instance is http(s)://... or stdio:COMMAND; Lifeboat runs COMMAND. The command lists
    data that the target format cannot represent, and asks before it writes anything.
    """
    if target is None and not dry_run:
        raise click.UsageError("Give the output file or address with -o, or use --dry-run.")
    passphrase = encryption_options.passphrase_from_stdin(passphrase_stdin)

    encrypt = _should_encrypt(encrypt, target)

    def seal(archive: Archive | None) -> ArchiveEncryption | None:
        sources = [] if archive is None else [archive]
        return encryption_options.choose_rewrite_encryption(encrypt, recipients, passphrase, sources, session.output)

    if "sign" in (given := _given(parameters)):
        session = passphrase_input.with_unlocked_session(session)
    order = ConversionOrder(
        source=ConversionSource.of(source),
        to=to,
        target=target,
        named=named,
        given=given,
        producer=producer,
        passphrase=passphrase,
        seal=seal,
        dry_run=dry_run,
        force=force,
    )
    with session.output.progress("Converting") as tell:
        done = convert_source(session.context, order, lambda preview: None if yes else _ask(session, preview), tell)
    session.output.document(done.to_json(), lambda: _say(session.output, done))
    return 0 if done.is_whole or allow_partial else 1


def _should_encrypt(encrypt: bool | None, target: str | None) -> bool | None:
    """Return the option, or True without the option if the name of the target says so."""
    return True if encrypt is None and target is not None and target.lower().endswith(SUFFIX) else encrypt


def _ask(session: CommandSession, preview: ConversionReport) -> None:
    """Print what would be lost, and ask. Raises ExchangeError.WOULD_LOSE if no user can be asked."""
    lost = sum(fate.outcome in LOST for fate in preview.fates)
    if not can_ask(session):
        kinds = [f"{group.count} {group.kind}" for group in group_fates(preview.fates) if group.outcome in LOST]
        raise ExchangeError.WOULD_LOSE(
            f"the target format cannot represent {count_text(lost, 'item')}: {join_names(kinds[:_SHOWN])}; to list "
            "them: --dry-run"
        ).with_again("--yes")
    for line in _groups(preview):
        session.output.note(line)
    click.confirm(f"Convert, and leave {count_text(lost, 'item')} out?", abort=True, err=True)


def _groups(conversion: ConversionReport) -> Iterable[str]:
    groups = group_fates(conversion.fates)
    for group in groups[:_SHOWN]:
        names = ", ".join(snippet_text(name, 60) for name in group.names)
        more = ", ..." if group.count > len(group.names) else ""
        why = f": {snippet_text(group.reason)}" if group.reason else ""
        yield f"{count_text(group.count, group.kind)} {group.outcome}{why} ({names}{more})"
    if len(groups) > _SHOWN:
        yield f"{count_text(len(groups) - _SHOWN, 'more group')} of lost items not shown; to list all: --json"


def _figures(figures: Mapping[str, int | float]) -> Iterable[str]:
    """Return the format's counts, one per line, and the result of the secret scan in one line, even if it is empty."""
    found = {name.removeprefix(_FOUND): figure for name, figure in figures.items() if name.startswith(_FOUND)}
    for name, figure in figures.items():
        if not name.startswith(_FOUND):
            yield f"{name.replace('_', ' ')}: {figure if isinstance(figure, int) else f'{figure:.2f}'}"
    if found:
        said = [f"{figure} {name}" for name, figure in found.items() if figure]
        nothing = [f"no {name}" for name in found]
        yield f"The secret scan of the output found: {', '.join(said or nothing)}"


def _say(output: CommandOutput, done: ConversionReport) -> None:
    what = f"{done.target_format} with {count_text(done.records, 'memory')}"
    if done.bytes is not None:
        what += f", {size_text(done.bytes)}"
    if done.dry_run:
        output.line(f"{done.source} ({done.source_format}) would be written as {what}.", style="bold")
    else:
        output.line(f"{done.target}: {what}", style="bold")
    for word, fates in (("Read", done.read), ("Written", done.written)):
        if fates is not None:
            counts = [f"{count} {outcome}" for outcome, count in count_outcomes(fates).items() if count]
            output.line(f"{word}: {', '.join(counts) or 'nothing'}")
    for line in _groups(done):
        output.line(f"  {line}")
    for line in _figures(done.figures):
        output.line(line)
    if done.signature is not None:
        output.line(f"Signature of the source: {done.signature}")
    if done.encryption is not None:
        output.line(f"The whole file is encrypted, {encryption_options.describe_encryption(done.encryption)}.")
    for notice in done.notices:
        where = f" ({snippet_text(notice.where, 60)})" if notice.where else ""
        output.line(f"{notice.code}: {snippet_text(notice.text, 400)}{where}")
    for warning in done.warnings:
        output.warn(warning)
    if not done.is_whole:
        refused = sum(fate.outcome is ItemOutcome.REJECTED for fate in done.fates)
        output.warn(f"{count_text(refused, 'item was', 'items were')} refused and not written")
