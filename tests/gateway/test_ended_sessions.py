"""A session that ends while requests of it are under way: 404, and never 500."""

from __future__ import annotations

import asyncio

from bus.value import Record
from tests.support.gateway_bench import TOKEN, GatewayBench, in_loop
from tests.support.scripted_caller import Sent

CALL = {"name": "canvas_read", "arguments": {"canvasId": "c"}}


@in_loop
async def test_a_call_under_way_is_told_that_its_session_has_ended() -> None:
    async with GatewayBench() as bench:
        session = await bench.legacy_session()
        started = asyncio.Event()

        async def never(sent: Sent) -> Record:
            started.set()
            await asyncio.Event().wait()
            return {}

        bench.caller.on("canvas_read", never)
        call = asyncio.create_task(session.request("tools/call", CALL))
        await started.wait()
        headers = {**session.headers, "authorization": f"Bearer {TOKEN}"}
        assert (await bench.http.delete("/mcp", headers=headers)).status_code == 200
        response = await call
        assert response.status_code == 404
        assert "has ended" in response.json()["error"]["message"]


@in_loop
async def test_calls_that_race_with_the_end_of_their_session_are_answered_or_told_so() -> None:
    async with GatewayBench() as bench:
        statuses = set()
        for _ in range(20):
            session = await bench.legacy_session()
            headers = {**session.headers, "authorization": f"Bearer {TOKEN}"}
            answers = await asyncio.gather(
                session.request("tools/call", CALL),
                bench.http.delete("/mcp", headers=headers),
                session.request("tools/call", CALL),
            )
            statuses |= {answers[0].status_code, answers[2].status_code}
        assert statuses <= {200, 404}
