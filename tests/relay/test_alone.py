"""The relay is the standard library and itself, or it could not start at once."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import counterpoint

RELAY = Path(counterpoint.__file__).parent / "relay"
SLOW = {"typing", "pathlib", "threading", "subprocess", "asyncio", "logging", "argparse", "click"}
"""What each of its starts would pay for."""


def imports(tree: ast.AST) -> Iterator[str]:
    """Answer every module that a file names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_it_names_nothing_but_the_standard_library_and_itself():
    """Not even the ground floor: what a relay needs of it, it has of its own."""
    named = {
        name
        for path in RELAY.glob("*.py")
        for name in imports(ast.parse(path.read_text("utf-8")))
        if name.partition(".")[0] not in sys.stdlib_module_names
    }
    assert {name for name in named if not name.startswith("counterpoint.relay.")} == {
        "counterpoint"
    }


def test_its_start_loads_nothing_slow(tmp_path):
    """Seen in a fresh process, after a handshake."""
    program = (
        "import sys, json\n"
        "from counterpoint.relay.start import main\n"
        f"main(['--db', {str(tmp_path / 'x.db')!r}], {{}})\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    loaded = set(json.loads(ran.stdout))
    assert loaded & SLOW == set()
    ours = {name for name in loaded if name.startswith("counterpoint")}
    assert all(name == "counterpoint" or name.startswith("counterpoint.relay") for name in ours)
