"""Import an archive into a workspace (`lifeboat alf import`). The archive becomes the newest state of the agent here,
so that what the runtime cannot hold (links, lineage, roster, unknown fields) is in the next export again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.archive_documents import credentials_in_clear, without_payloads_in_clear
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import ABSENT_LEAF, BodyAbsent, Entry, State
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents import manage_agents as registry
from lifeboat_core.agents import withheld_items
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.capture import capability_links
from lifeboat_core.errors import AgentError, ExchangeError
from lifeboat_core.exchange import alf_client, encrypted_archives
from lifeboat_core.exchange.archive_stack import ArchiveStack, open_stack
from lifeboat_core.home import home_key
from lifeboat_core.home.context import Context
from lifeboat_core.processes.defer_interrupt import defer_interrupt
from lifeboat_core.processes.progress import Tell, tell_nobody
from lifeboat_core.restore import RestoreOptions, RestoreReport, carry_out_plan, plan_restore, restore_target
from lifeboat_core.restore import wanted_contents as contents_module
from lifeboat_core.restore.restore_finish import write_restore_receipt
from lifeboat_core.restore.restore_plan import RestorePlan
from lifeboat_core.restore.restore_report import draft_report, list_gaps, list_withheld
from lifeboat_core.restore.restore_run import check_guards
from lifeboat_core.restore.scratch_folders import make_scratch_folder
from lifeboat_core.restore.seen_code import make_seen_code
from lifeboat_core.restore.target_installation import locate_installation
from lifeboat_core.state.state_documents import load_profiles
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_keys.errors import NoAgentKey, NoKey, OtherKey, SignedByAnother, UnsealError
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.signed import credential_sealing, sequence_signatures
from lifeboat_keys.signed.sequence_signatures import SignatureVerdict
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, Vault, draft_of_state

KIND = "import"
OTHERWISE = "openclaw"
"""The runtime to write for when the archive's own has no adapter here."""
_DEFAULTS = RestoreOptions()


@dataclass(frozen=True, slots=True)
class ImportReport:
    """`restored` says what was written. `agent` is the id here, `copied_from` the id in the archive if that differs
    (this home knew the agent already, or the id is not a UUID), `name` its name here. `seen` is the code of an unsigned
    state, for a dry run."""

    restored: RestoreReport
    agent: str
    name: str
    copied_from: str | None = None
    warnings: list[str] = field(default_factory=list)
    seen: str | None = None

    def to_json(self) -> JsonObject:
        document = self.restored.to_json()
        warnings = [*document["warnings"], *self.warnings]
        return {
            **document,
            "agent": self.agent,
            "name": self.name,
            "copied_from": self.copied_from,
            "warnings": warnings,
            "seen": self.seen,
        }


def import_archive(
    context: Context,
    file: Path,
    to: Path,
    options: RestoreOptions = _DEFAULTS,
    *,
    deltas: Sequence[Path] = (),
    passphrase: str | None = None,
    tell: Tell = tell_nobody,
    ask_consent: Callable[[RestorePlan], None] = lambda plan: None,
) -> ImportReport:
    """Write an archive (with deltas on top, in order) into a workspace and register its agent, not yet watched. Without
    `options.runtime` the runtime is the archive's own, OpenClaw if that is not known here.

    An agent that this home knows is imported as a copy with another id. `ask_consent` gets the plan of an unsigned
    archive before anything is written, and may raise.

    Raises ArchiveError, ApplyError, SignatureError, RestoreError.UNSIGNED_STATE, RestoreError.TARGET_REFUSED,
    RestoreError.CONSENT_NEEDED, AgentError.ALREADY_PROTECTED, and what `open_archive` raises.
    """
    with _opened(context, file, deltas, passphrase, to) as files, home_lock(context, "import"):
        made, warnings = _plan_import(context, file, files, to, options)
        is_signed = made.verdict is SignatureVerdict.SIGNED
        if not is_signed:
            ask_consent(made)
        check_guards(made)
        if options.dry_run:
            report = draft_report(made, context.now())
            code = None if is_signed else make_seen_code(made)
            return ImportReport(report, made.agent_id, made.agent_name, warnings=warnings, seen=code)
        return _import(context, made, warnings, tell)


def _plan_import(
    context: Context, file: Path, files: ArchiveStack, to: Path, options: RestoreOptions
) -> tuple[RestorePlan, list[str]]:
    """Take the keys of an archive, and plan the restore of its state. Return the plan and warnings."""
    state, folder = files.state, restore_target.resolve_target(to)
    _refuse_protected(context, folder, file)
    if not options.accept_unsigned:
        home_key.refuse_without_key(context, state.sequence)
    warnings = [*files.base.warnings, *_take_keys(context, files, file), *capability_links.describe_unmet_needs(state)]
    options = replace(options, runtime=options.runtime or _own_runtime(context, state, options))
    return plan_restore(context, state, folder, options), warnings


def _own_runtime(context: Context, state: State, options: RestoreOptions) -> str:
    own = contents_module.find_source_runtime(state)
    known = {adapter.runtime for adapter in context.adapters()}
    if not options.accept_unsigned:  # the profile in an unsigned state is not used
        known |= load_profiles(state).keys()
    return own if own in known else OTHERWISE


@contextmanager
def _opened(
    context: Context, file: Path, deltas: Sequence[Path], passphrase: str | None, to: Path
) -> Iterator[ArchiveStack]:
    """Open the files from private copies, because they are read several times and must not change between check and
    use."""
    with ExitStack() as stack:
        archives = [
            stack.enter_context(encrypted_archives.open_archive(context, each, passphrase, private=True))
            for each in (file, *deltas)
        ]
        if archives[0].is_delta:
            raise ExchangeError(
                f"{file} is a delta. Import the snapshot on which it is based, and give the delta with --delta",
                fix=f"lifeboat alf import SNAPSHOT --delta {quote_argument(str(file))} --to {quote_argument(str(to))}",
            )
        yield stack.enter_context(open_stack(archives))


def _refuse_protected(context: Context, folder: Path, file: Path) -> None:
    for agent in agents.list_agents(context):
        if restore_target.resolve_target(agent.workspace) == folder:
            raise AgentError.ALREADY_PROTECTED(
                f"{folder} is the workspace of {agent.name}; import the archive into another folder",
                fix=f"lifeboat alf import {quote_argument(str(file))} --to {quote_argument(str(_free_folder(folder)))}",
            )


def _free_folder(folder: Path) -> Path:
    """Return a folder beside this one that does not exist."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return next(each for each in numbered if not os.path.lexists(each))


def _take_keys(context: Context, files: ArchiveStack, file: Path) -> list[str]:
    """Keep the agent's wrapped keys from the files. Keys wrapped by another user are of no use here."""
    context.keys().ensure()
    home_key.note_met_key(context, files.base.sequence, file)
    if files.keys is None:
        return []
    try:
        context.keys().import_agent(files.keys)
    except (OtherKey, SignedByAnother) as error:
        return [
            f"the credentials of the agent cannot be opened on this machine ({error.message}); enter "
            "them in the runtime again"
        ]
    return []


def _import(context: Context, made: RestorePlan, warnings: list[str], tell: Tell) -> ImportReport:
    """Fill the vault in a scratch folder, then restore the workspace, then move the vault into place and register the
    agent."""
    known = made.agent_id in {agent.id for agent in agents.list_agents(context)}
    agent_id = ids.make_id(context.now()) if known else made.agent_id
    named = made.state.sequence.agent_id
    with make_scratch_folder(context, KIND, becomes_history=True) as scratch:
        staged = scratch / "vault"
        tell("Writing the vault of the agent", 0, None)
        said = _fill_vault(context, made, staged, agent_id)
        report = carry_out_plan(context, made, tell)
        context.files.make_folders(made.target, 0o700)  # an archive without files of the workspace wrote none
        with defer_interrupt():  # the written workspace must get its vault and its registration
            context.files.make_folders(context.home.vaults_folder, 0o700)
            registry.set_aside_vault(context, agent_id)
            context.files.replace(staged, context.home.vault_folder(agent_id))
            agent = _register(context, made, agent_id)
            said += _leave_agent_id(made, agent_id)
            report = replace(report, kind=KIND, agent=agent.id, name=agent.name)
            write_restore_receipt(context, report)
    return ImportReport(report, agent.id, agent.name, named if named != agent.id else None, [*warnings, *said])


def _leave_agent_id(made: RestorePlan, agent_id: str) -> list[str]:
    """Write the id that the reference client made, so that it recognises its agent; ids made here are all UUIDv7."""
    if ids.is_version_7(agent_id) or made.state.sequence.digest:
        return []
    try:
        alf_client.leave_agent_id(made.target, agent_id)
    except OSError as error:
        return [
            f"the file {alf_client.AGENT_FILE} could not be written, so the ALF reference client "
            f"will treat the workspace as another agent: {error.strerror}"
        ]
    return []


def _fill_vault(context: Context, made: RestorePlan, folder: Path, agent_id: str) -> list[str]:
    """Make a vault whose only sequence is the archive's state, under its own number, signed by this device."""
    Vault.create(folder, agent_id, files=context.files, clock=context.clock).close()
    device = context.keys().device
    said: list[str] = []
    with Vault.open(folder, files=context.files, clock=context.clock) as vault:
        if _is_taken_over(made, agent_id):
            for redaction in made.inventory.redactions:
                vault.redact(redaction)
        vault.commit(
            _draft(context, made, agent_id, said),
            kind=KIND,
            writer=device.id,
            time=context.now(),
            sign=lambda sequence: sequence_signatures.sign_sequence(sequence, device),
            number=made.sequence,
        )
        withheld_items.note_withheld(vault, list_withheld(made))
        withheld_items.note_gaps(vault, list_gaps(made))
    return said


def _is_taken_over(made: RestorePlan, agent_id: str) -> bool:
    """Return whether the state is imported leaf by leaf, with the redactions that explain it. A copy is imported as it
    reads now."""
    return made.verdict is SignatureVerdict.SIGNED and agent_id == made.state.sequence.agent_id


def _draft(context: Context, made: RestorePlan, agent_id: str, said: list[str]) -> Draft:
    """Return everything in the state, with its commitments if nothing in it changes."""
    if made.inventory.redactions and _is_taken_over(made, agent_id):
        return draft_of_state(made.state.as_signed)
    state = made.state
    puts = {entry.path: _put(state, entry) for entry in state.entries()}
    if made.verdict is not SignatureVerdict.SIGNED:
        puts = {path: _private_with_cuts(put) for path, put in puts.items()}
    said += _leave_out_payloads_in_clear(state, puts)
    if agent_id == state.sequence.agent_id:
        return Draft(puts, _records(state))
    other = AgentIdChange(state.sequence.agent_id, agent_id)
    for path in (archive_layout.MANIFEST, archive_layout.IDENTITY, archive_layout.PRINCIPALS):
        if path in puts:
            puts[path] = EntryPut(puts[path].meta, other.document(state.body(path)))
    if archive_layout.CREDENTIALS in puts:
        held = puts[archive_layout.CREDENTIALS].body
        plain = held if isinstance(held, bytes) else state.body(archive_layout.CREDENTIALS)
        body = seal_credentials_for_copy(context.keys(), plain, agent_id, said)
        puts[archive_layout.CREDENTIALS] = EntryPut(puts[archive_layout.CREDENTIALS].meta, body)
    lines = (RecordPut("create", one.id, one.partition, other.line(one.line)) for one in state.records())
    return Draft(puts, lines)


def _leave_out_payloads_in_clear(state: State, puts: dict[str, EntryPut]) -> list[str]:
    """Remove credentials that another writer did not encrypt, because the vault goes to remotes. Return warnings that
    name them.

    A state that a device of Lifeboat signed has none, and its bytes stay.
    """
    if archive_layout.CREDENTIALS not in puts or state.sequence.digest:
        return []
    document = json_codec.decode_json(state.body(archive_layout.CREDENTIALS))
    found = credentials_in_clear(document)
    if found:
        body = json_codec.encode_pretty(without_payloads_in_clear(document))
        puts[archive_layout.CREDENTIALS] = EntryPut(puts[archive_layout.CREDENTIALS].meta, body)
    return [f"the credential {each} is not encrypted in the archive, so Lifeboat left it out" for each in found]


def _private_with_cuts(put: EntryPut) -> EntryPut:
    """Restrict a file that will have credentials to its owner, because this device vouches for the state from
    now on."""
    return put._replace(meta={**put.meta, "private": True}) if put.meta.get(entry_metas.CUTS) else put


def _put(state: State, entry: Entry) -> EntryPut:
    """Return an entry unchanged; a large artifact that is only described stays so."""
    attachment = as_object(entry.meta.get("attachment"))
    leaf = None if entry.leaf.digest == ABSENT_LEAF else entry.leaf
    if attachment.get("tier") == 3 or entry.sha256 is None:
        try:
            return EntryPut(entry.meta, state.body(entry.path), leaf)
        except BodyAbsent:
            return EntryPut(entry.meta, None, entry.leaf, entry.size, entry.sha256)
    return EntryPut(entry.meta, lambda: state.body(entry.path), entry.leaf)


def _records(state: State) -> Iterator[RecordPut]:
    for record in state.records():
        leaf = record.leaf if record.leaf.salt else None
        yield RecordPut("create", record.id, record.partition, record.line, leaf)


def _register(context: Context, made: RestorePlan, agent_id: str) -> Agent:
    installation = locate_installation(context, context.adapter(made.runtime), made.target)
    if made.options.state_dir is not None:
        installation = made.installation
    return registry.register_agent(
        context,
        Agent(
            id=agent_id,
            name=registry.choose_free_name(context, contents_module.read_agent_name(made.state)),
            runtime=made.runtime,
            workspace=made.target,
            native_id="" if installation is None else installation.native_id,
            watched=False,
        ),
    )


_NAMES = ("agent_id",)


@dataclass(frozen=True, slots=True)
class AgentIdChange:
    """Replaces one agent id by another in documents and record lines."""

    old: str
    new: str

    def document(self, body: bytes) -> bytes:
        """Return a JSON document in the form of archives, with the new id wherever `agent_id` or `agent.id` was the old
        one."""
        return json_codec.encode_pretty(self._value(json_codec.decode_json(body)))

    def line(self, line: bytes) -> bytes:
        """Return a record line; unchanged bytes when it does not have the old id."""
        return json_codec.encode_json(self._value(json_codec.decode_json(line))) if self.old.encode() in line else line

    def _value(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._value(item, f"{key}.{name}") for name, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, key) for item in value]
        names_agent = key == ".agent.id" or key.rpartition(".")[2] in _NAMES
        return self.new if names_agent and value == self.old else value


def seal_credentials_for_copy(keys: HomeKeys, body: bytes, agent_id: str, said: list[str]) -> bytes:
    """Return the credentials sealed again for the copy. What cannot be opened here stays sealed for the original agent,
    and is reported in `said`."""
    document = json_codec.decode_json(body)
    listed = document.get("credentials")
    if isinstance(listed, list):
        document["credentials"] = [_sealed_again(keys, credential, agent_id, said) for credential in listed]
    return json_codec.encode_pretty(document)


def _sealed_again(keys: HomeKeys, credential: Any, agent_id: str, said: list[str]) -> Any:
    if not isinstance(credential, dict):
        return credential
    try:
        payload = keys.open(credential)
    except (NoKey, NoAgentKey, UnsealError) as error:
        said.append(
            f"the credential {credential.get('label') or credential.get('id')} could not be sealed again: {error}"
        )
        return credential
    fields = credential_sealing.seal_credential(
        payload,
        agent_public=keys.agent_public(agent_id),
        agent_id=agent_id,
        credential_id=str(credential["id"]),
        service=str(credential["service"]),
        credential_type=str(credential["credential_type"]),
        key_id=keys.public.key_id,
    )
    return {**credential, "agent_id": agent_id, **fields}
