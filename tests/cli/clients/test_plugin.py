"""The plugin folder for Claude Code says what `counterpoint init` would write."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

from counterpoint import __version__

ROOT = Path(__file__).parents[3]


def test_the_plugin_is_what_the_tables_say() -> None:
    """`make pages` writes it anew; the marketplace leads to it."""
    written = runpy.run_path(str(ROOT / "scripts" / "plugin.py"))
    folder = written["FOLDER"]
    for name, document in written["documents"]().items():
        assert json.loads((folder / name).read_text(encoding="utf-8")) == document
    about = json.loads((folder / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert about["version"] == __version__
    shop = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    (plugin,) = shop["plugins"]
    assert (ROOT / plugin["source"]).resolve() == folder.resolve()
