"""Aionforge Memory as a format for conversions: reads and writes a running instance over its MCP server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from lifeboat_adapters.item_fates import ItemFate
from lifeboat_alf.common import ids
from lifeboat_alf.common.json_shapes import as_text
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.states.agent_state import State
from lifeboat_formats.aionforge import (
    aionforge_mapping,
    enumeration,
    instance_address,
    instance_export,
    memory_sending,
    send_plan,
)
from lifeboat_formats.aionforge.instance import AionforgeInstance
from lifeboat_formats.aionforge.instance_address import AssertedPrincipal, InstanceAddress
from lifeboat_formats.aionforge.mcp_client import InstanceConnection
from lifeboat_formats.aionforge.sent_notes import SentNotes
from lifeboat_formats.interchange import cleaning
from lifeboat_formats.interchange.cleaning import Cleaner
from lifeboat_formats.interchange.contract import (
    ConversionContext,
    Format,
    FormatFinding,
    FormatNotice,
    FormatOption,
    FormatReading,
    FormatWriteResult,
    MappingTable,
    OptionKind,
    Options,
)
from lifeboat_formats.interchange.errors import InstanceFailed, SourceRefused

AGENT, TEAMS, TOKEN, SESSIONS, NO_AUDIT = "agent-id", "teams", "token-file", "sessions", "no-audit"
NO_AGENT = "no_agent_named"
_NO_AGENT = (
    "no agent was named, so Aionforge may hide the private memories of agents; add #agent=UUID to the address, or "
    f"pass --{AGENT} UUID"
)
_NEEDED = ("search", "read_memory")
_MOST_SESSIONS = 100_000


class AionforgeFormat(Format):
    """Implementation of `contract.Format`. A source is an address: see `instance_address`."""

    name = "aionforge"
    title = "Aionforge Memory"
    suffixes: tuple[str, ...] = ()
    options: tuple[FormatOption, ...] = (
        FormatOption(
            AGENT,
            ("the UUID of the agent for which Lifeboat queries Aionforge"),
            OptionKind.TEXT,
            reads=True,
            writes=True,
        ),
        FormatOption(TEAMS, "the agent's teams, separated by commas", OptionKind.TEXT, reads=True, writes=True),
        FormatOption(
            TOKEN, "a file with a bearer token, readable only by you", OptionKind.FILE, reads=True, writes=True
        ),
        FormatOption(
            SESSIONS, "a file with session ids, one per line (for Aionforge 0.3.0)", OptionKind.FILE, reads=True
        ),
        FormatOption(NO_AUDIT, "do not export audit events", reads=True),
        *cleaning.OPTIONS,
    )

    def recognises(self, source: str, head: bytes) -> bool:
        return instance_address.is_address(source)

    def read(self, source: str, options: Options, around: ConversionContext) -> AbstractContextManager[FormatReading]:
        return self._read(source, options, around)

    @contextmanager
    def _read(self, source: str, options: Options, around: ConversionContext) -> Iterator[FormatReading]:
        """Read everything before the first record is given out, so that a failing instance never yields half of an
        agent."""
        asked = _address(source, options)
        name = f"Aionforge {asked.principal.agent_id[-8:]}".strip()
        sessions = _sessions(options)
        with InstanceConnection(asked) as connection:
            made = AionforgeInstance(connection)
            _check_tools(made)
            is_audited = options.get(NO_AUDIT) is not True
            found = instance_export.export_instance(
                made, name, SentNotes(around.notes, asked.principal.agent_id), sessions, audit=is_audited
            )
        if not asked.principal.agent_id and not asked.token:
            found.notices.insert(0, FormatNotice(NO_AGENT, _NO_AGENT))
        yield FormatReading(
            agent_name=name,
            records=found.records,
            entries=found.entries,
            fates=found.fates,
            notices=found.notices,
            agent_id=asked.principal.agent_id or None,
        )

    def losses(self, state: State, options: Options) -> list[ItemFate]:
        asked = instance_address.principal_of(_text(options, AGENT), _text(options, TEAMS))
        made = send_plan.plan_sending(state, asked, None)
        return [*send_plan.list_losses(made), *send_plan.list_document_fates(state)]

    def send(self, state: State, address: str, options: Options, around: ConversionContext) -> FormatWriteResult:
        """Clean everything, then write it into the instance."""
        asked = _address(address, options)
        if not asked.principal.agent_id and not asked.token:
            own = ids.as_uuid(state.sequence.agent_id)
            asked = replace(asked, principal=AssertedPrincipal(own, asked.principal.teams))
        cleaner = Cleaner.of(options)
        sent = SentNotes(around.notes, asked.principal.agent_id)
        made = send_plan.plan_sending(state, asked.principal, cleaner, sent)
        with InstanceConnection(asked) as connection:
            instance = AionforgeInstance(connection)
            _check_tools(instance, writes=True)
            done = memory_sending.send_memories(instance, made, sent)
        fates = [*done.fates, *send_plan.list_document_fates(state)]
        figures: dict[str, int | float] = {**cleaner.figures(), **done.counts}
        return FormatWriteResult(fates=fates, notices=done.notices, figures=figures)

    def check(self, source: str, *, strict: bool) -> Iterable[FormatFinding]:
        """Yield what an instance cannot do. Raises InstanceFailed if it does not answer."""
        with InstanceConnection(_address(source, {})) as connection:
            instance = AionforgeInstance(connection)
            missing = [tool for tool in _NEEDED if not instance.has(tool)]
            for tool in missing:
                yield FormatFinding(
                    "tool_missing", f"this server has no tool {tool}, which Lifeboat needs", is_error=True
                )
            if not instance.lists_everything:
                yield FormatFinding(
                    enumeration.INCOMPLETE, "this release of Aionforge cannot list its memories", is_error=strict
                )
            if not instance.has("batch_capture"):
                yield FormatFinding(
                    "read_only",
                    "this server does not accept new memories (it has no tool batch_capture)",
                    is_error=False,
                )

    def mappings(self) -> Sequence[MappingTable]:
        return aionforge_mapping.build_mapping_tables()


def _address(source: str, options: Options) -> InstanceAddress:
    if not instance_address.is_address(source):
        raise SourceRefused(
            f"{source} is not the address of an Aionforge server",
            fix=f"use an address such as {instance_address.DEFAULT}, or stdio:COMMAND",
        )
    asked = instance_address.principal_of(_text(options, AGENT), _text(options, TEAMS))
    named = _text(options, TOKEN)
    token = (
        instance_address.read_token_file(Path(named)) if named else instance_address.read_environment_token(os.environ)
    )
    return instance_address.parse_address(source, asked, token)


def _text(options: Options, name: str) -> str:
    return as_text(options.get(name))


def _sessions(options: Options) -> list[str]:
    """Read session ids, one per line. Raises SourceRefused."""
    named = _text(options, SESSIONS)
    if not named:
        return []
    try:
        lines = Path(named).read_text("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise SourceRefused(
            f"{named}: {refusal_reason(error)}", fix="give a text file with one session id per line"
        ) from None
    found = list(dict.fromkeys(text for line in lines if (text := line.strip())))
    if len(found) > _MOST_SESSIONS:
        raise SourceRefused(f"{named} contains more than {_MOST_SESSIONS:,} session ids")
    return found


def _check_tools(instance: AionforgeInstance, *, writes: bool = False) -> None:
    missing = [tool for tool in (*_NEEDED, *(["batch_capture"] if writes else [])) if not instance.has(tool)]
    if missing:
        raise InstanceFailed(
            f"the server has no tool {missing[0]}; perhaps it requires signed requests, or is not Aionforge"
        )


FORMAT = AionforgeFormat()
