"""`--agent`: the shim's end of the connection that holds its credential."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bus.limits import shim_repeats_max
from nexus.gateway import person_lease
from nexus.shim import lease
from nexus.shim.agents_socket import NotListening
from nexus.shim.lease import LeasedToken
from nexus.shim.token import NoToken, NotYet
from tests.support.waiting import eventually

LENT = {"event": {"agentId": "a1", "name": "Ada", "credential": "mcp-1", "token": "nx_a1_secret"}}


class PersonSocket:
    """Answers each connection with the next answer and keeps it open until told."""

    def __init__(self, path: Path) -> None:
        self.asked: list[dict[str, Any]] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(8)

    def serve(self, answer: dict[str, Any]) -> socket.socket:
        """Take one connection, and answer its request."""
        self._listening.settimeout(10)
        connection, _ = self._listening.accept()
        connection.settimeout(10)
        with connection.makefile("rb") as lines:
            self.asked.append(json.loads(lines.readline()))
        connection.sendall(json.dumps(answer).encode() + b"\n")
        return connection

    def close(self) -> None:
        self._listening.close()


@contextmanager
def person_socket(path: Path) -> Iterator[PersonSocket]:
    person = PersonSocket(path)
    try:
        yield person
    finally:
        person.close()


def current(token: LeasedToken) -> str:
    def look() -> str | None:
        try:
            return token.current()
        except (NotYet, NotListening):
            return None

    return eventually(look, what="a token")


def test_the_verb_is_the_gateways() -> None:
    assert person_lease.VERB == lease.VERB


def test_a_broken_connection_is_made_again_with_what_was_lent(tmp_path: Path) -> None:
    """decision 0012: a gateway that was started anew lends the same again."""
    with person_socket(tmp_path / "s") as person:
        token = LeasedToken(lambda: tmp_path / "s", "Ada", "Website")
        first = person.serve(LENT)
        assert current(token) == "nx_a1_secret"
        assert not token.has_other_than("nx_a1_secret", time.monotonic_ns()), "it was revoked while it is held"
        shown_ns = time.monotonic_ns()
        first.close()
        with person.serve(LENT):
            assert current(token) == "nx_a1_secret"
            eventually(lambda: len(person.asked) == 2)
            assert token.has_other_than("nx_a1_secret", shown_ns), "refused before the next gateway had lent it again"
            assert not token.has_other_than("nx_a1_secret", time.monotonic_ns())
        asked = {"agent": "Ada", "workspace": "Website"}
        assert [one["arguments"] for one in person.asked[:2]] == [
            asked,
            {**asked, "credential": "mcp-1", "token": "nx_a1_secret"},
        ]


def test_a_refusal_is_for_good_and_told_in_the_gateways_words(tmp_path: Path) -> None:
    with person_socket(tmp_path / "s") as person:
        token = LeasedToken(lambda: tmp_path / "s", "Ada", None)
        person.serve({"error": {"code": "not_found", "message": "There is no agent of that name."}}).close()

        def told() -> str | None:
            try:
                token.current()
            except NoToken as reason:
                return str(reason)
            except NotYet:
                return None
            return None

        assert eventually(told) == "There is no agent of that name."
        assert person.asked[0]["arguments"] == {"agent": "Ada"}


def denied(token: LeasedToken) -> str | None:
    try:
        token.current()
    except NoToken as reason:
        return str(reason)
    except (NotYet, NotListening):
        return None
    return None


def test_whoever_was_lent_one_before_is_not_sent_away_by_one_refusal(tmp_path: Path) -> None:
    """A busy system may not say in time which process asks."""
    no = {"error": {"code": "unidentified_caller", "message": "Who asks?"}}
    with person_socket(tmp_path / "s") as person:
        token = LeasedToken(lambda: tmp_path / "s", "Ada", None)
        person.serve(LENT).close()
        for _ in range(shim_repeats_max):
            person.serve(no).close()
        person.serve(LENT).close()
        for _ in range(shim_repeats_max + 1):
            person.serve(no).close()
        assert eventually(lambda: denied(token)) == "Who asks?", "but not for ever either"


def test_one_that_is_gone_is_gone_at_once(tmp_path: Path) -> None:
    """common 2.1: the person revoked it."""
    with person_socket(tmp_path / "s") as person:
        token = LeasedToken(lambda: tmp_path / "s", "Ada", None)
        person.serve(LENT).close()
        person.serve({"error": {"code": "not_found", "message": "It was revoked."}}).close()
        assert eventually(lambda: denied(token)) == "It was revoked."


def test_what_passes_is_tried_again(tmp_path: Path) -> None:
    with person_socket(tmp_path / "s") as person:
        token = LeasedToken(lambda: tmp_path / "s", "Ada", None)
        person.serve({"error": {"code": "unavailable", "message": "Later."}}).close()
        with person.serve(LENT):
            assert current(token) == "nx_a1_secret"


def test_nobody_listening_is_told_at_once_so_that_nexus_can_be_started(tmp_path: Path) -> None:
    token = LeasedToken(lambda: tmp_path / "none", "Ada", None)

    def is_absent() -> bool:
        try:
            token.current()
        except NotListening:
            return True
        except NotYet:
            return False
        return False

    eventually(is_absent)


def test_a_token_is_in_no_representation() -> None:
    """common 7.2"""
    assert "secret" not in repr(lease.Held("a1", "mcp-1", "nx_a1_secret"))


def test_another_users_person_socket_is_sent_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.10"""
    with person_socket(tmp_path / "s") as person:
        monkeypatch.setattr(lease, "os", _OsOfAnotherUser())
        token = LeasedToken(lambda: tmp_path / "s", "Ada", None)

        def is_refused() -> bool:
            try:
                token.current()
            except NoToken:
                return True
            except NotYet:
                return False
            return False

        eventually(is_refused)
        person._listening.settimeout(10)
        connection, _ = person._listening.accept()
        with connection:
            connection.settimeout(10)
            assert connection.recv(10) == b""


class _OsOfAnotherUser:
    @staticmethod
    def getuid() -> int:
        return os.getuid() + 1


def test_one_that_is_closed_is_given_back_and_not_asked_for_again(tmp_path: Path) -> None:
    """decision 0012"""
    others = {*threading.enumerate()}
    with person_socket(tmp_path / "s") as person:
        token = LeasedToken(lambda: tmp_path / "s", "Ada", None)
        [asking] = {*threading.enumerate()} - others
        with person.serve(LENT) as connection:
            assert current(token) == "nx_a1_secret"
            token.close()
            token.close()
            connection.settimeout(10)
            assert connection.recv(1) == b"", "its connection has ended"
        assert denied(token) == "The borrowed credential was given back."
        asking.join(10)
        assert not asking.is_alive()
        assert len(person.asked) == 1
