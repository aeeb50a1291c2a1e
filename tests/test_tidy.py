"""The shape of the code, held by a test (STYLE 8 to 10, 12). Numbers here are only ever lowered."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source import syntax_of

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("bus", "tools", "actors", "nexus")

file_lines_max = 400
function_lines_max = 60

# Older than the rule. Take names out, never in.
BANNED_NAMES = re.compile(r"(^|_)(utils?|helpers?|managers?|commons?|misc)($|_)")
TOP_LEVEL = {
    *(".ci", ".github", ".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"),
    *("requirements.lock", "docs", "tests", *PRODUCT),
}
# Put together here, so that this file does not hold what it looks for.
MACHINE_PATH = re.compile(
    "(?<![\\w.~-])/(?:" + "|".join(["work", "root", "home/[a-z]\\w*", "Users/[a-z]\\w*"]) + ")(?=/)"
)
REGISTRIES = [
    ".".join(name) for name in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("yarnpkg", "com"))
]


@functools.cache
def project_files() -> tuple[Path, ...]:
    """Every file that is or would be committed."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return tuple(path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file())


def python_files(*folders: str) -> list[Path]:
    return [
        path
        for path in project_files()
        if path.suffix == ".py" and (not folders or path.relative_to(ROOT).parts[0] in folders)
    ]


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return syntax_of(path)


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def none_of(found: list[str], why: str) -> None:
    if found:
        pytest.fail(f"{why}:\n  " + "\n  ".join(found), pytrace=False)


def public_definitions(body: list[ast.stmt]) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node


def test_files_are_short() -> None:
    counts = [(path, len(path.read_text(encoding="utf-8").splitlines())) for path in python_files()]
    found = [place(path, count) for path, count in counts if count > file_lines_max]
    none_of(found, f"files over {file_lines_max} lines")


def test_functions_are_short() -> None:
    found = [
        f"{place(path, node.lineno)} {node.name}: {node.end_lineno - node.lineno + 1}"
        for path in python_files()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= function_lines_max
    ]
    none_of(found, f"functions over {function_lines_max} lines")


def test_names_say_what_a_file_is_about() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in python_files()
        for part in path.relative_to(ROOT).with_suffix("").parts
        if BANNED_NAMES.search(part)
    }
    none_of(sorted(found), "names that say nothing")


def test_every_module_says_what_it_is() -> None:
    found = [place(path, 1) for path in python_files() if tree_of(path).body and not ast.get_docstring(tree_of(path))]
    none_of(found, "modules without a docstring")


def test_public_classes_with_behaviour_say_what_they_are() -> None:
    """Records whose name and fields say all (models of arguments, rows) may go without."""
    found = [
        f"{place(path, node.lineno)} {node.name}"
        for path in python_files(*PRODUCT)
        for node in public_definitions(tree_of(path).body)
        if isinstance(node, ast.ClassDef) and not ast.get_docstring(node)
        if any(
            isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and not part.name.startswith("_")
            for part in node.body
        )
    ]
    none_of(found, "public classes without a docstring")


def test_tests_wait_for_conditions_and_never_sleep() -> None:
    found = [
        place(path, node.lineno)
        for path in python_files("tests")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in {"time.sleep", "sleep", "asyncio.sleep", "anyio.sleep"}
        # A sleep of 0 only lets others run.
        and not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)
    ]
    none_of(found, "sleeps in tests")


def test_tests_use_no_fixed_port() -> None:
    found = [
        place(path, node.lineno)
        for path in python_files("tests")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Tuple | ast.List)
        for host, port in zip(node.elts, node.elts[1:], strict=False)
        if isinstance(host, ast.Constant)
        and host.value in ("127.0.0.1", "localhost", "0.0.0.0", "::1", "--port")
        and isinstance(port, ast.Constant)
        and str(port.value).isdigit()
        and int(str(port.value)) > 1023  # lower ones are not listened on here: HTTP statuses, peers
    ]
    none_of(found, "fixed ports in tests")


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    found = []
    for path in project_files():
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if MACHINE_PATH.search(line):
                found.append(f"{place(path, number)} a path of one machine")
            found += [f"{place(path, number)} {host}" for host in REGISTRIES if host in line]
    none_of(found, "paths of one machine, or package registries")


def test_the_top_level_holds_only_what_belongs_there() -> None:
    found = {path.relative_to(ROOT).parts[0] for path in project_files()} - TOP_LEVEL
    none_of(sorted(found), "unexpected at the top level")


def test_what_the_machine_path_rule_finds() -> None:
    user = "some" + "one"
    for text in (f"/home/{user}/x", f"'/Users/{user}/x'", "cd " + "/wor" + "k/main", "=/roo" + "t/.cache"):
        assert MACHINE_PATH.search(text), text
    for text in ("https://x.example/home/a", "tests/work/plan", "/home/<user>/x", "/homework/x", "~/work/x"):
        assert not MACHINE_PATH.search(text), text
