"""team_detail: a team as its owner keeps it, its members as the directory names them.

Teams are app-wide (common 3.4), and their file says that the resolved current members are shown: so members of other
workspaces stand there by id and name, and by nothing else (docs/decisions/0014).
"""

from __future__ import annotations

from bus import address
from bus.value import Record
from nexus.gateway.reading import Reading


async def team_detail(reading: Reading, arguments: Record) -> Record:
    """Raises OwnerRefused and DeadlinePassed."""
    team = await reading.ask(address.TEAMS, "team_show", {"teamId": arguments["teamId"]})
    named = await reading.ask(address.DIRECTORY, "agents_named", {"agentIds": team["members"]})
    members = named["agents"]
    assert isinstance(members, list)
    # Counted from what is shown: an agent that is just being removed is neither.
    return {**team, "members": members, "memberCount": len(members)}
