"""The command line in a terminal of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.terminal import Open, Terminal


@pytest.fixture
def at(ledger: Path) -> Iterator[Open]:
    """Start the command line in a terminal of its own."""
    opened: list[Terminal] = []

    def open_(*words: str, **environ: str) -> Terminal:
        command = [sys.executable, "-m", "counterpoint", *words]
        opened.append(Terminal(command, ledger, dict(os.environ) | environ))
        return opened[-1]

    yield open_
    for terminal in opened:
        terminal.kill()
