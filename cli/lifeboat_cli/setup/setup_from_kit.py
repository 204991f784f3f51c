"""`lifeboat setup --kit`: restore every agent of the remotes of a recovery kit, with one confirmation.

Steps that are done are skipped, so the same command continues after an interruption.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.keys import kit_files, passphrase_input
from lifeboat_cli.keys.key_status_text import PLACES
from lifeboat_cli.setup import setup_questions as asking
from lifeboat_cli.setup import setup_steps as steps
from lifeboat_cli.terminal.command_again import write_command_again
from lifeboat_cli.terminal.command_session import CommandSession, ask_confirmation, ask_typed_word, can_ask
from lifeboat_core.documents.setup_documents import KitAgentResult, KitRemoteResult, KitReturn
from lifeboat_core.errors import MovedElsewhere, RestoreError
from lifeboat_core.home import home_key
from lifeboat_core.remotes import kit_remotes, kit_return
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.kit_return import FoundAgents, PreparedReturn, UnfinishedAgent
from lifeboat_core.restore import full_receipt
from lifeboat_core.restore.restore_summary import summarize_restore
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.human_text import count_text, join_names, quote_argument, time_text
from lifeboat_daemon.control.poke_daemon import wake_daemon
from lifeboat_keys.recovery import recovery_kit
from lifeboat_keys.recovery.recovery_kit import KitRemote, RecoveryKit
from lifeboat_vault.errors import RemoteDenied


@dataclass
class _KitRun:
    """The state of one run. `machines` are the names that the user typed to take agents over."""

    session: CommandSession
    kit: RecoveryKit
    assume_yes: bool
    machines: set[str]
    key_was_here: bool = False
    remotes: list[KitRemoteResult] = field(default_factory=list)
    agents: list[KitAgentResult] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    @property
    def can_ask(self) -> bool:
        return not self.assume_yes and can_ask(self.session)

    def document(self, *, dry_run: bool = False) -> KitReturn:
        return KitReturn(
            self.kit.key.key_id,
            self.key_was_here,
            self.kit.is_checked,
            dry_run,
            tuple(self.remotes),
            tuple(self.agents),
            tuple(dict.fromkeys(self.commands)),
        )


def return_from_kit(
    session: CommandSession,
    file: Path,
    *,
    assume_yes: bool,
    dry_run: bool,
    passphrase_stdin: bool,
    take_over: Sequence[str],
) -> int:
    """Recover the key, add the remotes, and restore their agents. Return 1 if something was left out.

    Raises KeysError.NOT_A_KIT, BadWords, AgeError, KeysError.EXISTS (this machine has another key), Busy (the same
    command is running).
    """
    kit = recovery_kit.read_whole_kit(kit_files.read_kit_file(session, file, passphrase_stdin=passphrase_stdin))
    home_key.refuse_other_key(session.context, kit.key)
    run = _KitRun(session, kit, assume_yes, {name.casefold() for name in take_over})
    if dry_run:
        run.key_was_here = home_key.find_user_key(session.context) is not None
        run.remotes = [_plan_remote(run, one) for one in kit.remotes]
        session.output.document(run.document(dry_run=True), lambda: _print_plan(run))
        return 0
    with kit_return.kit_lock(session.context):
        _recover_key(run)
        configs = _add_remotes(run)
        if configs:
            _restore_agents(run, configs)
    wake_daemon(session.context)
    run.commands += _list_steps_left(run)
    session.output.document(run.document(), lambda: _print_end(run))
    is_partial = any(one.error or one.partial for one in run.agents) or any(one.error for one in run.remotes)
    return 1 if is_partial or not configs else 0


# The key ----------------------------------------------------------------------------------------------------------


def _recover_key(run: _KitRun) -> None:
    context = run.session.context
    run.key_was_here = home_key.find_user_key(context) is not None
    if not run.key_was_here:
        keys = context.keys()
        store = None if keys.key_id is None else keys.store
        home_key.recover_user_key(passphrase_input.with_new_passphrase(run.session, store), run.kit.key, store)
    status = context.keys().status()
    said = "is on this machine already" if run.key_was_here else "is recovered"
    run.session.output.note(f"Your key {run.kit.key.key_id} {said}. The key is stored in {PLACES[status.store]}.")


# The remotes ------------------------------------------------------------------------------------------------------


def _plan_remote(run: _KitRun, remote: KitRemote) -> KitRemoteResult:
    result = KitRemoteResult(remote.name, remote.url, "planned")
    try:
        return msgspec.structs.replace(
            result,
            state="planned" if kit_remotes.find_known_kit_remote(run.session.context, remote) is None else "known",
            needs_join_line=kit_remotes.needs_join_line(remote),
        )
    except LifeboatError as error:
        return msgspec.structs.replace(result, state="left_out", error=steps.describe_step_problem(error))


def _add_remotes(run: _KitRun) -> list[RemoteConfig]:
    """Add the remotes of the kit that this machine lacks, and return those that it has then."""
    _confirm_unchecked(run)
    found: list[RemoteConfig] = []
    for remote in run.kit.remotes:
        result = _add_remote(run, remote, found)
        run.remotes.append(result)
        if result.error is not None:
            run.session.output.warn(f"The remote {remote.name} was skipped: {result.error['message']}")
            run.commands.append(result.error["fix"] or f"lifeboat remote add {quote_argument(remote.name)}")
    return found


def _confirm_unchecked(run: _KitRun) -> None:
    """Ask whether the addresses are right if the kit cannot prove them: another one would get your requests."""
    context = run.session.context
    new = [one for one in run.kit.remotes if kit_remotes.find_known_kit_remote(context, one) is None]
    if run.kit.is_checked or not new:
        return
    named = join_names([f"{one.name} ({one.url})" for one in new])
    question = (
        f"The kit contains no signature that proves its list of remotes. Do these remotes belong to you: {named}?"
    )
    if run.assume_yes or not can_ask(run.session):
        raise RestoreError.CONSENT_NEEDED(
            f"the kit contains no signature that proves its list of remotes: {named}",
            fix=f"lifeboat remote add {quote_argument(new[0].name)}",
        )
    ask_confirmation(run.session, question, otherwise="")


def _add_remote(run: _KitRun, remote: KitRemote, found: list[RemoteConfig]) -> KitRemoteResult:
    """Add one remote. If the kit holds no access that is valid, ask for a join line without echo."""
    access, context = "", run.session.context
    while True:
        try:
            with convert_system_errors(), run.session.output.progress(f"Contacting {remote.name}"):
                added = kit_remotes.add_kit_remote(context, remote, is_checked=run.kit.is_checked, access=access)
        except LifeboatError as error:
            access = _ask_join_line(run, remote, error) if isinstance(error, RemoteDenied) or access else ""
            if access:
                continue
            return KitRemoteResult(
                remote.name,
                remote.url,
                "left_out",
                needs_join_line=isinstance(error, RemoteDenied),
                error=steps.describe_step_problem(error),
            )
        found.append(added.config)
        if not added.can_push:
            run.commands.append(f"lifeboat remote token {quote_argument(added.config.name)}")
        state = "added" if added.is_new else "known"
        run.session.output.note(f"Remote {added.config.name}: {added.config.url} ({state})")
        return KitRemoteResult(added.config.name, added.config.url, state, added.can_push)


def _ask_join_line(run: _KitRun, remote: KitRemote, error: LifeboatError) -> str:
    """Return a typed join line, "" if the user has none or cannot be asked."""
    if not run.can_ask:
        return ""
    run.session.output.note(f"{remote.name}: {error.message}.")
    return asking.ask_secret(
        f"Join line of {remote.name} ({remote.url}), input is hidden (press Enter to skip this remote)"
    )


# The agents -------------------------------------------------------------------------------------------------------


def _restore_agents(run: _KitRun, configs: list[RemoteConfig]) -> None:
    session = run.session
    with session.output.progress("Listing the agents on the remotes"):
        found = kit_return.find_returning_agents(session.context, configs)
    _note_found(run, found)
    if not found.returning and not found.unfinished:
        return
    with ExitStack() as stack:
        with session.output.progress("Fetching the agents") as tell:
            prepared, failed = stack.enter_context(kit_return.prepare_returns(session.context, found.returning, tell))
        for one in found.returning:
            if one.agent.id in failed:
                _leave_out(run, one.agent.id, one.name, one.config.name, failed[one.agent.id])
        prepared = [one for one in prepared if not _is_overwriting_unasked(run, one)]
        if not prepared and not found.unfinished:
            return
        _confirm(run, prepared, found.unfinished)
        kit_return.note_targets(session.context, prepared)
        for each in prepared:
            _carry_out(run, each)
        for unfinished in found.unfinished:
            _finish(run, unfinished)


def _note_found(run: _KitRun, found: FoundAgents) -> None:
    for name, problem in found.problems.items():
        run.session.output.warn(f"the agents on {name} could not be listed: {problem.message}")
        run.commands.append(problem.fix or f"lifeboat remote test {quote_argument(name)}")
        run.remotes = [
            msgspec.structs.replace(one, state="left_out", error=steps.describe_step_problem(problem))
            if one.name == name
            else one
            for one in run.remotes
        ]
    for here in found.here:
        run.agents.append(KitAgentResult(here.id, here.name, "", str(here.workspace), "here"))


def _leave_out(
    run: _KitRun, agent_id: str, name: str, remote: str, error: LifeboatError, to: str | None = None
) -> None:
    run.agents.append(KitAgentResult(agent_id, name, remote, to, "left_out", error=steps.describe_step_problem(error)))
    run.session.output.warn(f"{name} was skipped: {error.message}")


def _is_overwriting_unasked(run: _KitRun, prepared: PreparedReturn) -> bool:
    """Return whether files would be overwritten without a user who agrees, and say so."""
    count = prepared.plan.count_replaced()
    if not count or run.can_ask:
        return False
    one, target = prepared.agent, str(prepared.plan.target)
    fix = (
        f"lifeboat restore {quote_argument(one.agent.id)} --from {quote_argument(one.config.name)} "
        f"--to {quote_argument(target)} --with-credentials --adopt"
    )
    error = RestoreError.CONSENT_NEEDED(f"{count_text(count, 'file')} in {target} would be overwritten", fix=fix)
    _leave_out(run, one.agent.id, one.name, one.config.name, error, target)
    return True


def _confirm(run: _KitRun, prepared: list[PreparedReturn], unfinished: list[UnfinishedAgent]) -> None:
    """Show what would be restored, and ask once. If a machine wrote an agent within 24 hours, its typed name is the
    answer. Raises RestoreError.CONSENT_NEEDED, Abort."""
    session = run.session
    for each in prepared:
        _print_prepared(run, each)
    machines = {one.agent.machine for one in prepared} | {one.machine for one in unfinished}
    to_name = sorted(name for name in machines - {None} if name is not None and name.casefold() not in run.machines)
    if run.assume_yes:
        return
    names = [each.agent.name for each in prepared] + [one.agent.name for one in unfinished]
    its = "its" if len(names) == 1 else "their"
    question = f"Restore {join_names(names)} with {its} credentials, and make this machine {its} writer?"
    if not to_name or not run.can_ask:
        ask_confirmation(session, question, otherwise=f"this restores {join_names(names)}")
        return
    for machine in to_name:
        theirs = [each.agent.name for each in prepared if each.agent.machine == machine]
        theirs += [one.agent.name for one in unfinished if one.machine == machine]
        session.output.note(
            f"The machine {machine} wrote {join_names(theirs)} within the last 24 hours. If the agent still runs "
            "there, stop it first."
        )
        ask_typed_word(session.output, machine, question, ignores_case=True)
        run.machines.add(machine.casefold())


def _print_prepared(run: _KitRun, each: PreparedReturn) -> None:
    plan = each.plan
    document = plan.to_json() | full_receipt.make_receipt(plan, plan.fates).to_json()
    note = run.session.output.note
    when, remote = time_text(plan.state.sequence.time), each.agent.config.name
    note(f"{each.agent.name}: sequence {plan.sequence}, captured {when}, from {remote}")
    note(f"  to {plan.target}: {summarize_restore(document, is_dry_run=True)}.")
    if plan.count_replaced():
        count = count_text(plan.count_replaced(), "file")
        run.session.output.warn(
            f"{count} in {plan.target} would be overwritten; `lifeboat undo` restores the previous content"
        )


def _carry_out(run: _KitRun, each: PreparedReturn) -> None:
    one, target = each.agent, str(each.plan.target)
    take_over = one.machine if one.machine is not None and one.machine.casefold() in run.machines else None
    try:
        with convert_system_errors(), run.session.output.progress(f"Restoring {one.name}") as tell:
            arrived = kit_return.carry_out_return(run.session.context, each, take_over=take_over, tell=tell)
    except MovedElsewhere as error:
        names = (name for each in sorted({*run.machines, one.machine or ""}) for name in ("--take-over", each))
        error.fix = write_command_again(*names)
        _leave_out(run, one.agent.id, one.name, one.config.name, error, target)
        run.agents[-1] = msgspec.structs.replace(run.agents[-1], machine=one.machine)
        return
    except LifeboatError as error:
        _leave_out(run, one.agent.id, one.name, one.config.name, error, target)
        return
    can_push = {remote.name for remote in run.remotes if remote.can_push}
    for name, why in arrived.raised.missed.items():
        if name in can_push:  # the others are listed with the command that gives them a token
            run.session.output.warn(f"remote {name} has not accepted this machine as the new writer yet: {why}")
    report = arrived.report.to_json()
    is_partial = any(report[name] for name in ("left_out", "lacking", "not_captured", "moved_away"))
    next_steps = tuple({"title": step["title"], "command": step["command"]} for step in report["next"])
    run.agents.append(
        KitAgentResult(
            one.agent.id,
            report["name"],
            one.config.name,
            target,
            "restored",
            report["summary"],
            is_partial,
            next=next_steps,
        )
    )


def _finish(run: _KitRun, unfinished: UnfinishedAgent) -> None:
    agent, machine = unfinished.agent, unfinished.machine
    take_over = machine if machine is not None and machine.casefold() in run.machines else None
    try:
        with convert_system_errors(), run.session.output.progress(f"Adopting {agent.name}") as tell:
            kit_return.finish_return(run.session.context, unfinished, take_over=take_over, tell=tell)
    except LifeboatError as error:
        _leave_out(run, agent.id, agent.name, unfinished.config.name, error, str(agent.workspace))
        return
    run.agents.append(
        KitAgentResult(agent.id, agent.name, unfinished.config.name, str(agent.workspace), "restored", "adopted")
    )


# What is printed --------------------------------------------------------------------------------------------------


def _list_steps_left(run: _KitRun) -> list[str]:
    if not any(one.state in ("restored", "here") for one in run.agents):
        return []
    service = steps.check_service_ready(run.session.context)
    return [service.command] if service.state == steps.MISSING and service.command else []


def _print_plan(run: _KitRun) -> None:
    output = run.session.output
    output.line(
        f"This recovery kit contains the key {run.kit.key.key_id} and {count_text(len(run.kit.remotes), 'remote')}:"
    )
    for one in run.remotes:
        needs = "; this remote needs a join line" if one.needs_join_line and one.state != "known" else ""
        output.line(f"  {one.name}: {one.url}{needs}")


def _print_end(run: _KitRun) -> None:
    output = run.session.output
    restored = [one for one in run.agents if one.state == "restored"]
    for one in restored:
        output.line(f"{one.name} was restored to {one.to}.", style="bold")
        output.line(f"{one.summary}.")
        for step in one.next:
            output.line(f"{step['title']}:")
            output.verbatim(f"  {step['command']}")
    for one in run.agents:
        if one.state == "here":
            output.line(f"{one.name} is on this machine already, in {one.to}.")
    if not run.agents:
        output.line("No agent was restored.", style="bold")
    left = [one.name for one in run.remotes if one.error] + [one.name for one in run.agents if one.error]
    if left:
        output.line(f"Partial: {join_names(left)} not restored. To continue, run the same command again.")
    fixes = [one.error["fix"] for one in run.agents if one.error and one.error["fix"]]
    commands = list(dict.fromkeys((*fixes, *run.commands)))
    for remote in run.remotes:
        if remote.state in ("added", "known") and not remote.can_push:
            output.line(
                f"The token for {remote.name} is restore-only, so nothing is pushed to this remote until you "
                "store a token for it that permits pushes."
            )
    if restored and (service := steps.check_service_ready(run.session.context)).state == steps.MISSING:
        output.line(service.text)
    if commands:
        output.line("Steps that are not done yet:")
    for command in commands:
        output.verbatim(f"  {command}")
