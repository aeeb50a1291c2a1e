"""provider_* and agent_set_provider over the product's own owners, on a scripted machine (knowledge.md)."""

from __future__ import annotations

from typing import Any

from bus import address
from bus.address import PROVIDERS
from bus.value import Record
from nexus.gateway.provider_answers import Listening, ProviderSources
from nexus.provider_file import Known
from tests.support.gateway_bench import in_loop
from tests.support.home_bench import HomeBench
from tests.support.machine import ScriptedMachine
from tools.provider_table import PROVIDERS as TABLE
from tools.provider_table import Provider, Sign


class Bench(HomeBench):
    """Agents a1 (who calls) and a2, and a machine."""

    def __init__(self) -> None:
        self.machine = ScriptedMachine()
        self.sources = ProviderSources(self.machine, listening=Listening(4471))
        super().__init__(self.sources)

    async def ready(self) -> str:
        await self.workspace("w1", "Mine")
        await self.agent("a2", "Bo", "w1")
        return await self.agent("a1", "Ada", "w1")

    async def enable(self, provider_id: str, path: str) -> None:
        await self.hosts.ok(PROVIDERS, "provider_enable", {"providerId": provider_id, "name": "Codex", "path": path})

    async def cards(self) -> list[str]:
        listed = (await self.hosts.ok(address.agent("a1"), "approvals_list", {"all": True}))["approvals"]
        assert isinstance(listed, list)
        return [str(one["state"]) for one in listed if isinstance(one, dict)]

    async def states(self, token: str, **arguments: Any) -> dict[str, dict[str, Any]]:
        content = await self.content(token, "provider_list", arguments)
        return {one["id"]: one for one in content["providers"]}

    async def choose(self, token: str, provider_id: str = "codex", agent_id: str = "a2") -> dict[str, Any]:
        return await self.content(token, "agent_set_provider", {"agentId": agent_id, "providerId": provider_id})


@in_loop
async def test_every_known_program_is_listed_as_it_is_now() -> None:
    """knowledge.md, provider_list"""
    async with Bench() as bench:
        token = await bench.ready()
        before = await bench.states(token)
        assert [*before] == [*TABLE]
        assert before["codex"] == {
            "id": "codex",
            "name": "Codex",
            "installed": False,
            "version": None,
            "enabled": False,
            "changed": False,
            "mcpConnected": False,
        }
        bench.machine.install("codex", "/opt/codex", "0.42.0")
        await bench.enable("codex", "/opt/codex")
        assert (await bench.states(token))["codex"] == {
            **before["codex"],
            "installed": True,
            "version": "0.42.0",
            "enabled": True,
        }
        assert [*await bench.states(token, installedOnly=True)] == ["codex"]


@in_loop
async def test_another_program_under_the_same_name_is_not_enabled_and_shown_as_changed() -> None:
    """security 2.16: a provider program placed earlier on PATH asks"""
    async with Bench() as bench:
        token = await bench.ready()
        bench.machine.install("codex", "/opt/codex")
        await bench.enable("codex", "/opt/codex")
        bench.machine.install("codex", "/tmp/early/codex")
        changed = (await bench.states(token))["codex"]
        assert (changed["enabled"], changed["changed"]) == (False, True)
        assert (await bench.choose(token))["error"]["code"] == "wrong_state"
        await bench.enable("codex", "/tmp/early/codex")
        assert (await bench.states(token))["codex"]["enabled"] is True
        assert (await bench.choose(token))["error"]["code"] == "approval_required"


@in_loop
async def test_a_program_that_changed_after_the_approval_is_not_given() -> None:
    """common 5.3, security 2.3"""
    async with Bench() as bench:
        token = await bench.ready()
        bench.machine.install("codex", "/opt/codex")
        await bench.enable("codex", "/opt/codex")
        asked = (await bench.choose(token))["error"]["approvalId"]
        decision: Record = {"approvalId": asked, "decision": "approve", "note": None, "how": "command"}
        await bench.hosts.ok(address.agent("a1"), "approval_decide", decision)
        bench.machine.install("codex", "/tmp/codex")
        assert (await bench.choose(token))["error"]["code"] == "wrong_state"
        assert await bench.cards() == ["lapsed"]
        await bench.enable("codex", "/tmp/codex")
        assert (await bench.choose(token))["error"]["code"] == "approval_required"
        assert await bench.cards() == ["lapsed", "pending"]
        assert (await bench.content(token, "agent_get", {"agentId": "a2"}))["defaultProvider"] is None


@in_loop
async def test_a_program_that_changed_while_its_card_waits_is_refused_at_once_and_the_card_lapses() -> None:
    """common 4.6, 5.3"""
    async with Bench() as bench:
        token = await bench.ready()
        bench.machine.install("codex", "/opt/codex")
        await bench.enable("codex", "/opt/codex")
        asked = (await bench.choose(token))["error"]["approvalId"]
        assert (await bench.choose(token))["error"]["approvalId"] == asked, "common 5.1"
        bench.machine.install("codex", "/tmp/codex")
        assert (await bench.choose(token))["error"]["code"] == "wrong_state"
        assert await bench.cards() == ["lapsed"]


@in_loop
async def test_a_program_enabled_anew_while_a_card_waits_makes_another_card() -> None:
    """common 5.3: the person is not to approve what is not there any more"""
    async with Bench() as bench:
        token = await bench.ready()
        bench.machine.install("codex", "/opt/codex")
        await bench.enable("codex", "/opt/codex")
        asked = (await bench.choose(token))["error"]["approvalId"]
        bench.machine.install("codex", "/tmp/codex")
        await bench.enable("codex", "/tmp/codex")
        lapsed = (await bench.choose(token))["error"]
        assert (lapsed["code"], lapsed["approvalId"] == asked) == ("approval_lapsed", False)
        assert await bench.cards() == ["lapsed", "pending"]


@in_loop
async def test_a_program_that_is_gone_for_a_while_leaves_its_card() -> None:
    """common 5.2: a refusal does not use an approval up"""
    async with Bench() as bench:
        token = await bench.ready()
        bench.machine.install("codex", "/opt/codex")
        await bench.enable("codex", "/opt/codex")
        asked = (await bench.choose(token))["error"]["approvalId"]
        del bench.machine.programs["codex"]
        assert (await bench.choose(token))["error"]["code"] == "wrong_state"
        bench.machine.install("codex", "/opt/codex")
        assert (await bench.choose(token))["error"]["approvalId"] == asked


@in_loop
async def test_what_was_approved_is_given_and_shows_in_the_identity() -> None:
    """mesh 1, common 5.2"""
    async with Bench() as bench:
        token = await bench.ready()
        bench.machine.install("codex", "/opt/codex")
        await bench.enable("codex", "/opt/codex")
        asked = (await bench.choose(token))["error"]["approvalId"]
        decision: Record = {"approvalId": asked, "decision": "approve", "note": None, "how": "command"}
        await bench.hosts.ok(address.agent("a1"), "approval_decide", decision)
        assert await bench.choose(token) == {"agentId": "a2", "providerId": "codex", "changed": True}
        assert (await bench.content(token, "agent_get", {"agentId": "a2"}))["defaultProvider"] == "codex"


@in_loop
async def test_what_is_certain_to_be_refused_makes_no_card() -> None:
    """common 4.6"""
    async with Bench() as bench:
        token = await bench.ready()
        assert (await bench.choose(token, "unknown"))["error"]["code"] == "wrong_state"
        await bench.enable("codex", "/opt/codex")
        assert (await bench.choose(token))["error"]["code"] == "wrong_state", "not installed"
        bench.machine.install("codex", "/opt/codex")
        assert (await bench.choose(token, agent_id="a1"))["error"]["code"] == "wrong_state", "the own"
        assert (await bench.choose(token, agent_id="nobody"))["error"]["code"] == "not_found"
        assert (await bench.choose(token, agent_id="no/id"))["error"]["code"] == "not_found"
        assert (await bench.hosts.ok(address.agent("a1"), "approvals_list", {"all": True}))["approvals"] == []


@in_loop
async def test_a_detail_says_what_is_documented_and_where_a_sign_in_is() -> None:
    """knowledge.md, provider_detail"""
    async with Bench() as bench:
        token = await bench.ready()
        bench.machine.install("codex", "/opt/secret-place/codex")
        bench.machine.variables = frozenset({"OPENAI_API_KEY"})
        answer = await bench.answer(token, "provider_detail", {"providerId": "codex"})
        assert b"secret-place" not in answer, "common 7.4: no path"
        detail = (await bench.content(token, "provider_detail", {"providerId": "codex"}))["provider"]
        assert detail["authHint"] == "The environment variable OPENAI_API_KEY is set."
        assert detail["configFiles"] == ["~/.codex/config.toml", ".codex/config.toml"]
        assert detail["instructionFiles"][0] == "AGENTS.md" and detail["transport"] == ["stdio", "http"]
        assert detail["mcp"] == {"supported": True, "connected": False, "lastSeenAt": None}
        bench.machine.variables = frozenset()
        bench.machine.present = frozenset({"~/.codex/auth.json"})
        detail = (await bench.content(token, "provider_detail", {"providerId": "codex"}))["provider"]
        assert detail["authHint"] == "It has signed in: ~/.codex/auth.json exists."
        unknown = await bench.content(token, "provider_detail", {"providerId": "unknown"})
        assert unknown["error"]["code"] == "not_found"
        assert "workspace" not in unknown["error"]["message"], "common 3.4: providers are app-wide"


@in_loop
async def test_a_program_of_the_persons_own_is_one_like_the_others() -> None:
    async with Bench() as bench:
        token = await bench.ready()
        mine = Provider("mine", "Mine", ("mine",), "Mine.", None, (), (), (), Sign((), (), "Sign in."), ("test",))
        bench.machine.known = Known({**TABLE, "mine": mine})
        assert [*await bench.states(token)] == [*TABLE, "mine"]
        detail = (await bench.content(token, "provider_detail", {"providerId": "mine"}))["provider"]
        assert (detail["docs"], detail["mcpConnected"]) == (None, True), "the client of this test calls itself so"
        assert detail["mcp"]["lastSeenAt"] is not None


@in_loop
async def test_the_runtime_tells_its_port_and_null_for_what_is_not_there() -> None:
    """knowledge.md, provider_runtime_status"""
    async with Bench() as bench:
        token = await bench.ready()
        assert await bench.content(token, "provider_runtime_status") == {
            "knowledge": {"enabled": None},
            "listener": {"port": 4471, "isFallback": False},
            "retrievalIndex": {"appliedSequence": None},
        }


@in_loop
async def test_a_machine_is_asked_anew_each_time() -> None:
    """knowledge.md: nothing is cached between calls"""
    async with Bench() as bench:
        token = await bench.ready()
        for _ in range(3):
            await bench.states(token)
        assert bench.machine.asked == 3
