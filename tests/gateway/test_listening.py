"""Clients of both protocol eras are told of changes: the official client over the product's server and owners."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

from bus.limits import streams_per_agent_max
from nexus.gateway.shares import DEFAULT_LIMITS
from tests.support.gateway_bench import LEGACY, in_loop
from tests.support.loop import until
from tests.support.served_home import WAIT_SECONDS, ServedHome

MAILBOX = "nexus://mailbox"
ERAS = ("legacy", "2026-07-28")


class Told:
    """What one client was told, as `mailbox` and `tools`."""

    def __init__(self) -> None:
        self.changes: list[str] = []
        self.has_ended = asyncio.Event()
        self._heard = asyncio.Event()

    def hear(self, change: object) -> None:
        match change:
            case (
                ResourceUpdated(uri=uri)
                | types.ResourceUpdatedNotification(params=types.ResourceUpdatedNotificationParams(uri=uri))
            ):
                assert str(uri) == MAILBOX
                self.changes.append("mailbox")
            case ToolsListChanged() | types.ToolListChangedNotification():
                self.changes.append("tools")
            case _:
                return
        self._heard.set()

    async def next(self) -> str:
        """The next thing that it is told, waited for."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not self.changes:
                self._heard.clear()
                await self._heard.wait()
        return self.changes.pop(0)


@asynccontextmanager
async def listening(home: ServedHome, token: str, era: str) -> AsyncIterator[Told]:
    """A client that has said that it wants to hear of its mailbox and of its tools."""
    told = Told()
    async with _as_told(told, home, token, era):
        await until(lambda: home.gateway.listeners.count(token.split("_")[1]) > 0)
        yield told


def _as_told(told: Told, home: ServedHome, token: str, era: str) -> Any:
    return _legacy(told, home, token) if era == "legacy" else _modern(told, home, token)


@asynccontextmanager
async def _legacy(told: Told, home: ServedHome, token: str) -> AsyncIterator[None]:
    async def heard(message: object) -> None:
        told.hear(message)

    async with home.client(token, "legacy", message_handler=heard) as client:
        await client.session.subscribe_resource(MAILBOX)
        yield


@asynccontextmanager
async def _modern(told: Told, home: ServedHome, token: str) -> AsyncIterator[None]:
    async with (
        home.client(token, "2026-07-28") as client,
        client.listen(tools_list_changed=True, resource_subscriptions=[MAILBOX]) as subscription,
    ):

        async def hear_all() -> None:
            async for event in subscription:
                told.hear(event)
            told.has_ended.set()

        hearing = asyncio.create_task(hear_all())
        try:
            yield
        finally:
            hearing.cancel()


both_eras = pytest.mark.parametrize("era", ERAS)


@both_eras
@in_loop
async def test_a_client_that_listens_is_told_when_a_task_arrives(era: str) -> None:
    """mesh 5.3"""
    async with ServedHome() as home, listening(home, home.tokens["bob"], era) as told:
        await home.trigger("ada", "bob")
        assert await told.next() == "mailbox"
        await home.trigger("ada", "bob")
        assert await told.next() == "mailbox"


@both_eras
@in_loop
async def test_a_client_that_begins_to_listen_is_told_once_if_anything_waits(era: str) -> None:
    """mesh 5.3"""
    async with ServedHome() as home:
        await home.trigger("ada", "bob")
        async with listening(home, home.tokens["bob"], era) as told:
            assert await told.next() == "mailbox"
            home.gateway.listeners.tools_changed()
            assert await told.next() == "tools", "nothing came between"
        async with listening(home, home.tokens["ada"], era) as told:
            home.gateway.listeners.tools_changed()
            assert await told.next() == "tools", "of an empty mailbox nothing is told"


@both_eras
@in_loop
async def test_nobody_is_told_of_another_agents_mailbox(era: str) -> None:
    """mesh 5.3, common 3.3"""
    async with (
        ServedHome() as home,
        listening(home, home.tokens["bob"], era) as bob,
        listening(home, home.tokens["ada"], era) as ada,
    ):
        await home.trigger("ada", "bob")
        assert await bob.next() == "mailbox"
        home.gateway.listeners.tools_changed()
        assert await ada.next() == "tools"


@both_eras
@in_loop
async def test_a_client_is_told_also_after_the_shard_hosts_began_anew(era: str) -> None:
    """mesh 5.3"""
    async with ServedHome() as home, listening(home, home.tokens["bob"], era) as told:
        for shard in (0, 1):
            home.hosts.restart(shard)
        await home.trigger("ada", "bob")
        assert await told.next() == "mailbox"


@in_loop
async def test_a_stream_of_a_revoked_credential_ends_at_once_and_anothers_goes_on() -> None:
    """common 2.1, security 2.10"""
    async with ServedHome() as home:
        spare = await home.credential("bob", "spare")
        async with (
            listening(home, spare, "2026-07-28") as ending,
            listening(home, home.tokens["bob"], "2026-07-28") as on,
        ):
            await until(lambda: home.gateway.listeners.count("bob") == 2)
            await home.revoke("bob", "spare")
            await asyncio.wait_for(ending.has_ended.wait(), WAIT_SECONDS)
            assert home.gateway.listeners.count("bob") == 1
            await home.trigger("ada", "bob")
            assert await on.next() == "mailbox"
            assert ending.changes == []


@in_loop
async def test_a_session_stream_of_a_revoked_credential_ends_at_once_and_anothers_goes_on() -> None:
    """common 2.1, security 2.10"""
    async with ServedHome() as home:
        spare = await home.credential("bob", "spare")
        async with raw_stream(home, spare) as ending, raw_stream(home, home.tokens["bob"]) as on:
            await home.revoke("bob", "spare")
            async with asyncio.timeout(WAIT_SECONDS):
                assert b"message" not in await ending.aread()
            await until(lambda: home.gateway.uses.under_way("bob") == 1)
            home.gateway.listeners.tools_changed()
            lines = on.aiter_lines()
            async with asyncio.timeout(WAIT_SECONDS):
                while "tools/list_changed" not in await anext(lines):
                    pass


@in_loop
async def test_a_stream_counts_as_a_request_under_way_and_ends_with_its_client() -> None:
    """common 8.5"""
    async with ServedHome() as home:
        async with raw_stream(home, home.tokens["bob"]), listening(home, home.tokens["bob"], "2026-07-28"):
            await until(lambda: home.gateway.uses.under_way("bob") == 2)
        await until(lambda: home.gateway.uses.under_way("bob") == 0)
        assert home.gateway.listeners.count("bob") == 0
        assert not home.hosts.running[0].host.listening.topics and not home.hosts.running[1].host.listening.topics


@in_loop
async def test_a_session_has_one_stream_and_only_its_own_agents() -> None:
    async with ServedHome() as home, raw_stream(home, home.tokens["bob"]) as stream:
        headers = dict(stream.request.headers)
        assert (await home.http.get("/mcp", headers=headers)).status_code == 409
        headers["authorization"] = f"Bearer {home.tokens['ada']}"
        assert (await home.http.get("/mcp", headers=headers)).status_code == 404
        assert home.gateway.listeners.count("ada") == 0


@in_loop
async def test_one_agent_has_only_so_many_streams_and_another_has_its_own() -> None:
    """common 8.5, security 2.23"""
    async with ServedHome() as home:
        identity = None
        async with raw_stream(home, home.tokens["bob"]) as stream:
            (opened,) = [each for agent in home.gateway.listeners._agents.values() for each in agent.streams]
            identity = opened.identity
            for _ in range(streams_per_agent_max - 1):
                assert home.gateway.listeners.open(identity, []) is not None
            headers = dict(stream.request.headers)
            answer = await home.http.get("/mcp", headers=headers)
            assert (answer.status_code, answer.json()["error"]["data"]["error"]["code"]) == (429, "rate_limited")
            wish = {"notifications": {"toolsListChanged": True}}
            refused = await home.request(home.tokens["bob"], "subscriptions/listen", wish)
            assert refused["error"]["data"]["error"]["code"] == "rate_limited"
            async with listening(home, home.tokens["ada"], "2026-07-28"):
                pass
        assert streams_per_agent_max < DEFAULT_LIMITS.connections


@in_loop
async def test_of_a_wish_only_what_can_come_is_acknowledged() -> None:
    """mesh 5.3"""
    async with ServedHome() as home, home.client(home.tokens["bob"], "2026-07-28") as client:
        wish = [MAILBOX, "nexus://planes", "nexus://mailbox/ada", "file:///etc/passwd"]
        async with client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=wish,
        ) as subscription:
            honored = subscription.honored
            assert (honored.tools_list_changed, honored.resource_subscriptions) == (True, [MAILBOX])
            assert not honored.prompts_list_changed and not honored.resources_list_changed


@in_loop
async def test_a_session_subscribes_to_its_mailbox_and_to_nothing_else() -> None:
    """mesh 5.3"""
    async with ServedHome() as home, home.client(home.tokens["bob"], "legacy") as client:
        for uri in ("nexus://planes", "nexus://mailbox/ada", "nexus://nothing"):
            with pytest.raises(MCPError) as failure:
                await client.session.subscribe_resource(uri)
            assert failure.value.code == -32602


@in_loop
async def test_a_session_that_has_unsubscribed_is_told_no_more() -> None:
    """mesh 5.3"""
    async with ServedHome() as home:
        told = Told()

        async def heard(message: object) -> None:
            told.hear(message)

        async with home.client(home.tokens["bob"], "legacy", message_handler=heard) as client:
            await until(lambda: home.gateway.listeners.count("bob") == 1)
            await client.session.subscribe_resource(MAILBOX)
            await home.trigger("ada", "bob")
            assert await told.next() == "mailbox"
            await client.session.unsubscribe_resource(MAILBOX)
            await home.trigger("ada", "bob")
            home.gateway.listeners.tools_changed()
            assert await told.next() == "tools"


@in_loop
async def test_both_eras_are_announced_the_same() -> None:
    """common 1.1"""
    async with ServedHome() as home:
        async with home.client(home.tokens["bob"], "legacy") as client:
            legacy = client.server_capabilities
        async with home.client(home.tokens["bob"], "auto") as client:
            modern = client.server_capabilities
        assert legacy == modern
        assert legacy is not None and legacy.tools is not None and legacy.resources is not None
        assert (legacy.tools.list_changed, legacy.resources.subscribe, legacy.resources.list_changed) == (
            True,
            True,
            False,
        )


@asynccontextmanager
async def raw_stream(home: ServedHome, token: str) -> AsyncIterator[httpx2.Response]:
    """The GET stream of a new session, as bytes."""
    session = await home.legacy_session(token)
    headers = {**session.headers, "authorization": f"Bearer {token}", "accept": "text/event-stream"}
    async with home.http.stream("GET", "/mcp", headers=headers) as response:
        assert (response.status_code, session.headers["mcp-protocol-version"]) == (200, LEGACY)
        yield response
