"""A check that is cancelled while its command runs: a receipt tells what it left and what was put back, and no gate moves."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from counterpoint.app import App, open_app
from counterpoint.core.model.journal import Receipt
from counterpoint.evidence.running.configuration import read_checking

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

PATIENCE_SECONDS = 60.0


def find_entry(app: App) -> dict[str, Any]:
    """Return the facts of a check once it is written: nobody waits for the call that it is of."""
    pause, end = threading.Event(), monotonic() + PATIENCE_SECONDS
    while monotonic() < end:
        for entry in app.itself().audit.log(limit=50):
            if entry.action.startswith("check."):
                return {"action": entry.action, **dict(entry.facts)}
        pause.wait(0.05)
    raise AssertionError("no receipt was written")


def test_a_cancelled_check_tells_what_was_put_back(
    folder: Path, connect: Callable[..., Any], tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "counterpoint.toml").write_text("[checks]\nfree = true\n")
    app = open_app(folder, os.environ)
    app.itself().projects.trust(read_checking(folder), os.environ["PATH"])
    app.close()
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    client = connect(folder)
    script = f"echo ../evil > .git/commondir; echo > {begun}; exec sleep 100"
    arguments = {"command": ["sh", "-c", script]}
    number = client.send("tools/call", {"name": "verify", "arguments": arguments})
    begun.read_text()
    told = {"method": "notifications/cancelled", "params": {"requestId": number}}
    client.write(json.dumps({"jsonrpc": "2.0", **told}).encode())
    app = open_app(folder, os.environ)
    entry = find_entry(app)
    receipt = app.itself().overview.find(Receipt, entry["receipt"])
    app.close()
    assert receipt is not None
    assert (entry["action"], entry["gate"]) == ("check.failed", "")
    assert receipt.ended_for == "its call was cancelled"
    assert any(".git/commondir.left-by-a-check" in remark for remark in receipt.remarks)
    assert not (folder / ".git/commondir").exists()
