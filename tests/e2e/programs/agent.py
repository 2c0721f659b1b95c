"""The process of an agent: connects, calls tools and runs commands as it is told, as children of its own.

Each line on standard input is an order, a JSON object, and is answered by one line:

    {"connect": name, "words": [...]}          starts `counterpoint mcp` with these words
    {"call": name, "tool": tool, "arguments"}  answers {"answer"}, or {"refused"} with the refusal
    {"run": [...]}                             runs a command, answers {"code", "out", "err"}
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import wire

CLIENT = "claude-code"
"""What every agent calls itself: a name proves nothing."""


def obey(order: dict[str, Any], clients: dict[str, wire.Client]) -> dict[str, Any]:
    """Do what an order says and answer what came of it."""
    if "connect" in order:
        client = clients[order["connect"]] = wire.Client(
            Path.cwd(), (*wire.SERVER, *order["words"])
        )
        client.greet(CLIENT)
        return {}
    if "call" in order:
        try:
            return {"answer": clients[order["call"]].call(order["tool"], **order["arguments"])}
        except wire.Refused as refused:
            return {"refused": refused.answer}
    ran = subprocess.run(order["run"], capture_output=True, text=True, check=False, timeout=60)
    return {"code": ran.returncode, "out": ran.stdout, "err": ran.stderr}


def main() -> None:
    """Obey until the input ends."""
    clients: dict[str, wire.Client] = {}
    for line in sys.stdin:
        order = json.loads(line)
        sys.stdout.write(json.dumps(obey(order, clients)) + "\n")
        sys.stdout.flush()
    for client in clients.values():
        client.close()


if __name__ == "__main__":
    main()
