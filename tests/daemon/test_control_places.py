"""Slots at the control socket: who gets one, for how long, and that an idle connection costs nothing; on both
transports."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from lifeboat_core.home.context import Context
from support.daemon.control_servers import Raw, Serve, Served, context, serve
from support.patience import patience
from support.short_folders import short
from support.waiting import until

__all__ = ["context", "serve", "short"]


class TestIdling:
    def test_wakes_nobody(self, serve: Serve) -> None:
        """The loop sleeps until input arrives: there is no timer."""
        served = serve()
        with served.greeted() as one, served.greeted() as two:
            for each in (one, two):
                each.ask("subscribe")
            until(lambda: served.selector.sleeps is None)
            assert not [each for each in served.loop._scheduled if not each.cancelled()]  # type: ignore[attr-defined]


class TestStopping:
    def test_says_goodbye_to_subscribers_and_ends_every_connection(self, serve: Serve) -> None:
        served = serve(stop=10.0)
        with served.greeted() as listens, served.greeted() as other, served.raw() as silent:
            listens.ask("subscribe")
            stopping = asyncio.run_coroutine_threadsafe(served.server.stop(), served.loop)
            assert [each["params"] for each in listens.rest()] == [{"event": "goodbye"}]
            assert (other.rest(), silent.rest()) == ([], [])
            for each in (listens, other, silent):
                each.close()
            stopping.result(patience())
            assert (served.server.clients, served.server.address) == (0, "")
            served.do(served.server.stop())

    def test_answers_what_is_worked_on(self, serve: Serve) -> None:
        served = serve(stop=10.0)
        with served.greeted() as quick, served.greeted() as never:
            quick.say("wait", {"a": 1})
            assert served.began.acquire(timeout=patience())
            stopping = asyncio.run_coroutine_threadsafe(served.server.stop(), served.loop)
            served.let_go()
            assert quick.hear()["result"] == {"a": 1}
            assert (quick.rest(), never.rest()) == ([], [])
            for each in (quick, never):
                each.close()
            stopping.result(patience())

    def test_cancels_what_would_take_longer_and_says_so(self, serve: Serve) -> None:
        served = serve(stop=0.1)
        with served.greeted() as raw:
            raw.say("wait")
            assert served.began.acquire(timeout=patience())
            stopping = asyncio.run_coroutine_threadsafe(served.server.stop(), served.loop)
            assert raw.hear()["error"]["data"]["code"] == "cancelled"
            assert raw.line() is None
            raw.close()
            stopping.result(patience())

    def test_lets_nobody_in_any_more(self, serve: Serve) -> None:
        """This includes earlier connections that had not said hello, and those without a token on a loopback
        address."""
        served = serve(stop=10.0)
        with served.greeted() as raw, served.raw() as late:
            raw.say("wait")
            assert served.began.acquire(timeout=patience())
            stopping = asyncio.run_coroutine_threadsafe(served.server.stop(), served.loop)
            until(lambda: served.server.address == "")
            assert raw.ask("echo", number=2)["error"]["data"]["code"] == "does_not_answer"
            late.token = None
            assert late.hello()["error"]["data"]["code"] == "does_not_answer"
            assert late.rest() == []
            late.close()
            served.let_go()
            raw.rest()
            raw.close()
            stopping.result(patience())
        assert served.began.acquire(blocking=False) is False

    def test_is_over_also_when_a_client_is_stuck(self, serve: Serve) -> None:
        served = serve(events=10_000, event_bytes=2**30, stop=0.1)
        with served.greeted() as stuck:
            stuck.ask("subscribe")
            for _ in range(200):
                served.publish({"event": "n", "text": "x" * 20_000})
            served.do(served.server.stop())
            assert served.server.clients == 0


class TestPlaces:
    def test_are_limited_and_given_back(self, serve: Serve) -> None:
        served = serve(connections=3)
        with served.greeted(), served.greeted() as leaves, served.greeted():
            with served.raw() as fourth:
                (said,) = fourth.rest()
                assert (said["id"], said["error"]["data"]["code"]) == (None, "does_not_answer")
                assert said["error"]["data"]["retryable"] is True
            assert served.reports.kinds == ["control.refused"]
            leaves.close()
            until(lambda: served.server.clients == 2)
            with served.greeted() as fifth:
                assert fifth.ask("echo")["result"] == {}

    def test_are_not_held_by_those_who_never_say_hello(self, serve: Serve) -> None:
        served = serve(connections=3, hello=1000.0, leave=1000.0)
        with contextlib.ExitStack() as stack:
            silent: list[Raw] = [stack.enter_context(served.raw()) for _ in range(20)]
            for _ in range(3):
                assert stack.enter_context(served.greeted()).ask("echo")["result"] == {}
            assert all(each.rest() == [] for each in silent)
            assert served.server.clients <= 3 + 3


class TestTokens:
    @pytest.mark.parametrize("token", [None, "", "0" * 64, 7, ["x"]])
    def test_are_asked_for_where_every_user_can_connect(self, context: Context, token: object) -> None:
        with Served(context, loopback=True) as served, served.raw() as raw:
            said = raw.hello(token=token)
            assert said["error"]["data"]["code"] == "not_allowed"
            assert "reply" not in json.dumps(said)
            assert raw.rest() == []
            assert served.reports.kinds == ["control.refused"]

    def test_are_answered_with_the_daemons_own_proof(self, context: Context) -> None:
        with Served(context, loopback=True) as served, served.raw() as raw:
            assert len(raw.hello()["result"]["reply"]) == 64
