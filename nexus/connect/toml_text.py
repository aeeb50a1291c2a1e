"""TOML, edited by tomlkit, which keeps comments, order and layout. The one importer of it. Pure."""

from __future__ import annotations

import tomllib

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, InlineTable

from bus.value import Record
from nexus.connect.syntax import Broken, Keys


class Toml:
    """A syntax (nexus/connect/syntax.py)."""

    def data(self, text: str) -> Record:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise Broken(str(error)) from None

    def with_value(self, text: str, path: Keys, value: Record) -> str:
        document = _parsed(text)
        table: AbstractTable | tomlkit.TOMLDocument = document
        for key in path[:-1]:
            if key not in table:
                table[key] = tomlkit.table(is_super_table=True)
            table = table[key]
        entry: AbstractTable = tomlkit.inline_table() if isinstance(table, InlineTable) else tomlkit.table()
        for name, field in value.items():
            entry[name] = field
        table[path[-1]] = entry
        return tomlkit.dumps(document)

    def without(self, text: str, path: Keys) -> str:
        document = _parsed(text)
        tables: list[AbstractTable | tomlkit.TOMLDocument] = [document]
        for key in path[:-1]:
            if key not in tables[-1]:
                return text
            tables.append(tables[-1][key])
        if path[-1] not in tables[-1]:
            return text
        del tables[-1][path[-1]]
        return tomlkit.dumps(document)


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise Broken(str(error)) from None
