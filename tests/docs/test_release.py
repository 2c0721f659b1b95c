"""What `make release-check` asks of pip, pipx and uv: the versions that are locked, without their hashes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_lock_limits_versions_without_hashes() -> None:
    """Every pin of the lock is there with its marker, on a line that pip reads as a constraint."""
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    release = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(release)
    locked = (ROOT / "requirements" / "run.txt").read_text("utf-8")
    limits = release._without_hashes(locked).splitlines()
    assert [line.split("==")[0] for line in limits] == re.findall(
        r"^([\w.\[\]-]+)==", locked, re.MULTILINE
    )
    assert [line for line in limits if "--hash" in line or line.endswith("\\")] == []
    assert "colorama==0.4.6 ; " in release._without_hashes(
        "colorama==0.4.6 ; x == 'y' \\\n  --hash=sha256:a\n"
    )
