"""An agent without a model: a client of `counterpoint mcp` that makes the calls it is told, for pages, the walk and recordings.

    python3 scripts/agent.py NAME '["start", {"id": "4"}]' '["finish", {"id": "4", "token": "$token", …}]'

It needs the standard library only. `["shell", {"command": …}]` is what it does itself, without the server. `$token` and `$item`
stand for those of the last claim; what a shell runs has the second as ITEM.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

VERSION: Final = "2025-06-18"


class Refused(Exception):
    """A call was answered with an error."""


class Agent:
    """One MCP client with a server process of its own, as a coding agent starts it."""

    def __init__(
        self, name: str, folder: Path, environ: Mapping[str, str] | None = None, *words: str
    ) -> None:
        program = shutil.which("counterpoint", path=(environ or os.environ)["PATH"])
        if program is None:
            raise OSError("counterpoint is not on the PATH")
        self._process = subprocess.Popen(  # noqa: S603 -- the words are those of this file
            [program, "mcp", "--agent", name, *words], cwd=folder, env=environ, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("a process without pipes")
        self._in, self._out = self._process.stdin, self._process.stdout
        self._asked = 0
        self.token, self.item = 0, ""
        client = {"name": name, "version": "1"}
        self._ask(
            "initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tools(self) -> list[str]:
        """Return the names of the tools that the server lists."""
        return [tool["name"] for tool in self._ask("tools/list", {})["tools"]]

    def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return what it answers. Refused."""
        claim = {"$token": self.token, "$item": self.item}
        meant = {
            key: claim.get(value, value) if isinstance(value, str) else value
            for key, value in arguments.items()
        }
        said = self._ask("tools/call", {"name": tool, "arguments": meant})
        answer: dict[str, Any] = said.get("structuredContent") or json.loads(
            said["content"][0]["text"]
        )
        if said.get("isError"):
            raise Refused(json.dumps(answer))
        if isinstance(answer.get("claim"), dict):
            self.token, self.item = answer["claim"]["token"], answer["claim"]["item"]
        return answer

    def leaves(self) -> None:
        """Close the connection, as a client does that ends."""
        self._in.close()
        self._process.wait(30)

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self._send({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        for line in self._out:
            answer = json.loads(line)
            if answer.get("id") == self._asked and "method" not in answer:
                if "error" in answer:
                    raise Refused(line)
                return dict(answer["result"])
        raise Refused("the server has ended")

    def _send(self, message: dict[str, Any]) -> None:
        self._in.write(json.dumps(message) + "\n")
        self._in.flush()


def main(words: list[str]) -> int:
    """Make the calls one after the other, and say each answer on a line; 1 with the first that is refused."""
    agent = Agent(words[0], Path.cwd())
    try:
        for word in words[1:]:
            tool, arguments = json.loads(word)
            if tool == "shell":
                environ = {**os.environ, "ITEM": agent.item}
                subprocess.run(["/bin/sh", "-c", arguments["command"]], check=True, env=environ)  # noqa: S603 -- told by who runs this
                continue
            print(json.dumps(agent.does(tool, **arguments)))
    except Refused as fault:
        print(fault, file=sys.stderr)
        return 1
    finally:
        agent.leaves()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
