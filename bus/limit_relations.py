"""How the bounds of bus/limits.py stand to each other. Every process of NEXUS imports this; a wrong one ends it."""

from __future__ import annotations

from bus.limits import (
    activity_owners_counted_max,
    activity_owners_told,
    agents_created_by_one_max,
    agents_per_workspace_max,
    arrow_cost_us,
    authority_noted_ms,
    backup_hold_ms_max,
    before_reply_wait_ms,
    call_deadline_ms_default,
    canvas_write_bytes_max,
    channel_requests_max,
    channel_requests_per_agent_max,
    child_back_off_ms_first,
    child_back_off_ms_max,
    child_stable_ms,
    context_ref_shown_bytes_max,
    credential_recent_ms,
    credential_use_noted_ms,
    credentials_per_agent_max,
    disk_full_bytes_max,
    element_bytes_max,
    element_cost_us,
    element_depth_max,
    elements_per_call_max,
    elements_per_canvas_max,
    envelope_bytes_max,
    events_per_page,
    events_shown_max,
    follow_wait_ms,
    frame_bytes_max,
    host_answer_ms_max,
    http_body_seconds_max,
    http_connections_max,
    http_head_seconds_max,
    import_parts_max,
    inbox_deliveries_bytes_max,
    inbox_notifications_bytes_max,
    inbox_open_threads_bytes_max,
    inbox_requests_bytes_max,
    input_hold_ms_max,
    inspected_items_max,
    inspection_wait_ms_max,
    json_depth_max,
    keep_alive_seconds,
    lease_bytes_a_call_max,
    lease_grace_ms,
    lease_late_ms,
    lease_ms,
    leases_a_call_max,
    leases_per_agent_max,
    leases_per_mailbox_max,
    legacy_sessions_max,
    legacy_sessions_per_agent_max,
    link_heartbeat_ms,
    link_silence_ms_max,
    lock_seconds_default,
    lock_seconds_max,
    locks_per_agent_max,
    locks_per_canvas_max,
    login_shell_ms_max,
    measured_bytes_max,
    name_characters_max,
    outbox_rows_a_read,
    outbox_window_parcels,
    owner_idle_ms,
    owner_sweep_ms,
    page_items_default,
    page_items_max,
    part_bytes_max,
    part_elements_max,
    person_answer_ms_max,
    person_request_bytes_max,
    plan_announced_max,
    plan_arguments_kept_bytes_max,
    plan_arguments_shown_bytes_max,
    plan_collected_bytes_max,
    plan_note_characters_max,
    plan_page_bytes_max,
    plan_step_characters_max,
    plan_undo_wait_ms,
    proposal_bytes_max,
    proposal_elements_listed_bytes_max,
    proposals_pending_bytes_max,
    proposals_pending_max,
    proposals_pending_per_agent_max,
    provider_version_ms_max,
    provider_versions_ms_max,
    reason_characters_max,
    region_elements_default,
    region_elements_max,
    region_page_bytes_max,
    reply_bytes_max,
    request_body_bytes_max,
    reserve_bytes,
    result_bytes_max,
    revert_bytes_max,
    scene_bytes_max,
    scene_deadline_ms,
    scene_elements_bytes_max,
    scene_files_bytes_max,
    scene_rest_bytes_max,
    shim_absent_ms_max,
    shim_drain_ms_max,
    shim_outline_bytes_max,
    shim_outline_text_bytes_max,
    shim_retry_ms_max,
    shim_start_ms_max,
    shim_stream_back_off_ms_max,
    stamp_valid_ms,
    state_labels_bytes_max,
    state_locks_bytes_max,
    state_proposals_bytes_max,
    store_check_ms_max,
    store_map_bytes,
    subscribed_sessions_per_agent_max,
    takeover_wait_ms,
    task_context_refs_max,
    task_envelope_bytes_max,
    task_instructions_bytes_max,
    teams_file_bytes_max,
    text_byte_cost_us,
    threads_listed_default,
    threads_listed_max,
    threads_looked_at_max,
    topics_per_link_max,
    value_depth_max,
    write_cost_us_max,
)

assert request_body_bytes_max > scene_bytes_max > task_envelope_bytes_max
assert envelope_bytes_max > person_request_bytes_max > 2 * (scene_rest_bytes_max + part_bytes_max)
assert element_bytes_max < part_bytes_max
assert import_parts_max > 2 * elements_per_canvas_max // part_elements_max
assert import_parts_max * part_bytes_max > 2 * (scene_elements_bytes_max + scene_files_bytes_max * 4 // 3)
assert frame_bytes_max > envelope_bytes_max
assert value_depth_max > json_depth_max
assert task_instructions_bytes_max < task_envelope_bytes_max
assert (  # one always fits a page
    task_envelope_bytes_max + task_context_refs_max * context_ref_shown_bytes_max + 8 * 1024
    < inbox_deliveries_bytes_max
)
assert task_envelope_bytes_max < lease_bytes_a_call_max < envelope_bytes_max // 4
assert leases_a_call_max <= leases_per_mailbox_max
assert lease_late_ms < lease_ms
assert reply_bytes_max < inbox_notifications_bytes_max
assert channel_requests_per_agent_max < channel_requests_max
assert agents_created_by_one_max < agents_per_workspace_max
assert (
    inbox_deliveries_bytes_max + inbox_notifications_bytes_max + inbox_open_threads_bytes_max + inbox_requests_bytes_max
    <= result_bytes_max - 8 * 1024  # what surrounds the lists
)
assert request_body_bytes_max < plan_collected_bytes_max < envelope_bytes_max  # any one call can be collected
# One character is at most six bytes of JSON, what stands around an announcement or a step some 100 and 600.
assert (
    plan_announced_max * (6 * plan_step_characters_max + 100) + 6 * plan_note_characters_max + page_items_max * 600
    < result_bytes_max
)
assert plan_arguments_kept_bytes_max < plan_arguments_shown_bytes_max < plan_page_bytes_max
assert plan_undo_wait_ms < call_deadline_ms_default
assert stamp_valid_ms < call_deadline_ms_default
assert 2 * stamp_valid_ms < authority_noted_ms  # no stamp from before is valid any more, with a grace for clocks
assert link_heartbeat_ms * 4 < link_silence_ms_max <= takeover_wait_ms
assert before_reply_wait_ms < call_deadline_ms_default
assert owner_sweep_ms <= owner_idle_ms
assert outbox_rows_a_read <= outbox_window_parcels
assert activity_owners_told < activity_owners_counted_max
assert backup_hold_ms_max < before_reply_wait_ms  # a barrier never makes an open call late by itself
assert store_check_ms_max < takeover_wait_ms
# Each connection of a gateway's two listeners listens for at most three topics.
assert topics_per_link_max > 2 * 3 * http_connections_max
assert input_hold_ms_max < call_deadline_ms_default
assert legacy_sessions_per_agent_max < subscribed_sessions_per_agent_max
assert credential_recent_ms <= credential_use_noted_ms / 10  # a use is noted by that much too late
assert credential_recent_ms <= stamp_valid_ms  # so what is counted by an older confirmation is not admitted by one
assert http_head_seconds_max < http_body_seconds_max < keep_alive_seconds
assert page_items_default <= page_items_max
assert threads_listed_default <= threads_listed_max <= threads_looked_at_max
assert element_bytes_max < region_page_bytes_max < result_bytes_max
assert element_depth_max < json_depth_max
assert region_elements_default <= region_elements_max <= elements_per_call_max
assert state_labels_bytes_max + state_proposals_bytes_max + state_locks_bytes_max < region_page_bytes_max
# One always fits: its reason and names beside the ids.
assert (
    proposal_elements_listed_bytes_max + 6 * (reason_characters_max + 3 * name_characters_max)
    < state_proposals_bytes_max
)
assert proposal_bytes_max < proposals_pending_bytes_max < canvas_write_bytes_max
assert revert_bytes_max < canvas_write_bytes_max
# A call of as many arrows as it may name, led between labelled shapes and with labels of their own, is not too much.
assert elements_per_call_max * (3 * element_cost_us + arrow_cost_us) < write_cost_us_max
assert measured_bytes_max * text_byte_cost_us < write_cost_us_max
assert proposals_pending_per_agent_max < proposals_pending_max
assert 0 < lock_seconds_default <= lock_seconds_max
assert elements_per_call_max <= locks_per_agent_max < locks_per_canvas_max
assert legacy_sessions_per_agent_max < legacy_sessions_max
assert call_deadline_ms_default < scene_deadline_ms < person_answer_ms_max  # the gateway's answer always comes first
assert follow_wait_ms <= inspection_wait_ms_max
assert max(page_items_max, events_per_page, events_shown_max) <= inspected_items_max
assert disk_full_bytes_max < reserve_bytes < store_map_bytes // 1_024
assert host_answer_ms_max < call_deadline_ms_default
assert leases_per_agent_max < credentials_per_agent_max
assert shim_stream_back_off_ms_max < lease_grace_ms
assert shim_outline_text_bytes_max < shim_outline_bytes_max < request_body_bytes_max
assert shim_absent_ms_max < shim_drain_ms_max < shim_retry_ms_max < shim_start_ms_max
assert 0 < child_back_off_ms_first < child_back_off_ms_max < child_stable_ms
assert teams_file_bytes_max < person_request_bytes_max
assert provider_version_ms_max < provider_versions_ms_max < call_deadline_ms_default - login_shell_ms_max
