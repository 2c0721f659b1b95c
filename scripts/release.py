"""Check what would be released: version, changelog, builds, contents, and a start from the wheel.

Every step says what it found. Nothing is published, and nothing is written outside of a folder of its own.
`python scripts/release.py VERSION` also asks that the version and the newest section of the changelog are VERSION.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from counterpoint import __version__

ROOT = Path(__file__).parent.parent
_BUILD = "import sys, hatchling.build as b; getattr(b, sys.argv[1])(sys.argv[2])"
_DIALECTS = ("agentic", "colibri", "foundry", "native", "symphony", "workflow")
WHOLE = (
    "counterpoint/py.typed",
    "counterpoint/core/ledger/verify.html",
    *(f"counterpoint/listings/{name}.json" for name in _DIALECTS),
    *(f"share/doc/counterpoint/tools/{name}.md" for name in _DIALECTS),
    "counterpoint/evidence/templates/refactoring.yaml",
    "counterpoint/storage/sqlite/migrations/013_first.sql",
    "counterpoint/storage/postgres/migrations/013_first.sql",
    "counterpoint/providers/embedding/static_256/weights.npy",
    "licenses/LICENSE",
)
"""Ends of names of files that a wheel has."""
_PRIVATE = re.compile(rb"/(?:home|Users|root|tmp)/[a-z0-9_.-]+/", re.IGNORECASE)
"""A place on somebody's machine."""
_ASKED = 2
_PATIENCE = 300


class Unfit(Exception):
    """What was found cannot be released."""


def run(*words: str, **more: Any) -> str:
    """Return what a command prints; Unfit with its last words if it fails."""
    ran = subprocess.run(  # noqa: S603 every command of this file is written in it
        words, capture_output=True, text=True, check=False, **more
    )
    if ran.returncode:
        raise Unfit(f"{' '.join(words[:4])} … ended with {ran.returncode}: {ran.stderr[-2_000:]}")
    return str(ran.stdout)


def check_version(asked: str) -> str:
    """Refuse a version that is not the one asked for, and a changelog that has no section of it."""
    newest = re.findall(
        r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )[0]
    if asked and (__version__ != asked or newest != asked):
        raise Unfit(
            f"the version is {__version__}, the changelog begins with {newest}, not {asked}"
        )
    return f"{__version__}; the changelog begins with {newest}"


def build(source: Path, folder: Path, kind: str, environ: Mapping[str, str]) -> Path:
    """Return what the build backend makes of a source."""
    folder.mkdir()
    run(sys.executable, "-c", _BUILD, f"build_{kind}", str(folder), cwd=source, env=environ)
    (made,) = folder.iterdir()
    return made


def check_builds(folder: Path) -> tuple[Path, str]:
    """Return the wheel, built alike from the checkout and from the sdist, at other times and in other places."""
    environ = dict(os.environ)
    sdist = build(ROOT, folder / "sdist", "sdist", environ)
    wheel = build(ROOT, folder / "wheel", "wheel", environ)
    with tarfile.open(sdist) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    later = {**environ, "TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    again = build(source, folder / "again", "wheel", later)
    digests = [sha256(path.read_bytes()).hexdigest() for path in (wheel, again)]
    if digests[0] != digests[1]:
        raise Unfit(f"two builds differ: {_different(wheel, again)}")
    return wheel, f"{wheel.name}, {wheel.stat().st_size:,} bytes, SHA-256 {digests[0]}, twice"


def _different(one: Path, other: Path) -> list[str]:
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        names = {*first.namelist()} ^ {*second.namelist()}
        both = {*first.namelist()} & {*second.namelist()}
        return sorted(names | {name for name in both if first.read(name) != second.read(name)})[:9]


def check_contents(wheel: Path) -> str:
    """Refuse a wheel that lacks something, or has a test, a cache or a place on a machine in it."""
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        lacks = [end for end in WHOLE if not any(name.endswith(end) for name in names)]
        strange = [name for name in names if "__pycache__" in name or name.startswith("tests/")]
        private = [
            name
            for name in names
            if name.startswith("counterpoint/") and _PRIVATE.search(packed.read(name))
        ]
    if lacks or strange or private:
        raise Unfit(f"lacks {lacks}, has {strange[:5]}, names a machine in {private[:5]}")
    return f"{len(names)} files"


def install(wheel: Path, made: Path) -> Path:
    """Make an environment with the wheel and what it needs alone; return the folder of its programs."""
    uv = str(Path(sys.executable).parent / "uv")
    run(uv, "venv", "--quiet", "--python", sys.executable, str(made))
    into = (uv, "pip", "install", "--quiet", "--python", str(made / "bin" / "python"))
    run(*into, "--require-hashes", "-r", str(ROOT / "requirements" / "run.txt"))
    run(*into, "--no-deps", str(wheel))
    return made / "bin"


def check_start(wheel: Path, folder: Path) -> str:
    """Install the wheel alone into a new environment, and use it as its first user would."""
    home, tree = folder / "home", folder / "project"
    home.mkdir()
    tree.mkdir()
    programs = install(wheel, folder / "environment")
    kept = {name: value for name, value in os.environ.items() if name in {"LANG", "TERM"}}
    path = f"{programs}:{Path(shutil.which('git') or '/usr/bin/git').parent}:/usr/bin:/bin"
    environ = {**kept, "HOME": str(home), "PATH": path, "COUNTERPOINT_IDLE_MINUTES": "0"}

    def use(*words: str, **more: Any) -> str:
        return run(*words, cwd=tree, env=environ, **more)

    use("git", "init", "-q")
    said = json.loads(use("counterpoint", "version", "--json"))
    if said["version"] != __version__:
        raise Unfit(f"it says that it is {said['version']}")
    use("counterpoint", "init", "--yes", "--client", "claude", "--hooks")
    entry = json.loads((tree / ".mcp.json").read_text("utf-8"))["mcpServers"]["counterpoint"]
    tools = _listed(use, [entry["command"], *entry["args"]])
    use("counterpoint", "audit", "verify")
    use("counterpoint", "prime", "--hook", "claude", input="{}")
    use("counterpoint", "init", "--remove", "--yes")
    left = sorted(one.name for one in tree.iterdir())
    if left != [".counterpoint", ".git"]:
        raise Unfit(f"after --remove there is {left}")
    return f"installed, set up, {tools} tools listed, verified, taken out again"


def check_installers(wheel: Path, folder: Path) -> str:
    """Install the wheel as people do, with pip, pipx and uv, start it, and take it out again by the tool's own command."""
    uv, made = str(Path(sys.executable).parent / "uv"), folder / "installed"
    made.mkdir()
    versions = made / "versions.txt"
    versions.write_text(_without_hashes((ROOT / "requirements" / "run.txt").read_text("utf-8")))
    environ = {
        **os.environ,
        "HOME": str(made / "home"),
        "PIPX_HOME": str(made / "pipx"),
        "PIPX_BIN_DIR": str(made / "pipx-bin"),
        "UV_TOOL_DIR": str(made / "tools"),
        "UV_TOOL_BIN_DIR": str(made / "uv-bin"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    pip = str(made / "plain" / "bin" / "pip")
    run(sys.executable, "-m", "venv", str(made / "plain"))
    pipx = (uv, "tool", "run", "--quiet", "pipx")
    limits = f"--quiet --constraint {versions}"
    ways = {
        "pip": (
            (pip, "install", *limits.split(), str(wheel)),
            (pip, "uninstall", "--quiet", "--yes", "counterpoint"),
            made / "plain" / "bin",
        ),
        "pipx": (
            (*pipx, "install", f"--pip-args={limits}", "--python", sys.executable, str(wheel)),
            (*pipx, "uninstall", "counterpoint"),
            made / "pipx-bin",
        ),
        "uv tool": (
            (uv, "tool", "install", "--quiet", "--constraints", str(versions), str(wheel)),
            (uv, "tool", "uninstall", "--quiet", "counterpoint"),
            made / "uv-bin",
        ),
    }
    for name, (puts_in, takes_out, programs) in ways.items():
        run(*puts_in, env=environ, timeout=_PATIENCE)
        said = run(str(programs / "counterpoint"), "version", "--json", env=environ)
        if json.loads(said)["version"] != __version__:
            raise Unfit(f"installed with {name} it says {said}")
        run(*takes_out, env=environ, timeout=_PATIENCE)
        if (programs / "counterpoint").exists():
            raise Unfit(f"{name} left the program behind")
    return f"{', '.join(ways)}: installed, started, taken out"


def _without_hashes(locked: str) -> str:
    """Return a lock as limits of versions: a wheel that lies here has no hash that could be asked for."""
    lines = (line.removesuffix("\\").strip() for line in locked.splitlines())
    return "".join(f"{line}\n" for line in lines if "==" in line)


def _listed(use: Callable[..., str], command: list[str]) -> int:
    """Return how many tools the server lists that a client starts."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "r", "version": "1"},
    }
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": _ASKED, "method": "tools/list", "params": {}},
    ]
    said = use(*command, input="".join(json.dumps(one) + "\n" for one in messages), timeout=60)
    answers = [json.loads(line) for line in said.splitlines()]
    (found,) = (one["result"]["tools"] for one in answers if one.get("id") == _ASKED)
    return len(found)


def main(asked: str) -> int:
    """Go through every step; 1 with the first that fails."""
    with tempfile.TemporaryDirectory(prefix="release-") as name:
        folder = Path(name)
        try:
            print("version: ", check_version(asked))
            wheel, found = check_builds(folder)
            print("builds:  ", found)
            print("contents:", check_contents(wheel))
            print("start:   ", check_start(wheel, folder))
            print("install: ", check_installers(wheel, folder))
        except Unfit as fault:
            print(f"This cannot be released: {fault}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
