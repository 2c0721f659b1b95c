"""The relay is the standard library and itself, or it could not start at once."""

from __future__ import annotations

import json
import subprocess
import sys

SLOW = {
    *("typing", "pathlib", "threading", "subprocess", "asyncio", "logging", "argparse", "click"),
    *("selectors", "socket"),
}
"""What each of its starts would pay for, in time or memory."""


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
    ours = {name for name in loaded if name.startswith("counterpoint.")}
    assert {name for name in ours if not name.startswith("counterpoint.relay")} == {
        "counterpoint.kernel",
        "counterpoint.kernel.listing_cache",
        "counterpoint.kernel.ownership",
        "counterpoint.kernel.places",
        "counterpoint.kernel.releases",
        "counterpoint.kernel.client_session",
        "counterpoint.kernel.tool_scopes",
        "counterpoint.kernel.lost_calls",
        "counterpoint.kernel.starting",
        "counterpoint.kernel.starting.programs",
        "counterpoint.kernel.starting.signals",
    }
