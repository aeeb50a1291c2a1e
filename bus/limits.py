"""Every bound of the runtime, with its unit in its name and its relations asserted at import.

Where a number comes from the contract, its section stands beside it; all others are ours and may be tuned here only.
"""

from __future__ import annotations

from typing import Final

# What one call may carry.
request_body_bytes_max: Final = 8 * 1024 * 1024  # common 2.5
result_bytes_max: Final = 256 * 1024  # common 6.4
json_depth_max: Final = 64
envelope_bytes_max: Final = 96 * 1024 * 1024
value_depth_max: Final = 80
string_bytes_max: Final = envelope_bytes_max
person_request_bytes_max: Final = 4 * 1024 * 1024  # one line on the person's socket

# Time.
call_deadline_ms_default: Final = 30_000  # common 6.4
stamp_valid_ms: Final = 5_000  # ARCHITECTURE, Admission
before_reply_wait_ms: Final = 5_000
link_heartbeat_ms: Final = 250
link_silence_ms_max: Final = 5_000
link_frames_unheard_max: Final = 20_000
load_rows_at_once_max: Final = 250  # some 5 ms; other owners have their turns in between
owner_idle_ms: Final = 30_000
owner_sweep_ms: Final = 5_000
timers_a_turn_max: Final = 64
timer_retry_ms: Final = 1_000
inspection_wait_ms_max: Final = 20_000
child_start_ms_max: Final = 15_000
child_stop_grace_ms: Final = 5_000
takeover_wait_ms: Final = 5_000  # ARCHITECTURE, Supervisor: start anew within 5 s

# Journal.
commit_batch_max: Final = 1_024
answers_kept_ms: Final = 24 * 3_600_000
answers_kept_max: Final = 500_000
idempotency_keys_max: Final = 10_000
answers_evicted_a_group_max: Final = 256
journal_kept_records: Final = 1_000_000
journal_trimmed_a_group_max: Final = 64
message_attempts_max: Final = 5  # ARCHITECTURE, Outbox
store_map_bytes: Final = 64 * 1024 * 1024 * 1024
store_key_bytes_max: Final = 511

# Names and lists (common 1.7, 7.1, 7.3).
identifier_characters_max: Final = 200
name_characters_max: Final = 200
reason_characters_max: Final = 200  # canvas 2
page_items_default: Final = 50
page_items_max: Final = 200
agents_per_workspace_max: Final = 200
workspaces_max: Final = 200
canvases_per_workspace_max: Final = 1_000
path_characters_max: Final = 4_096
grid_columns_default: Final = 2

# Canvas (canvas.md).
elements_per_call_max: Final = 500
elements_per_canvas_max: Final = 50_000
region_elements_default: Final = 100
region_elements_max: Final = 500
labels_max: Final = 200
label_characters_max: Final = 120
element_bytes_max: Final = 224 * 1024  # one element must fit on a region's page
element_depth_max: Final = 32
region_page_bytes_max: Final = 240 * 1024  # leaves room for what stands beside the elements
element_ids_listed_bytes_max: Final = 128 * 1024
coordinate_max: Final = 1_000_000_000  # scene units; sums of a few stay exact enough to draw
canvas_write_bytes_max: Final = 32 * 1024 * 1024  # rows that one call may write
scene_bytes_max: Final = 4 * 1024 * 1024  # canvas_create fromScene
scene_file_bytes_max: Final = 224 * 1024 * 1024  # a file of the person's, with all its blanks
scene_elements_bytes_max: Final = 64 * 1024 * 1024  # of all stored elements
scene_files_bytes_max: Final = 64 * 1024 * 1024  # canvas 4.5: of all pictures
scene_rest_bytes_max: Final = 1024 * 1024  # appState and unknown fields beside the elements
part_elements_max: Final = 125  # a part of a scene on its way in or out: some 8 ms of an owner's time
part_bytes_max: Final = 384 * 1024
import_parts_max: Final = 2_000
import_looks_max: Final = 1_000  # elements looked at in one step of an import
import_idle_ms_max: Final = 60_000  # then an import that nobody goes on with is given up
changed_since_max: Final = 100

# Mesh (mesh.md).
task_title_characters_max: Final = 200
task_instructions_bytes_max: Final = 32 * 1024
task_envelope_bytes_max: Final = 64 * 1024
open_threads_per_recipient_max: Final = 1_000
chain_depth_max: Final = 8
notification_listed_ms: Final = 24 * 3_600_000
inbox_items_default: Final = 20
inbox_items_max: Final = 100
inbox_deliveries_bytes_max: Final = 136 * 1024
inbox_notifications_bytes_max: Final = 88 * 1024
inbox_open_threads_bytes_max: Final = 24 * 1024
reply_bytes_max: Final = 64 * 1024  # of agent_reply's body, artifacts and usage together
reply_artifacts_max: Final = 50
ended_threads_kept_max: Final = 1_000  # of a recipient: what a late close is told
full_mailbox_retry_seconds: Final = 30
persona_characters_max: Final = 4_000

# Processes.
shards_max: Final = 4
pool_threads: Final = 2
socket_path_bytes_max: Final = 107

assert request_body_bytes_max > scene_bytes_max > task_envelope_bytes_max
assert envelope_bytes_max > person_request_bytes_max > 2 * (scene_rest_bytes_max + part_bytes_max)
assert element_bytes_max < part_bytes_max
assert import_parts_max > 2 * elements_per_canvas_max // part_elements_max
assert import_parts_max * part_bytes_max > 2 * (scene_elements_bytes_max + scene_files_bytes_max * 4 // 3)
assert value_depth_max > json_depth_max
assert task_instructions_bytes_max < task_envelope_bytes_max < inbox_deliveries_bytes_max  # one always fits a page
assert reply_bytes_max < inbox_notifications_bytes_max
assert (
    inbox_deliveries_bytes_max + inbox_notifications_bytes_max + inbox_open_threads_bytes_max
    <= result_bytes_max - 8 * 1024  # what surrounds the lists
)
assert stamp_valid_ms < call_deadline_ms_default
assert link_heartbeat_ms * 4 < link_silence_ms_max <= takeover_wait_ms
assert before_reply_wait_ms < call_deadline_ms_default
assert owner_sweep_ms <= owner_idle_ms
assert page_items_default <= page_items_max
assert element_bytes_max < region_page_bytes_max < result_bytes_max
assert element_depth_max < json_depth_max
assert region_elements_default <= region_elements_max <= elements_per_call_max
