"""The process of an agent: connects, calls tools and runs commands as it is told, as children of its own.

Each line on standard input is an order, a JSON object, and is answered by one line:

    {"connect": name, "words": [...]}          starts `counterpoint mcp` with these words; "environ": and variables;
                                               "before": what stands before `mcp`
    {"disconnect": name}                       ends it
    {"call": name, "tool": tool, "arguments"}  answers {"answer"}, or {"refused"} with the refusal
    {"run": [...]}                             runs a command, answers {"code", "out", "err"}
    {"hire": name, "through": [...]}           starts another such process, behind these words
    {"tell": name, "order": {...}}             has that one obey, and answers what it did
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


hired: dict[str, subprocess.Popen[str]] = {}


def obey(order: dict[str, Any], clients: dict[str, wire.Client]) -> dict[str, Any]:
    """Do what an order says and answer what came of it."""
    if "disconnect" in order:
        clients.pop(order["disconnect"]).close()
    elif "connect" in order:
        client = clients[order["connect"]] = wire.Client(
            Path.cwd(),
            (*wire.SERVER[:-1], *order.get("before", ()), "mcp", *order["words"]),
            order.get("environ"),
        )
        client.greet(CLIENT)
    elif "call" in order:
        try:
            return {"answer": clients[order["call"]].call(order["tool"], **order["arguments"])}
        except wire.Refused as refused:
            return {"refused": refused.answer}
    elif "hire" in order:
        words = [*order["through"], sys.executable, __file__]
        hired[order["hire"]] = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    elif "tell" in order:
        other = hired[order["tell"]]
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write(json.dumps(order["order"]) + "\n")
        other.stdin.flush()
        return json.loads(other.stdout.readline())
    else:
        ran = subprocess.run(order["run"], capture_output=True, text=True, check=False, timeout=60)
        return {"code": ran.returncode, "out": ran.stdout, "err": ran.stderr}
    return {}


def main() -> None:
    """Obey until the input ends."""
    clients: dict[str, wire.Client] = {}
    for line in sys.stdin:
        order = json.loads(line)
        sys.stdout.write(json.dumps(obey(order, clients)) + "\n")
        sys.stdout.flush()
    for client in clients.values():
        client.close()
    for other in hired.values():
        other.communicate(timeout=60)


if __name__ == "__main__":
    main()
