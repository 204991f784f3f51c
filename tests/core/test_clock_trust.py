"""When the clock is believed."""

from __future__ import annotations

from datetime import timedelta

from lifeboat_alf.seams.system_clock import Anchor, is_believable
from lifeboat_core.history import thin_history
from lifeboat_core.machine import clock_trust
from support.core.protected import START, Protected

ANCHOR = Anchor(START, 1000.0, "first")


def after(*, wall: timedelta, running: float, boot: str = "first") -> bool:
    return is_believable(ANCHOR, START + wall, 1000.0 + running, boot)


def test_in_one_boot_the_wall_clock_has_to_keep_step() -> None:
    assert after(wall=timedelta(days=200), running=200 * 86400)
    assert after(wall=timedelta(days=10, hours=20), running=10 * 86400)
    assert not after(wall=timedelta(days=12), running=10 * 86400)
    assert not after(wall=timedelta(days=8), running=10 * 86400)


def test_after_a_reboot_45_days_are_believed() -> None:
    assert after(wall=timedelta(days=44), running=-900.0, boot="second")
    assert not after(wall=timedelta(days=46), running=-900.0, boot="second")
    assert not after(wall=timedelta(days=-2), running=-900.0, boot="second")


def test_a_boot_that_the_system_cannot_name_counts_as_another() -> None:
    anchor = Anchor(START, 1000.0, "")
    assert is_believable(anchor, START + timedelta(days=40), 5000.0, "")
    assert not is_believable(anchor, START + timedelta(days=50), 5000.0, "")


def test_without_any_history_the_clock_is_believed() -> None:
    assert is_believable(None, START, 0.0, "")


def with_history(ada: Protected, days: int) -> None:
    for day in range(days):
        for hour in range(4):
            ada.clock.advance(hours=6)
            ada.write("memory/counter.md", f"# Counter\n\n{day} {hour}\n")
            ada.capture()


def test_a_leap_of_ten_years_thins_nothing_until_the_clock_is_back(ada: Protected) -> None:
    with_history(ada, 4)
    before = count(ada)
    ada.clock.jump(days=3650)
    assert not clock_trust.is_clock_trusted(ada.context)
    assert thin_history.thin_if_due(ada.context, ada.agent) is None
    ada.capture()
    assert not clock_trust.is_clock_trusted(ada.context)
    ada.clock.jump(days=-3650)
    assert clock_trust.is_clock_trusted(ada.context)
    assert count(ada) == before


def count(ada: Protected) -> int:
    with ada.context.vault(ada.agent.id) as vault:
        return len(vault.sequences())


def test_the_user_can_confirm_a_clock(ada: Protected) -> None:
    ada.clock.reboot(days=100)
    assert not clock_trust.is_clock_trusted(ada.context)
    clock_trust.confirm_clock(ada.context)
    assert clock_trust.is_clock_trusted(ada.context)


def test_a_lost_anchor_is_replaced_by_the_newest_sequence(ada: Protected) -> None:
    (ada.context.home.state_folder / "clock.json").unlink()
    with ada.context.vault(ada.agent.id) as vault:
        newest = vault.head()
    ada.clock.jump(days=40)
    assert clock_trust.is_clock_trusted(ada.context, newest)
    ada.clock.jump(days=400)
    assert not clock_trust.is_clock_trusted(ada.context, newest)


def test_thinning_follows_the_settings_and_a_tenth_goes_at_once(ada: Protected) -> None:
    with_history(ada, 10)
    before = count(ada)
    report = thin_history.thin_if_due(ada.context, ada.agent)
    assert report is not None and 0 < len(report.dropped) <= before // 10
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.verify(trusted=ada.context.keys().trusted).ok


def test_nothing_to_thin_is_no_run(ada: Protected) -> None:
    assert thin_history.thin_if_due(ada.context, ada.agent) is None


def test_captures_go_on_after_thinning(ada: Protected) -> None:
    with_history(ada, 10)
    thin_history.thin_agent(ada.context, ada.agent)
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    assert ada.capture().changed
    assert ada.kept() == ada.tree()
