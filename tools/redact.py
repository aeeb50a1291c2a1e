"""Credentials in outgoing text replaced by a visible form that names the rule (common 7.2).

Redacting never makes a text longer, so that bounds on what was stored hold for what is shown: where the form is longer
than what it stands for, a shorter one is taken. It is done before anything is cut, or half a key would pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bus.value import Value
from tools.secret_rules import RULES, Rule
from tools.secrets import Found, find_secrets, secret_characters_max

_SHORT: Final = "[redacted]"
_BETWEEN: Final = "\x00\n\x00"
"""No secret goes on over it, so that many strings are looked at as one."""


def redacted(text: str, rules: tuple[Rule, ...] = RULES) -> str:
    """`text` with every credential replaced."""
    found = find_secrets(text, rules)
    return _replaced(text, found, len(text)) if found else text


def redacted_beginning(text: str, limit: int) -> str:
    """What can be shown of the first `limit` characters of `text`; a secret that begins there is replaced whole."""
    found = [one for one in find_secrets(text[: limit + secret_characters_max]) if one[1] < limit]
    return _replaced(text, found, limit)


def redacted_data(value: Value, rules: tuple[Rule, ...] = RULES) -> Value:
    """`value` with the credentials in all its texts replaced, names of fields included; itself if there are none."""
    return _data(value, rules) if find_secrets(_BETWEEN.join(_texts(value)), rules) else value


def _replaced(text: str, found: list[Found], end: int) -> str:
    parts: list[str] = []
    at = 0
    for rule_id, start, behind in found:
        parts += text[at:start], _form(rule_id, behind - start)
        at = behind
    return "".join([*parts, text[at:end]])


def _form(rule_id: str, length: int) -> str:
    whole = f"[redacted: {rule_id}]"
    return whole if len(whole) <= length else _SHORT if len(_SHORT) <= length else "*" * length


def _texts(value: Value) -> Iterator[str]:
    # A stack instead of recursion: the depth of hostile data must not become ours.
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, dict):
            yield from node
            pending.extend(node.values())


def _data(value: Value, rules: tuple[Rule, ...]) -> Value:
    """As deep as data may be that reaches NEXUS (json_depth_max)."""
    match value:
        case str():
            return redacted(value, rules)
        case list():
            return [_data(item, rules) for item in value]
        case dict():
            # A number keeps apart the fields whose names become the same; a field that has that name already gives way.
            shown: dict[str, Value] = {}
            for number, (name, item) in enumerate(value.items()):
                seen = redacted(name, rules)
                shown[f"{seen} {number}" if seen in shown else seen] = _data(item, rules)
            return shown
        case _:
            return value
