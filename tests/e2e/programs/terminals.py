"""A program that opens terminals for a person who was left by nobody: one command in each, as it is told on standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from fakes.terminal import Terminal

for line in sys.stdin:
    order = json.loads(line)
    terminal = Terminal(
        [sys.executable, "-m", "counterpoint", *order["words"]],
        Path(order["cwd"]),
        order["environ"],
    )
    for prompt, answer in order["answers"]:
        terminal.expect(prompt)
        terminal.type(answer)
    code = terminal.end()
    sys.stdout.write(json.dumps({"code": code, "seen": terminal.seen}) + "\n")
    sys.stdout.flush()
