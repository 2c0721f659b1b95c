"""Stops itself in the middle of a transaction, as a machine that sleeps; says what it hears when it wakes.

    python frozen.py FOLDER DB

It stops (SIGSTOP) between two notes of one call; woken, it writes how that call ended, repeats it under the
same idempotency key, and writes how that ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from acts import identity, open_shifted

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note
from counterpoint.kernel.errors import CounterpointError


def call(core: Core, *, stops: bool) -> str:
    """Answer how a call ends that writes two notes."""

    def run() -> str:
        core.journal.append(Note(kind="finding", body="frozen 1"))
        if stops:
            os.kill(os.getpid(), signal.SIGSTOP)
        core.journal.append(Note(kind="finding", body="frozen 2"))
        return "done"

    try:
        return str(core.once("frozen", {}, run))
    except CounterpointError as refusal:
        return f"{type(refusal).__name__} {refusal.retryable}"


app = open_shifted(sys.argv[1], sys.argv[2])
core = app.core(identity("frozen"))
for stops in (True, False, False):
    sys.stdout.write(json.dumps(call(core, stops=stops)) + "\n")
    sys.stdout.flush()
app.close()
