"""The catalogue of events: every type an owner may write into the journal, and what it tells.

An event is dated and attributed by its host (common 8.4); `data` holds ids and counts, never tokens, field values or
longer text. `nexus-bus tail` shows them; projections are built from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CATALOGUE: Final[Mapping[str, str]] = {
    # workspaces
    "workspace.created": "The person or an agent made a workspace.",
    "workspace.activated": "The person's active workspace is now this one.",
    "workspace.updated": "A workspace's name, color or grid was changed.",
    "workspace.deleting": "A workspace is there for nobody any more; its canvases are being destroyed.",
    "workspace.deleted": "A workspace and all that was in it is gone.",
    # agents
    "agent.created": "The person added an agent, or one was made because an agent asked for it.",
    "agent.asked_for": "An agent asked for a new agent.",
    "agent.not_created": "What an agent asked for was refused, by the same rules as the person's own agents.",
    "agent.removed": "The person removed an agent; its credentials stopped at once.",
    "agent.renamed": "An agent has another name.",
    "agent.scope_changed": "The person pinned an agent to a workspace, or let it follow the active one.",
    "agent.credential_replaced": "The person replaced an agent's token; the old one stopped at once.",
    "agent.profile_changed": "An agent changed its persona or color.",
    "agent.paused": "The person paused an agent, or let it go on: meanwhile it is offered no tasks.",
    "agent.blocked": "The person said whether one agent may send tasks to another.",
    "agent.first_seen": "A credential of this agent was used for the first time, so it can be sent work.",
    # channels (mesh 6)
    "channel.created": "The person made a channel.",
    "channel.renamed": "The person gave a channel another name.",
    "channel.deleted": "The person deleted a channel; who asked for an invitation is told.",
    "channel.member_added": "The person let an agent join a channel.",
    "channel.member_removed": "An agent is no member any more: by the person, or because it was removed.",
    "channel.invitation_asked": "An invitation that an agent asked for waits for the person.",
    "channel.invitation_ended": "The person decided on an invitation, or what it was about is gone.",
    # authority
    "agent.mode_changed": "The person changed how far an agent acts alone.",
    "agent.capability_changed": "The person gave an agent a capability, or took it away.",
    "agent.tool_withheld": "A tool was given up by an agent, or taken away by the person.",
    "agent.tool_restored": "The person gave a tool back.",
    "agent.budget_changed": "The person changed or reset how many surfaces an agent may create.",
    "agent.credential_added": "The person gave an agent one more credential.",
    "agent.credential_narrowed": "The person said which families of tools a credential is served.",
    "agent.credential_revoked": "The person revoked a credential; it stopped at once.",
    "approval.asked": "A call waits for the person's approval.",
    "approval.approved": "The person approved a call.",
    "approval.denied": "The person denied a call.",
    "approval.expired": "Nobody decided, or nobody used what was approved, in time.",
    "approval.sent_on": "The approved call was sent to its owner, in the same commit.",
    "approval.used": "The approved call took effect.",
    "approval.given_back": "The approved call changed nothing, so the approval still holds.",
    "approval.lapsed": "What was approved had changed, so nothing ran.",
    "approval.voided": "Whatever asked for it is gone, or narrowed: the credential, the agent, or the run that waited.",
    "surface.charged": "A call that creates a surface was admitted and counted.",
    # canvases
    "canvas.created": "An agent made a canvas and owns it.",
    "canvas.imported": "The person imported a scene as a new canvas.",
    "canvas.import_given_up": "An import ended without a canvas, and all that had come of it is removed.",
    "canvas.changed": "A write was applied: the revision and the elements it touched.",
    "canvas.proposed": "A commenter's write waits to be approved: what it would do, and to how many elements.",
    "canvas.proposal_decided": "A proposal was approved or rejected; the event names its proposer.",
    "canvas.locked": "Elements may be changed by one agent, or the person, alone for a while.",
    "canvas.unlocked": "Locks were taken off elements: because somebody asked, or because their time was over.",
    "canvas.deleted": "A canvas and its history were deleted; it is there for nobody any more.",
    "canvas.role_granted": "The person gave an agent a role on a canvas, or took it away.",
    # threads, in the order of their life (mesh 4)
    "thread.offered": "A sender's mailbox passed a task on to the recipient's.",
    "thread.queued": "The recipient's mailbox holds the task durably.",
    "thread.refused": "The recipient's mailbox withheld the delivery, with a typed reason.",
    "thread.delivered": "The recipient has been shown the task, or a runtime of it has leased it.",
    "thread.redelivered": "A runtime has leased a task that was delivered before; the attempt is told.",
    "thread.started": "A runtime has begun to work on the task.",
    "thread.progress": "A runtime says how far it is, in one redacted line.",
    "thread.released": "A delivery was given back before work began, so no attempt is used; the task waits again.",
    "thread.lease_lost": "A delivery ended without an answer; the task waits again in its old place.",
    "thread.requeued": "The person put the task of an exhausted thread into a new one.",
    "thread.completed": "The recipient answered: completed.",
    "thread.partial": "The recipient answered: completed in part.",
    "thread.failed": "The recipient answered: failed, or delivery was given up.",
    "thread.cancelled": "The thread ended without an answer: by the person, or because its recipient was removed.",
    "thread.expired": "The thread's deadline passed before it was answered.",
    "thread.rejected": "The recipient declined the task before working on it.",
    "request.ended": "What an agent asked for was decided; the agent is told in its inbox.",
    # teams and providers
    "team.created": "The person or an agent made a local team.",
    "team.deleted": "The person deleted a local team.",
    "team.member_added": "An agent was added to a local team.",
    "team.member_removed": "An agent was taken out of a local team, or left its teams because it was removed.",
    "team.provisioned": "The person replaced all cloud teams by those of a file.",
    "provider.enabled": "The person enabled an agent program, by its real path.",
    "provider.disabled": "The person disabled an agent program.",
    "agent.provider_changed": "An agent is run with another agent program from now on.",
    # settings
    "settings.changed": "A setting has another value; the event names it, never the value.",
    # plans
    "plan.begun": "An agent announced a plan; its writes become steps.",
    "plan.step_recorded": "A write of an agent with a running plan was dispatched and noted as a step.",
    "plan.step_settled": "A step is done or failed, or waits to be tried again.",
    "plan.collected": "A call was noted as a step instead of being executed.",
    "plan.stopped": "The person stopped a plan, or the run of a collected one.",
    "plan.ended": "A plan ended: by its agent, by its last collected step, or by a change of mode.",
    "plan.run_begun": "The person ordered collected steps to be run.",
    "plan.run_paused": "A run waits for the person to decide the card of a step.",
    "plan.run_halted": "A run ended at a step that could not be done; what is left stays collected.",
    "plan.discarded": "The person discarded what was left of a collected plan.",
    "plan.undo_asked": "The person undid a plan: the owners of surfaces that it made are told to close them.",
    "plan.surface_gone": "A surface of an undone plan is closed, or was gone already.",
    "plan.removed": "An old plan that had ended made room for a new one.",
    # the runtime itself
    "message.dead": "A message between owners failed too often and was put aside.",
    "message.retried": "The person put a dead letter back into the stream.",
    "message.dropped": "The person dropped a dead letter.",
    "home.restored": "The person restored the home from a backup; what happened after that backup is gone.",
    "home.resharded": "The person dealt the home out over another number of shards.",
    "journal.unreadable": "Told by a host in place of a journal record that fails its checksum.",
}
