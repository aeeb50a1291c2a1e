"""The person's verbs: a literal table from verb to the function that carries it out by asking owners.

Each function takes checked arguments, speaks to owners with the person's link and answers a record or raises
`VerbRefused`. Nothing is kept between requests. Verbs that carry whole scenes are in person_scenes.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from bus.value import Record, Value
from nexus import __version__
from nexus.gateway import (
    person_approvals,
    person_authority,
    person_backup,
    person_bus,
    person_canvases,
    person_channels,
    person_history,
    person_log,
    person_mailboxes,
    person_plans,
    person_proposals,
    person_providers,
    person_teams,
    person_threads,
    person_upkeep,
    person_workspaces,
)
from nexus.gateway.person_owners import Owners
from nexus.gateway.person_settings import SETTINGS_VERBS
from nexus.gateway.person_table import Nothing, Run, Stream, checked, streamed


async def status(owners: Owners, _: Nothing) -> Record:
    hosts = await person_bus.every_host(owners)
    return {"version": __version__, "time": owners.clock.now_ms(), "shards": cast("list[Value]", hosts)}


VERBS: Final[Mapping[str, Run]] = {
    "status": checked(Nothing, status),
    **person_workspaces.VERBS,
    **person_authority.VERBS,
    **person_channels.VERBS,
    **person_approvals.VERBS,
    **SETTINGS_VERBS,
    **person_plans.VERBS,
    **person_threads.VERBS,
    **person_mailboxes.VERBS,
    **person_providers.VERBS,
    **person_teams.VERBS,
    **person_canvases.VERBS,
    **person_history.VERBS,
    **person_proposals.VERBS,
    "backup": checked(person_backup.Backup, person_backup.backup),
    "bus.ls": checked(person_bus.Ls, person_bus.ls),
    "bus.info": checked(person_bus.Info, person_bus.info),
    "bus.peek": checked(person_bus.Peek, person_bus.peek),
    "bus.tail": checked(person_bus.Tail, person_bus.tail),
    "bus.get": checked(person_bus.Get, person_bus.get),
    "bus.pending": checked(person_upkeep.Pending, person_upkeep.pending),
    "bus.dead.ls": checked(person_upkeep.DeadList, person_upkeep.dead_list),
    "bus.dead.retry": checked(person_upkeep.OneLetter, person_upkeep.dead_retry),
    "bus.dead.drop": checked(person_upkeep.OneLetter, person_upkeep.dead_drop),
    "bus.trace": checked(person_log.Trace, person_log.trace),
    "bus.top": checked(person_upkeep.Top, person_upkeep.top),
}

STREAMS: Final[Mapping[str, Stream]] = {
    **person_approvals.STREAMS,
    **person_plans.STREAMS,
    **person_history.STREAMS,
    "bus.tail": streamed(person_bus.Tail, person_bus.follow),
    "bus.doctor": streamed(person_upkeep.Doctor, person_upkeep.doctor),
    "bus.export": streamed(person_log.Export, person_log.export),
}
"""Verbs that answer `{"event": ...}` lines; at its end one that ends answers `{"ok": ...}`."""
