"""Checks of registering agents and appending states."""

from __future__ import annotations

from lifeboat_vault.errors import EpochBehind, EpochMoved, StaleBase, UnknownAtRemote
from lifeboat_vault.remote.checks.remote_trial import (
    NAME,
    RUNTIME,
    UNKNOWN_FILE,
    RemoteTrial,
    expect_equal,
    expect_refused,
    expect_that,
    reopen_bundle,
)


def it_says_who_it_is_and_stays_the_same(trial: RemoteTrial) -> None:
    about = trial.remote.about()
    expect_that(bool(about.id), "the remote returned no id")
    expect_equal(trial.another().about().id, about.id, "the id of the remote as seen by another machine")


def an_agent_that_was_registered_is_known(trial: RemoteTrial) -> None:
    agent_id = trial.agent()
    found = trial.remote.agent(agent_id)
    expect_equal((found.id, found.name, found.runtime), (agent_id, NAME, RUNTIME), "the agent")
    expect_that(found.head is None, "the remote reports a newest sequence for an agent without history")
    expect_that(
        agent_id in [each.id for each in trial.remote.agents()], "the remote does not list the registered agent"
    )


def registering_again_gives_what_is_there(trial: RemoteTrial) -> None:
    agent_id = trial.agent()
    found = trial.remote.register(agent_id, "another name", "another runtime")
    expect_equal((found.id, found.name, found.runtime), (agent_id, NAME, RUNTIME), "the agent")


def an_agent_that_was_never_registered_is_not_there(trial: RemoteTrial) -> None:
    unknown, remote = trial.unknown_agent(), trial.remote
    machine = trial.machine()
    machine.capture()
    for what, work in {
        "agent": lambda: remote.agent(unknown),
        "push": lambda: remote.push(unknown, machine.snapshot()),
        "snapshot": lambda: remote.snapshot(unknown),
        "sequences": lambda: list(remote.sequences(unknown)),
        "deltas": lambda: list(remote.deltas(unknown, 0)),
        "keys": lambda: remote.keys(unknown),
        "put_keys": lambda: remote.put_keys(unknown, {}),
        "missing": lambda: remote.missing(unknown, [UNKNOWN_FILE]),
        "object": lambda: remote.object(unknown, "0" * 64),
        "raise_epoch": lambda: remote.raise_epoch(unknown, 1),
    }.items():
        expect_refused(UnknownAtRemote, work, what)
    expect_that(
        unknown not in [each.id for each in remote.agents()], "the remote lists an agent that was never registered"
    )


def names_may_have_any_characters(trial: RemoteTrial) -> None:
    name = "Ada ' \" ; -- % \\ / é 船 \U0001f6f6 <b>"
    agent_id = trial.agent(name)
    machine = trial.machine(name, agent_id)
    machine.begin(trial.remote)
    found = trial.remote.agent(agent_id)
    expect_equal(found.name, name, "the name of the agent")
    expect_that(
        found.head is not None and found.head.machine == name, "the remote stores a different name of the machine"
    )


def a_first_snapshot_becomes_the_head(trial: RemoteTrial) -> None:
    machine = trial.machine()
    row = machine.capture()
    head = machine.push(trial.remote, machine.snapshot())
    expect_equal((head.number, head.digest, head.epoch, head.time), (0, row.digest, row.epoch, row.time), "the head")
    expect_equal(head.writer, machine.device.id, "the writer")
    machine.expect_there(trial.remote)


def a_first_snapshot_may_have_any_number(trial: RemoteTrial) -> None:
    machine = trial.machine()
    for _ in range(3):
        machine.capture()
    machine.capture(number=1247)
    machine.push(trial.remote, machine.snapshot())
    machine.expect_there(trial.remote)
    expect_equal(machine.numbers(trial.remote), [1247], "the sequence numbers on the remote")


def a_delta_goes_on_top_of_the_head(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=4)
    machine.expect_there(trial.remote)
    expect_equal(machine.numbers(trial.remote), [0, 1, 2, 3], "the sequence numbers on the remote")


def numbers_may_have_gaps(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote)
    machine.capture(number=6)
    machine.push(trial.remote, machine.delta(0))
    machine.capture(number=40)
    machine.push(trial.remote, machine.delta(6))
    expect_equal(machine.numbers(trial.remote), [0, 6, 40], "the sequence numbers on the remote")


def one_delta_may_stand_for_several_captures(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote)
    for _ in range(3):
        machine.capture()
    head = machine.push(trial.remote, machine.delta(0))
    expect_equal((head.number, head.digest), (3, machine.here.digest), "the head")
    expect_equal(machine.numbers(trial.remote), [0, 3], "the sequence numbers on the remote")


def the_same_push_again_changes_nothing(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.capture()
    first = machine.snapshot()
    once = machine.push(trial.remote, reopen_bundle(first))
    expect_equal(
        machine.push(trial.remote, reopen_bundle(first)),
        once,
        "the newest sequence after the same snapshot was pushed twice",
    )
    machine.capture()
    delta = machine.delta(0)
    once = machine.push(trial.remote, reopen_bundle(delta))
    twice = machine.push(trial.remote, reopen_bundle(delta))
    expect_equal(
        (twice.number, twice.digest),
        (once.number, once.digest),
        "the newest sequence after the same delta was pushed twice",
    )
    expect_equal(machine.numbers(trial.remote), [0, 1], "the sequence numbers on the remote")


def a_lost_acknowledgement_and_one_more_capture_make_nothing_twice(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote)
    machine.capture()
    machine.push(trial.remote, machine.delta(0))  # the answer is lost
    machine.capture()
    error = expect_refused(
        StaleBase,
        lambda: machine.push(trial.remote, machine.delta(0)),
        "a delta based on an older sequence than the newest one",
    )
    expect_equal(error.sequence, 1, "the newest sequence named in the refusal")
    machine.push(trial.remote, machine.delta(1))
    expect_equal(machine.numbers(trial.remote), [0, 1, 2], "the sequence numbers on the remote")
    machine.expect_there(trial.remote)


def a_delta_whose_base_is_not_the_head_is_refused(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=3)
    machine.capture()
    for base in (0, 1):
        error = expect_refused(
            StaleBase,
            lambda base=base: machine.push(trial.remote, machine.delta(base)),  # type: ignore[misc]
            "a delta that is not based on the newest sequence",
        )
        expect_equal(error.sequence, 2, "the newest sequence named in the refusal")
    expect_equal(machine.numbers(trial.remote), [0, 1, 2], "the sequence numbers on the remote")


def a_delta_for_an_agent_without_history_is_refused(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.capture()
    machine.capture()
    error = expect_refused(
        StaleBase, lambda: machine.push(trial.remote, machine.delta(0)), "a delta for an agent without history"
    )
    expect_that(
        error.sequence is None, "the remote refused the push, but named a newest sequence although the history is empty"
    )
    expect_that(
        trial.remote.agent(machine.agent_id).head is None,
        "the remote refused the push, but stored it as the newest sequence",
    )


def a_snapshot_never_replaces_a_history(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=2)
    machine.capture()
    error = expect_refused(StaleBase, lambda: machine.push(trial.remote, machine.snapshot()), "a second snapshot")
    expect_equal(error.sequence, 1, "the newest sequence named in the refusal")
    expect_equal(machine.numbers(trial.remote), [0, 1], "the sequence numbers on the remote")


def two_machines_see_what_the_other_one_sent(trial: RemoteTrial) -> None:
    laptop, other = trial.machine("laptop"), trial.another()
    laptop.begin(trial.remote, captures=2)
    laptop.expect_there(other)
    desktop = trial.copy_of(laptop, "desktop")
    desktop.capture(number=2)
    desktop.push(other, desktop.delta(1))
    desktop.expect_there(trial.remote)
    found = trial.remote.agent(laptop.agent_id).head
    expect_that(
        found is not None and found.writer == desktop.device.id,
        "the newest sequence names another writer than the one that pushed it",
    )
    expect_that(
        found is not None and found.machine == "desktop",
        "the newest sequence names another machine than the one that pushed it",
    )


def of_two_machines_that_write_at_once_one_is_refused(trial: RemoteTrial) -> None:
    laptop, other = trial.machine("laptop"), trial.another()
    laptop.begin(trial.remote)
    desktop = trial.copy_of(laptop, "desktop")
    laptop.capture()
    desktop.capture(raw__openclaw__OTHER=b"written elsewhere")
    laptop.push(trial.remote, laptop.delta(0))
    error = expect_refused(
        StaleBase, lambda: desktop.push(other, desktop.delta(0)), "the second of two pushes based on the same sequence"
    )
    expect_equal(error.sequence, 1, "the newest sequence named in the refusal")
    laptop.expect_there(other)


def an_epoch_is_raised_by_one_of_those_that_try(trial: RemoteTrial) -> None:
    machine, other = trial.machine(), trial.another()
    machine.begin(trial.remote)
    epoch = trial.remote.agent(machine.agent_id).epoch
    made = trial.remote.raise_epoch(machine.agent_id, epoch, machine="laptop")
    expect_that(made > epoch, f"the new writer epoch is {made}, but must be larger than {epoch}")
    expect_equal(other.agent(machine.agent_id).epoch, made, "the current writer epoch")
    error = expect_refused(
        EpochMoved, lambda: other.raise_epoch(machine.agent_id, epoch), "raising a writer epoch that has ended"
    )
    expect_equal(error.epoch, made, "the writer epoch named in the refusal")
    expect_equal(other.agent(machine.agent_id).epoch, made, "the current writer epoch")


def an_older_epoch_is_refused(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote)
    made = trial.remote.raise_epoch(machine.agent_id, machine.here.epoch)
    machine.capture()
    error = expect_refused(
        EpochBehind, lambda: machine.push(trial.remote, machine.delta(0)), "a push with an older writer epoch"
    )
    expect_equal(error.epoch, made, "the writer epoch named in the refusal")
    expect_equal(machine.numbers(trial.remote), [0], "the sequence numbers on the remote")


def a_higher_epoch_is_taken_and_in_force(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote)
    older = trial.copy_of(machine, "older")
    machine.vault.enter_epoch(5)
    machine.capture()
    head = machine.push(trial.remote, machine.delta(0))
    expect_equal(head.epoch, 5, "the writer epoch of the newest sequence")
    expect_equal(trial.remote.agent(machine.agent_id).epoch, 5, "the current writer epoch")
    older.capture(number=7)
    expect_refused(EpochBehind, lambda: older.push(trial.remote, older.delta(0)), "a push with an older writer epoch")


def what_is_the_head_already_is_no_matter_of_epochs(trial: RemoteTrial) -> None:
    machine = trial.machine()
    machine.begin(trial.remote, captures=2)
    trial.remote.raise_epoch(machine.agent_id, machine.here.epoch)
    head = machine.push(trial.remote, machine.delta(0))
    expect_equal((head.number, head.digest), (1, machine.here.digest), "the head")


ALL = (
    it_says_who_it_is_and_stays_the_same,
    an_agent_that_was_registered_is_known,
    registering_again_gives_what_is_there,
    an_agent_that_was_never_registered_is_not_there,
    names_may_have_any_characters,
    a_first_snapshot_becomes_the_head,
    a_first_snapshot_may_have_any_number,
    a_delta_goes_on_top_of_the_head,
    numbers_may_have_gaps,
    one_delta_may_stand_for_several_captures,
    the_same_push_again_changes_nothing,
    a_lost_acknowledgement_and_one_more_capture_make_nothing_twice,
    a_delta_whose_base_is_not_the_head_is_refused,
    a_delta_for_an_agent_without_history_is_refused,
    a_snapshot_never_replaces_a_history,
    two_machines_see_what_the_other_one_sent,
    of_two_machines_that_write_at_once_one_is_refused,
    an_epoch_is_raised_by_one_of_those_that_try,
    an_older_epoch_is_refused,
    a_higher_epoch_is_taken_and_in_force,
    what_is_the_head_already_is_no_matter_of_epochs,
)
