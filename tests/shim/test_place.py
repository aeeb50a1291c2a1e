"""The shim finds the home and its sockets as nexus/config.py does, without importing it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from nexus.config import HomeRefused, create_home, home_path, prepare_sockets
from nexus.shim.place import Place, home_of


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"NEXUS_HOME": "relative/home"},
        {"NEXUS_HOME": "~/elsewhere"},
        {"NEXUS_HOME": "/srv/../srv/nexus"},
        {"NEXUS_HOME": ""},
        {"XDG_DATA_HOME": "/srv/data"},
        {"XDG_DATA_HOME": " "},
    ],
)
@pytest.mark.parametrize("given", [None, "typed", "~/typed"])
def test_the_home_is_the_same(environment: dict[str, str], given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NEXUS_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert home_of(given, environment) == home_path(None if given is None else Path(given), environment)


def test_a_user_whom_nobody_knows_is_refused_by_both() -> None:
    with pytest.raises(ValueError, match="--home"):
        home_of("~nobody-of-that-name/x", {})
    with pytest.raises(HomeRefused):
        home_path(Path("~nobody-of-that-name/x"), {})


@pytest.mark.parametrize("depth", [1, 20])
def test_the_sockets_are_the_same_also_when_the_home_lies_too_deep_for_them(depth: int) -> None:
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:  # pytest's own is deep where several share the tests
        same_sockets(Path(folder) / Path(*["d" * 10] * depth), is_deep=depth == 20)


def same_sockets(path: Path, *, is_deep: bool) -> None:
    home = prepare_sockets(create_home(path, cores=1))
    place = Place(path)
    try:
        assert place.agents_socket() == home.mcp_socket and place.person_socket() == home.person_socket
        assert (home.run != path / "run") == is_deep
    finally:
        if home.run != path / "run":
            home.run.rmdir()


def test_a_socket_that_is_named_needs_no_home() -> None:
    assert Place(Path("/nowhere"), Path("/run/some.sock")).agents_socket() == Path("/run/some.sock")
