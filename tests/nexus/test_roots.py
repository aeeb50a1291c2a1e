"""Which folders may be a workspace's root."""

from __future__ import annotations

from pathlib import Path

import pytest

from nexus.roots import root_problem


@pytest.mark.parametrize(
    ("root", "told"),
    [
        ("user/site", None),
        ("elsewhere", None),
        ("user/data/nexus-2", None),
        ("user", "whole home folder"),
        (".", "whole home folder"),
        ("user/data", "home folder of NEXUS"),
        ("user/data/nexus", "home folder of NEXUS"),
        ("user/data/nexus/artifacts", "lies in the home folder of NEXUS"),
        ("link-to-home", "home folder of NEXUS"),
        ("link-to-artifacts", "lies in the home folder of NEXUS"),
        ("link-to-user", "home folder"),
        ("user/site/../data", "home folder of NEXUS"),
        ("file", "not a folder"),
        ("absent", "not a folder"),
    ],
)
@pytest.mark.parametrize("home_by_link", [False, True])
def test_neither_the_home_of_nexus_nor_of_the_person_is_part_of_a_root(
    tmp_path: Path, root: str, told: str | None, home_by_link: bool
) -> None:
    """security 2.17"""
    home, user = tmp_path / "user" / "data" / "nexus", tmp_path / "user"
    for folder in (home / "artifacts", user / "data" / "nexus-2", user / "site", tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "link-to-home").symlink_to(home)
    (tmp_path / "link-to-artifacts").symlink_to(home / "artifacts")
    (tmp_path / "link-to-user").symlink_to(user)
    found = root_problem(tmp_path / root, tmp_path / "link-to-home" if home_by_link else home, user)
    assert (found is None) if told is None else (found is not None and told in found)


def test_the_persons_home_is_no_root_when_that_of_nexus_lies_elsewhere_or_was_not_made(tmp_path: Path) -> None:
    """security 2.17"""
    user = tmp_path / "user"
    user.mkdir()
    for home in (tmp_path / "nexus", user / "not" / "made"):
        assert root_problem(user, home, user) is not None
        assert root_problem(tmp_path, home, user) is not None
