"""What `status` loads when it is started as people start it."""

from __future__ import annotations

import subprocess
import sys

import pytest

UNASKED = {"_random", "ast", "cryptography", "dis", "random", "shlex", "tokenize", "tomllib"}
"""What others import for what a look never comes to: what the signer keeps himself needs no check of a signature."""


@pytest.mark.e2e
def test_looking_at_the_state_leaves_what_others_import_for_nothing_unloaded(ledger):
    """Neither the parser of Python, nor distributions of chance, nor a reader of a file that is not there."""
    words = [sys.executable, "-X", "importtime", "-m", "counterpoint", "status"]
    done = subprocess.run(words, capture_output=True, check=True, text=True)
    assert done.stdout
    timed = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "dataclasses" in timed
    assert timed & UNASKED == set()


@pytest.mark.e2e
def test_what_is_put_off_stays_unloaded(ledger):
    """Networks are compared where a token names some, which a look at the state never does."""
    look = (
        "import os, sys\n"
        "from counterpoint import __main__\n"
        "names = ('inspect', 'ipaddress', 'secrets')\n"
        "os._exit = lambda _code: print([n for n in names if len(vars(sys.modules[n])) > 20])\n"
        "sys.argv = ['counterpoint', 'status']\n"
        "__main__.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
