"""A `.git` that is no repository is told wherever somebody begins."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.e2e import wire

COUNTERPOINT = [sys.executable, "-P", "-m", "counterpoint"]


def run_command(folder: Path, *words: str) -> str:
    """Run a command in a folder; return all that it said."""
    ran = subprocess.run(
        [*COUNTERPOINT, *words],
        cwd=folder,
        env={**os.environ, "HOME": str(folder.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ran.stdout


@pytest.mark.e2e
def test_a_git_that_leads_nowhere_is_told_by_init_status_doctor_and_to_agents(
    tmp_path: Path,
) -> None:
    """With its path and what to do; evidence is hashes until then, and says why."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text("gitdir: ../moved/.git/worktrees/tree\n")
    fault = f"{tree}/.git leads to {tmp_path}/moved/.git/worktrees/tree, which is not there"
    for words in (("init", "--yes"), ("status",), ("doctor",)):
        # A table breaks lines, and a phrase may stand over two.
        said = "".join(run_command(tree, *words).split())
        assert "".join(fault.split()) in said, words
        assert "gitworktreerepair" in said, words
    run_command(tree, "add", "a task")
    for words in ((), ("--in-process",)):
        with closing(wire.Client(tree, [*COUNTERPOINT, "mcp", *words])) as client:
            client.greet()
            task = client.call("list")["items"][0]["id"]
            assert fault in client.stderr()
            if not words:
                started = client.call("start", id=task)
                assert fault in str(started)
    run_command(tree, "down")
