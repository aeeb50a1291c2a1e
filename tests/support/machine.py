"""A machine whose agent programs are what the test says, in place of looking at this one."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from nexus.gateway.provider_detection import Sighting
from nexus.gateway.provider_programs import Program, Shell
from nexus.provider_file import Known
from tools.provider_table import Provider


class ScriptedMachine:
    """`install` and `remove` programs; `asked` counts the questions."""

    def __init__(self) -> None:
        self.known = Known()
        self.programs: dict[str, Program] = {}
        self.version: dict[str, str | None] = {}
        self.variables: frozenset[str] = frozenset()
        self.present: frozenset[str] = frozenset()
        self.asked = 0

    def install(self, provider_id: str, path: str, version: str | None = "1.0.0") -> None:
        self.programs[provider_id] = Program(f"/usr/bin/{provider_id}", path)
        self.version[provider_id] = version

    async def sighting(self) -> Sighting:
        self.asked += 1
        return Sighting(self.known, dict(self.programs), Shell("/usr/bin", self.variables))

    async def versions(self, sighting: Sighting, provider_ids: Collection[str]) -> Mapping[str, str | None]:
        return {id_: self.version[id_] for id_ in provider_ids if id_ in sighting.programs}

    async def files(self, provider: Provider) -> frozenset[str]:
        return self.present & frozenset(provider.sign.files)
