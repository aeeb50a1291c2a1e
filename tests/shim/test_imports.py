"""The shim is the standard library and a few small modules of NEXUS, so that it is ready at once (decision 0012)."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

from tests.support.source import syntax_of

ROOT = Path(__file__).resolve().parents[2]
OURS = {"nexus", "nexus.peer", "bus", "bus.limits", "bus.token_file"}

LISTED = """
import json, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import nexus.shim
for module in pkgutil.iter_modules(nexus.shim.__path__):
    __import__("nexus.shim." + module.name)
print(json.dumps(sorted(name for name in sys.modules if name.split(".")[0] in ("nexus", "bus", "tools", "actors"))))
"""


def test_every_module_of_the_shim_works_without_any_installed_package() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LISTED, str(ROOT)], check=True, capture_output=True, text=True, timeout=60
    )
    loaded = {name for name in json.loads(done.stdout) if not name.startswith("nexus.shim")}
    assert loaded == OURS


def test_no_module_of_the_shim_imports_anything_else_even_late() -> None:
    allowed = {*sys.stdlib_module_names, *OURS}
    for path in sorted((ROOT / "nexus" / "shim").glob("*.py")):
        for node in ast.walk(syntax_of(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, path
                names = [node.module or ""]
            for name in names:
                known = name in allowed or name.split(".")[0] in sys.stdlib_module_names
                assert known or name.startswith("nexus.shim"), f"{path.name} imports {name}"


def test_the_command_reaches_the_shim_before_anything_heavy_is_imported() -> None:
    code = (
        "import sys; sys.argv = ['nexus', 'mcp', '--no-such-option']\n"
        "from nexus.__main__ import main\n"
        "try: main()\nexcept SystemExit as ended: print(ended.code, 'typer' in sys.modules, 'pydantic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["2", "False", "False"]
