"""What `status` loads when it is started as people start it."""

from __future__ import annotations

import subprocess
import sys

import pytest

UNASKED = {"_random", "ast", "dis", "ipaddress", "random", "tokenize", "tomllib"}
"""Of the standard library: what others import for what a look never comes to."""


@pytest.mark.e2e
def test_looking_at_the_state_leaves_what_others_import_for_nothing_unloaded(ledger):
    """Neither the parser of Python, nor distributions of chance, nor a reader of a file that is not there."""
    words = [sys.executable, "-X", "importtime", "-m", "counterpoint", "status"]
    done = subprocess.run(words, capture_output=True, check=True, text=True)
    assert done.stdout
    timed = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "dataclasses" in timed
    assert timed & UNASKED == set()
