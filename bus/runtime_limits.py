"""The bounds of the runtimes' port and its clients (mesh 5.1), as bus/limits.py has all others."""

from __future__ import annotations

from typing import Final

from bus.limits import (
    http_connections_max,
    lease_bytes_a_call_max,
    lease_grace_ms,
    lease_ms,
    leases_a_call_max,
    leases_per_mailbox_max,
    reply_bytes_max,
    stamp_valid_ms,
    task_envelope_bytes_max,
    topics_per_link_max,
)

runtime_sessions_max: Final = 1_000  # of a gateway
runtime_hellos_open_max: Final = 64  # whose token is being judged
runtime_hello_ms_max: Final = 5_000  # to judge one
runtime_frame_bytes_max: Final = 256 * 1024  # a task or an answer, whose numbers take up to three times their JSON
runtime_frames_queued_max: Final = 512  # that a runtime has not taken yet; with more it is given up
runtime_text_characters_max: Final = 2_000
runtime_token_characters_max: Final = 400
runtime_credit_deliveries_max: Final = 128
runtime_credit_bytes_min: Final = runtime_frame_bytes_max
runtime_credit_bytes_default: Final = 4 * 1024 * 1024
runtime_credit_bytes_max: Final = 16 * 1024 * 1024
runtime_holding_max: Final = 2 * runtime_credit_deliveries_max  # a credit that was lowered takes nothing back
runtime_requests_open_max: Final = 128
runtime_leased_at_once_max: Final = 16  # then it is the turn of the agent's next runtime
runtime_leased_bytes_at_once_max: Final = 1024 * 1024
runtime_heartbeat_ms: Final = 1_000
runtime_silence_ms_max: Final = 15_000  # then a gateway takes a runtime for gone; a busy one may be that silent
runtime_deaf_ms_max: Final = 5_000  # then a runtime connects anew
runtime_greeting_ms_max: Final = 8_000  # the same, while it is not welcomed yet
runtime_known_ms_max: Final = 25_000  # after a connection: that a token which a gateway does not know is tried again
runtime_retry_ms_first: Final = 50
runtime_retry_ms_max: Final = 2_000
runtime_bye_ms_max: Final = 2_000  # that a runtime waits, for its finishes to be answered and then for its Bye
runtime_farewell_ms_max: Final = 10_000  # that a gateway waits for a finish before it gives the delivery back
runtime_look_again_ms: Final = 15_000  # for what waits, should a notice have been missed
runtime_check_gap_ms: Final = 200  # between two looks at what has become of an agent's leases
runtime_stamp_ms: Final = 2_500  # that one admission serves

# Each connection of the two HTTP listeners listens for at most three topics, each runtime for two.
assert topics_per_link_max > 2 * 3 * http_connections_max + 2 * runtime_sessions_max
assert 3 * max(task_envelope_bytes_max, reply_bytes_max) < runtime_frame_bytes_max <= runtime_credit_bytes_min
assert runtime_credit_deliveries_max + runtime_requests_open_max + runtime_holding_max <= runtime_frames_queued_max
assert runtime_frame_bytes_max < runtime_leased_bytes_at_once_max <= lease_bytes_a_call_max
assert runtime_leased_at_once_max <= leases_a_call_max and runtime_holding_max <= leases_per_mailbox_max
assert runtime_silence_ms_max + runtime_greeting_ms_max < lease_ms  # who was dropped for silence comes back in time
assert runtime_heartbeat_ms * 4 < runtime_deaf_ms_max < runtime_silence_ms_max
assert lease_grace_ms < runtime_known_ms_max
assert runtime_hello_ms_max < runtime_greeting_ms_max
assert runtime_bye_ms_max < runtime_farewell_ms_max < runtime_silence_ms_max  # or it would be dropped and not released
assert runtime_stamp_ms < stamp_valid_ms
