"""What a runtime may say of a delivery, and what it hears (mesh 5.1)."""

from __future__ import annotations

import pytest

from bus.mailbox_client import RequestRefused
from tests.support.gateway_bench import in_loop
from tests.support.runtime_bench import RuntimeBench
from tools.errors import invalid_arguments


@in_loop
async def test_a_refusal_says_which_field_is_bad_and_what_it_must_be() -> None:
    """common 6.1: also to whoever reads nothing but the exception."""
    async with RuntimeBench() as bench:
        bench.mailbox.put("t0")
        async with bench.client() as mailbox:
            delivery = await anext(mailbox)
            bench.mailbox.caller.on("mail_finish", invalid_arguments({"reason": "must be one line"}))
            with pytest.raises(RequestRefused, match=r"\(reason must be one line\)"):
                await delivery.reject("two\nlines")
            for wrong in ({"artifacts": "abc"}, {"usage": [1]}):
                with pytest.raises(TypeError, match="JSON"):
                    await delivery.complete("x", **wrong)
