"""Every bound of the runtime, with its unit in its name. How they stand to each other: limit_relations.py.

Where a number comes from the contract, its section stands beside it; all others are ours and may be tuned here only.
"""

from __future__ import annotations

from typing import Final

# What one call may carry.
request_body_bytes_max: Final = 8 * 1024 * 1024  # common 2.5
result_bytes_max: Final = 256 * 1024  # common 6.4
json_depth_max: Final = 64
json_containers_max: Final = 100_000  # small ones cost 50 times their bytes, here and again in the SDK (security 2.19)
json_searched_bytes_max: Final = 1024 * 1024  # finding what is wrong in a larger body takes seconds in plain Python
integer_max: Final = 2**53 - 1  # the largest that every JSON number holds exactly
bad_fields_listed_max: Final = 20
field_path_characters_max: Final = 200
cursor_characters_max: Final = 4_000
envelope_bytes_max: Final = 96 * 1024 * 1024
frame_bytes_max: Final = envelope_bytes_max + 64 * 1024  # what a wire takes: one envelope of any size, and its numbers
value_depth_max: Final = 80
value_items_max: Final = 4 * 1024 * 1024
string_bytes_max: Final = envelope_bytes_max
person_request_bytes_max: Final = 4 * 1024 * 1024  # one line on the person's socket
person_request_depth_max: Final = json_depth_max + 4  # an element of the allowed depth lies three levels down

# Time.
call_deadline_ms_default: Final = 30_000  # common 6.4
stamp_valid_ms: Final = 5_000  # ARCHITECTURE, Admission
authority_noted_ms: Final = 60_000  # that a host remembers at least that an agent's authority was narrowed
authorities_noted_max: Final = 4_096  # more are remembered only while they are younger than that
before_reply_wait_ms: Final = 5_000
link_heartbeat_ms: Final = 250
link_silence_ms_max: Final = 5_000
link_frames_unheard_max: Final = 20_000
link_gathered_bytes_max: Final = 1024 * 1024
topics_per_link_max: Final = 16_384  # that one gateway may listen for at a host, some 4 MB
outbox_window_parcels: Final = 512
outbox_window_bytes: Final = 8 * 1024 * 1024
counted_rows_max: Final = 100_000
activity_window_ms: Final = 1_000
activity_owners_counted_max: Final = 10_000  # by name, in a window
activity_owners_told: Final = 20
outbox_rows_a_read: Final = 64
wire_frames_queued_max: Final = 20_000
wire_frames_waiting_max: Final = 20_000
wire_receives_a_turn_max: Final = 1_000
cold_rows_max: Final = 10_000  # that one decision reads (actors/cold.py)
cold_rows_bytes_max: Final = 16 * 1024 * 1024
load_rows_at_once_max: Final = 250  # some 5 ms; other owners have their turns in between
owner_idle_ms: Final = 30_000
owner_sweep_ms: Final = 5_000
timers_a_turn_max: Final = 64
timer_retry_ms: Final = 1_000
inspection_wait_ms_max: Final = 20_000
takeover_wait_ms: Final = 5_000  # ARCHITECTURE, Supervisor: start anew within 5 s

# The gateway.
admissions_per_call_max: Final = 3
admission_rounds_max: Final = 5  # to bring what admission asks for
reads_at_once_max: Final = 16  # of one composed call, so that one list does not crowd out everyone else's calls
gateway_shares_kept_max: Final = 10_000  # agents whose use of the gateway is remembered, some 2 MB
legacy_sessions_max: Final = 10_000
legacy_sessions_per_agent_max: Final = 64  # security 2.23
legacy_session_idle_ms: Final = 30 * 60_000
streams_per_agent_max: Final = 32  # on which clients of one agent are told of changes
subscribed_sessions_per_agent_max: Final = 128  # of the older era; those that are over are not told apart
input_hold_ms_max: Final = 25_000  # common 5.6: that a retry waits for the person
input_state_ms: Final = 3_600_000  # that a request state is good for
input_states_used_max: Final = 50_000  # remembered of a gateway, some 8 MB
http_unread_bytes_max: Final = 64 * 1024  # of a request's head, of a trailer
http_headers_max: Final = 100
http_head_seconds_max: Final = 10
http_body_seconds_max: Final = 30
http_write_seconds_max: Final = 30  # that a client may leave an answer unread
http_connections_max: Final = 2_000  # a listener
client_watch_after_ms: Final = 50  # a call that takes longer is given up when its client has gone
envelope_fits_bytes_max: Final = 2_048  # of what clients say of themselves, larger ones are judged by the SDK each time
listings_kept_max: Final = 16  # of tools/list, some 200 KB each
envelope_fits_kept_max: Final = 256
other_descriptors_max: Final = 256  # that the gateway may have open beside connections
keep_alive_seconds: Final = 75
requests_stop_grace_seconds: Final = 2

# The person's port and commands.
person_request_ms_max: Final = 60_000  # to send the one line
person_reads_at_once_max: Final = 32
person_connect_ms_max: Final = 5_000
person_lineage_ms_max: Final = 5_000  # to find out where the process that asks comes from
process_ancestors_max: Final = 512  # deeper than any terminal of a person; a deeper chain was made to be that deep
cards_remembered_max: Final = 1_000  # of one that watches approvals
notice_quiet_ms: Final = 5_000  # between two desktop notifications
notifier_ms_max: Final = 2_000
notice_setting_ms_max: Final = 2_000  # to read whether the person wants notifications
person_answer_ms_max: Final = 180_000
scene_deadline_ms: Final = 120_000  # whole scenes in and out take seconds
host_answer_ms_max: Final = 3_000
follow_wait_ms: Final = 10_000
follow_grace_ms: Final = 5_000
follow_retry_ms: Final = 250
inspected_items_default: Final = 100
inspected_items_max: Final = 1_000
owners_listed_max: Final = 5_000
owner_rows_listed_max: Final = 1_000
deliveries_peeked_max: Final = 100
letters_listed_max: Final = 1_000
inspection_deadline_ms: Final = 60_000  # a whole shard is looked through in steps
records_traced_max: Final = 10_000
import_abort_deadline_ms: Final = 1_000
export_rounds_max: Final = 20  # of a scene that is changed while it is read
events_per_page: Final = 500
events_shown_max: Final = 1_000
events_shown_default: Final = 20
threads_listed_default: Final = 200
threads_listed_max: Final = 20_000  # some 8 MB, and half a second of the gateway
threads_looked_at_max: Final = 200_000  # in all mailboxes, for one list that leaves most of them out
deliveries_idle_listed_max: Final = 1_000
waiting_long_ms: Final = 12 * 3_600_000  # after which a task that waits is told of to the person who looks
mesh_needs_mailboxes_max: Final = 5_000  # that are asked at once, some seconds
mesh_needs_every_seconds: Final = 30  # that `nexus-bus top` looks again, since every mailbox is asked

# Journal.
commit_batch_max: Final = 1_024
answers_kept_ms: Final = 24 * 3_600_000
answers_kept_max: Final = 500_000
idempotency_keys_max: Final = 10_000  # of an agent's clients
shim_keys_max: Final = 10_000  # of an agent: those that the stdio shim makes, one for each call without
answers_evicted_a_group_max: Final = 256
journal_kept_records: Final = 1_000_000
journal_trimmed_a_group_max: Final = 64
known_calls_kept_max: Final = 50_000  # ids in memory, some 5 MB at most
message_attempts_max: Final = 5  # ARCHITECTURE, Outbox
disk_full_bytes_max: Final = 1024 * 1024  # free on a disk that did not take a whole write
reserve_bytes: Final = 8 * 1024 * 1024  # common 8.5: of each shard, for the person on a full disk
stored_report_bytes: Final = 256 * 1024  # by which what an agent has stored at a place may differ from what is told
reserve_look_ms: Final = 1_000  # between two looks at whether a disk that was full has room again
store_map_bytes: Final = 64 * 1024 * 1024 * 1024
store_key_bytes_max: Final = 511
rows_a_read: Final = 1_000  # of a walk over a whole table
store_check_ms_max: Final = 2_000  # reading for `nexus doctor`, which keeps a starting host out meanwhile
store_check_rows_a_time: Final = 1_000
store_check_wait_seconds: Final = 60

# Keeping safe.
backup_hold_ms_max: Final = 1_000
backup_snapshot_ms_max: Final = 60_000
backup_copy_ms_max: Final = 150_000
backup_member_bytes_max: Final = 1 << 40
rewrite_rows_a_commit: Final = 1_000
rewrite_bytes_a_commit: Final = 8 * 1024 * 1024
inspection_step_rows: Final = 2_000
inspection_step_bytes: Final = 8 * 1024 * 1024

archive_manifest_bytes_max: Final = 64 * 1024 * 1024
archive_config_bytes_max: Final = 1024 * 1024
archive_piece_bytes: Final = 1024 * 1024
archive_members_max: Final = 1_000_000
archive_at_ms_max: Final = 253_402_300_799_999  # the last year of four digits
counter_max: Final = 1_000_000_000  # of incarnations and layouts in files that came from outside
sequence_max: Final = 1 << 53
doctor_free_bytes_wanted: Final = 1 << 30
doctor_entries_max: Final = 20_000

# Names and lists (common 1.7, 7.1, 7.3).
identifier_characters_max: Final = 200
name_characters_max: Final = 200
reason_characters_max: Final = 200  # canvas 2
page_items_default: Final = 50
page_items_max: Final = 200
agents_per_workspace_max: Final = 200
removed_agents_kept_max: Final = 200  # that the person can still look at and undo
workspaces_max: Final = 200
canvases_per_workspace_max: Final = 1_000
path_characters_max: Final = 4_096
grid_columns_max: Final = 12
saga_retry_ms: Final = 10_000  # what is not acknowledged is told again, after twice as long each time
saga_retry_ms_max: Final = 600_000
roles_ended_at_once_max: Final = 16  # canvases that are told with one message that an agent has no role any more
destroyed_at_once_max: Final = 16  # canvases of a workspace that are told to go and have not answered
deletion_deadline_ms: Final = 120_000  # of a workspace with all that is in it

# The stdio shim (nexus/shim) and the credentials it is lent.
shim_subscriptions_max: Final = 32
shim_requests_open_max: Final = 128  # of one client at once; each is a thread
shim_outline_bytes_max: Final = 65_536  # kept of a line that is too long, to find whose answer it waits for
shim_outline_text_bytes_max: Final = 1_024  # of one text in it
shim_answer_bytes_max: Final = 32 * 1024 * 1024  # one message of the gateway
shim_token_file_bytes_max: Final = 4_096
shim_connections_kept_max: Final = 8
shim_connect_ms_max: Final = 5_000
shim_retry_ms_max: Final = 30_000  # after a connection broke: how long a request waits for NEXUS to be back
shim_absent_ms_max: Final = 1_500  # the same where NEXUS has never answered: it does not run
shim_start_ms_max: Final = 60_000  # the same while `--start` starts it
shim_repeats_max: Final = 5  # of one request that was sent; one that ends the gateway each time is not sent for ever
shim_back_off_ms_first: Final = 20
shim_back_off_ms_max: Final = 500
shim_stream_back_off_ms_max: Final = 5_000  # of the stream that nobody waits for
shim_drain_ms_max: Final = 2_000  # open requests may still be answered after the client's last word
leases_per_agent_max: Final = 20
leases_lapsed_max: Final = 64  # of one agent: hashes of tokens that admit nothing unless they are lent again
lease_grace_ms: Final = 15_000  # after a gateway's start: whoever was lent a credential by the former one asks again
lease_retry_ms: Final = 1_000
lease_retry_ms_max: Final = 60_000  # of what nobody waits for: it is asked for after twice as long each time

# Authority (common 5, work-plan-tool).
surface_rate_ms: Final = 3_600_000  # work-plan-tool, creation budget: 10 an hour
approvals_pending_max: Final = 20  # common 5.1
approval_pending_ms: Final = 24 * 3_600_000  # common 5.3
approval_granted_ms: Final = 15 * 60_000  # common 5.2
approval_denied_ms: Final = 24 * 3_600_000  # that a denial answers the same call
approvals_kept_max: Final = 200  # decided ones, of one agent
approvals_forgotten_a_call_max: Final = 8
approval_arguments_bytes_max: Final = 256 * 1024  # a card shows them whole
note_characters_max: Final = 2_000
credentials_per_agent_max: Final = 50
plan_word_characters_max: Final = 60  # of an outcome or a code that a step keeps
surfaces_lifetime_max: Final = 1_000_000  # that the person can allow one agent
credential_use_noted_ms: Final = 60_000
credential_recent_ms: Final = 5_000  # that a gateway takes a confirmed token for one whose calls it may count
credentials_recent_max: Final = 4_096  # of a gateway
withheld_tools_max: Final = 200

# Canvas (canvas.md).
elements_per_call_max: Final = 500
elements_per_canvas_max: Final = 50_000
region_elements_default: Final = 100
region_elements_max: Final = 500
labels_max: Final = 200
label_characters_max: Final = 120
measured_bytes_max: Final = 40 * 1024  # of text that one call may have measured: some 50 ms, whatever it is
measured_line_bytes: Final = 16  # what beginning another line counts as among those
widths_remembered_max: Final = 30_000  # of characters, by each family of fonts
kinds_remembered_max: Final = 30_000  # of code points: how lines break around them
write_cost_us_max: Final = 100_000  # computing of one write (security 2.23), as the next ones count it; not a clock
element_cost_us: Final = 20  # of an element that changes
arrow_cost_us: Final = 80  # the same of an arrow that is led, beside
point_cost_us: Final = 4  # of a point that is computed with
point_kept_cost_us: Final = 1  # of one that only has to be kept
listed_cost_us: Final = 1  # of a member or a tie that is looked at
given_bytes_a_us: Final = 16  # of what a call says of elements: the worst, a list of small numbers
text_byte_cost_us: Final = 1  # of a text that is laid out
element_bytes_max: Final = 224 * 1024  # one element must fit on a region's page
element_depth_max: Final = 32
element_type_characters_max: Final = 100
index_characters_max: Final = 200  # longer ones are valid but not worth keeping: an import numbers such a scene anew
region_page_bytes_max: Final = 240 * 1024  # leaves room for what stands beside the elements
proposal_was_bytes_max: Final = 64 * 1024  # what elements were that a proposal changes, as the person reads it
proposal_names_bytes_max: Final = 16 * 1024
state_proposals_bytes_max: Final = 32 * 1024
state_locks_bytes_max: Final = 16 * 1024
state_decided_bytes_max: Final = 2_000  # what became of the caller's own proposals: the last few
state_beside_bytes_max: Final = state_proposals_bytes_max + state_locks_bytes_max + state_decided_bytes_max
state_labels_bytes_max: Final = region_page_bytes_max - state_beside_bytes_max - 16 * 1024
state_types_max: Final = 50
region_types_max: Final = 50
left_out_listed_max: Final = 100
element_ids_listed_bytes_max: Final = 128 * 1024
coordinate_max: Final = 1_000_000_000  # scene units; sums of a few stay exact enough to draw
line_length_max: Final = 75_000  # scene units across and down: editors delete longer lines and arrows
canvas_write_bytes_max: Final = 12 * 1024 * 1024  # rows that one call may write, what they were among them
scene_bytes_max: Final = 4 * 1024 * 1024  # canvas_create fromScene
scene_file_bytes_max: Final = 224 * 1024 * 1024  # a file of the person's, with all its blanks
scene_elements_bytes_max: Final = 64 * 1024 * 1024  # of all stored elements
scene_files_bytes_max: Final = 64 * 1024 * 1024  # canvas 4.5: of all pictures
picture_pixels_max: Final = 64 * 1024 * 1024  # of a picture in a scene: 256 MB when it is drawn
picture_side_pixels_max: Final = 16_384  # of an exported png: what browsers can draw on
exported_pixels_max: Final = 64 * 1024 * 1024
exported_bytes_max: Final = 128 * 1024 * 1024
export_drawing_ms_max: Final = 240_000  # 50,000 elements took 61 s on a machine with five times too much to do
export_memory_bytes_max: Final = 3 * 1024 * 1024 * 1024  # of the engine and its browser, which takes 0.4 for little
browser_start_ms_max: Final = 30_000
scene_rest_bytes_max: Final = 1024 * 1024  # appState and unknown fields beside the elements
part_elements_max: Final = 125  # a part of a scene on its way in or out: some 8 ms of an owner's time
part_bytes_max: Final = 384 * 1024
import_parts_max: Final = 2_000
import_looks_max: Final = 1_000  # elements looked at in one step of an import
import_idle_ms_max: Final = 60_000  # then an import that nobody goes on with is given up
changed_since_max: Final = 100
writes_tried_anew_max: Final = 5  # of the person's, when somebody else's came between
history_page_max: Final = 200  # revisions
history_read_bytes_max: Final = 2 * 1024 * 1024  # of history rows, for a page that leaves the elements out
revert_elements_max: Final = 5_000  # that one revert may change: 450 ms of computing, 14 ms at most in one go
revert_bytes_max: Final = 8 * 1024 * 1024  # of those, as they are and as they were
proposals_pending_max: Final = 100  # of a canvas
proposals_pending_per_agent_max: Final = 20  # the same of one agent there, so that others can propose too
proposals_pending_bytes_max: Final = 4 * 1024 * 1024  # arguments of all pending ones: they are loaded with the canvas
proposal_bytes_max: Final = 512 * 1024  # of one
proposals_decided_kept_max: Final = 100  # of a canvas: what a second decision is told
proposal_elements_listed_max: Final = 20
proposal_elements_listed_bytes_max: Final = 2 * 1024
proposals_page_max: Final = 50  # of the person's list
frames_nested_max: Final = 64  # frames in frames, which editors cannot make at all
slips_told_max: Final = 20  # of the fields of a call that no element has
lock_seconds_default: Final = 600  # canvas 2
lock_seconds_max: Final = 3_600  # canvas 2
locks_per_canvas_max: Final = 2_000
locks_per_agent_max: Final = 500  # on one canvas

# Teams (mesh.md) and providers (knowledge.md).
teams_max: Final = 200
teams_per_agent_max: Final = 50  # that one agent made; so no agent leaves the others without room
team_members_max: Final = 200
team_description_characters_max: Final = 2_000
teams_file_bytes_max: Final = 3 * 1024 * 1024  # teams.json
providers_declared_max: Final = 50  # in providers.toml
providers_enabled_max: Final = 100
providers_file_bytes_max: Final = 256 * 1024
provider_names_max: Final = 20  # of one declaration: programs, files, variables
login_shell_ms_max: Final = 5_000  # for its start-up files, which may do much
login_shell_bytes_max: Final = 256 * 1024
provider_version_ms_max: Final = 2_000
provider_versions_ms_max: Final = 10_000  # for all that are asked by one call
provider_version_bytes_max: Final = 16 * 1024
provider_version_characters_max: Final = 60
provider_runs_at_once_max: Final = 4  # programs that are asked their version
provider_nice: Final = 10  # they and the login shell give way to whoever else computes
provider_path_folders_max: Final = 500
client_recent_ms: Final = 5 * 60_000  # that a client of the newer era counts as connected after a request
client_names_max: Final = 256  # that a gateway remembers

# Mesh (mesh.md).
task_instructions_bytes_max: Final = 32 * 1024
task_envelope_bytes_max: Final = 64 * 1024
open_threads_per_recipient_max: Final = 1_000  # mesh 3.4, by default
open_threads_sender_divisor: Final = 2  # one sender has at most this part of them, so that others can send too
triggers_per_minute_max: Final = 600  # mesh 3.4, by default
chain_depth_max: Final = 8
chain_agents_max: Final = (
    50  # that a chain, a stamp or a card names; a chain keeps those of its parent thread beyond it
)
notification_listed_ms: Final = 24 * 3_600_000
inbox_items_default: Final = 20
inbox_items_max: Final = 100
inbox_deliveries_bytes_max: Final = 128 * 1024
inbox_notifications_bytes_max: Final = 88 * 1024
inbox_open_threads_bytes_max: Final = 24 * 1024
inbox_requests_bytes_max: Final = 8 * 1024
reply_bytes_max: Final = 64 * 1024  # of agent_reply's body, artifacts and usage together
reply_artifacts_max: Final = 50
ended_threads_kept_max: Final = 1_000  # of a recipient: what a late close is told
cleared_at_once_max: Final = 16
full_mailbox_retry_seconds: Final = 30
persona_characters_max: Final = 4_000
agent_kind_characters_max: Final = 30
channels_per_workspace_max: Final = 100
channel_members_max: Final = 200
channel_requests_per_agent_max: Final = 20  # that wait for the person
channel_requests_max: Final = 100  # the same of a workspace
agent_creations_max: Final = 10  # that one agent may ask for within the hour
agent_creation_rate_ms: Final = 3_600_000
agents_created_by_one_max: Final = 20  # that are there at once, so that the person and other agents have room too
task_context_refs_max: Final = 20
context_ref_shown_bytes_max: Final = 1_200  # of what one reference is read as: an address, a title
lease_ms: Final = 60_000  # mesh 4.4
lease_late_ms: Final = 5_000  # a lease that ended so long ago unseen did so in a jump of the clock or an outage
lease_attempts_max: Final = 5  # mesh 4.4
leases_per_mailbox_max: Final = 1_000
leases_a_call_max: Final = 100
lease_bytes_a_call_max: Final = 1024 * 1024
due_a_turn_max: Final = 128  # leases and deadlines that one turn of a mailbox settles
purged_a_call_max: Final = 128
dead_letter_tasks_kept_max: Final = 100  # of a mailbox, for requeueing
request_notices_kept_max: Final = 100
blocked_senders_max: Final = 200
mailbox_shed_at_once: Final = 5_000

# Plans (work-plan-tool.md).
plan_steps_max: Final = 1_000
plan_announced_max: Final = 50
plan_step_characters_max: Final = 300  # of one announcement
plan_note_characters_max: Final = 4_000
plan_arguments_kept_bytes_max: Final = 1024  # of a step that is not run any more
plan_collected_bytes_max: Final = 16 * 1024 * 1024  # arguments of all steps that may still be run
plan_page_bytes_max: Final = 512 * 1024  # of a page that the person reads
plan_arguments_shown_bytes_max: Final = 4 * 1024  # of one step in a list; by itself it is shown whole
plans_kept_max: Final = 10  # of an agent; the oldest that ended go
plans_removed_at_once_max: Final = 2
plan_undo_wait_ms: Final = 5_000  # for the owners of what is closed

# Processes.
child_start_ms_max: Final = 15_000
child_stop_grace_ms: Final = 5_000
child_back_off_ms_first: Final = 200
child_back_off_ms_max: Final = 5_000
child_stable_ms: Final = 30_000  # a child that lived as long is started anew at once when it dies
control_line_bytes_max: Final = 64 * 1024
control_answer_ms_max: Final = 5_000
control_connections_max: Final = 16
log_bytes_max: Final = 8 * 1024 * 1024
stop_wait_ms_max: Final = 3 * child_stop_grace_ms + 2_000  # each stage may need its grace
progress_after_ms: Final = 1_000
look_again_ms: Final = 20
shards_max: Final = 4
gc_allocations_between: Final = 10_000  # of a shard host: a look at so many new objects takes some 3 ms
gc_looks_between: Final = 1  # at the newest only, before those that outlived one are looked at again
pool_threads: Final = 2
socket_path_bytes_max: Final = 107
