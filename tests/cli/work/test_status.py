"""What `status` loads when it is started as people start it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has files of two accounts")
def test_a_repository_that_git_refuses_is_told_with_the_words_of_git(call, ledger):
    assert call("status", "--json").json["git"] == ""
    os.chown(ledger / ".git", 61_003, 61_003)
    assert "safe.directory" in call("status", "--json").json["git"]
    warning = call("status").out.partition("\nGit: ")[2]
    assert warning.startswith(
        "evidence is a comparison of file hashes until this is mended: git refuses"
    )
    assert "dubious ownership" in warning


def test_a_title_that_no_entry_knows_is_not_called_redacted(call, ledger):
    """What was taken away is; the audit says what was changed behind the ledger."""
    assert call("audit", "redact", "harbour-6", "--reason", "secret").code == 0
    with closing(sqlite3.connect(ledger / ".counterpoint/ledger.db")) as link, link:
        link.execute("UPDATE items SET title = randomblob(16) WHERE id = 'harbour-5'")
    for words in (("status",), ("list",), ("show", "harbour-5")):
        assert "[not as recorded: `counterpoint audit verify`]" in call(*words).out
    titles = {item["id"]: item["title"] for item in call("list", "--json").json["items"]}
    assert titles["harbour-6"] == "[redacted]"


def test_a_repository_without_a_git_to_read_it_is_told(call, ledger, monkeypatch, tmp_path):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert "not installed" in call("status").out
    shutil.rmtree(ledger / ".git")
    assert "Git:" not in call("status").out
