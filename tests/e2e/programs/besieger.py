"""A client that can be killed: it works through a relay of its own, which can be killed too.

Its one word is a JSON object, {"name", "life", "retry": [asked, …], "stop": bool}; it says in JSON
lines what happens, asked being {tool, arguments, key}:

    {"relay": pid}              a relay was started
    {"asked": asked}            before a call
    {"key", "answer"}           after it: from here on it must not be lost
    {"repeated": code}          a call is repeated: the relay said that it may be, or is gone
    {"failed": text}            a refusal, which there must not be

It first does again what it is told to retry, then (unless it is to stop) works until it dies. Up to
three calls are under way at once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from typing import Any

RELAY = [sys.executable, "-m", "counterpoint", "mcp"]
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "besieger", "version": "1"},
}

Asked = dict[str, Any]
Answers = dict[str, Any]


class Gone(Exception):
    """The relay has ended."""


class Agent:
    """One agent, with its relay of the moment."""

    def __init__(self) -> None:
        """Start the first relay."""
        self._number = 0
        self._open()

    def ask(self, calls: Sequence[Asked]) -> Answers:
        """Make calls at once, each until it is answered; answer what was said, by key."""
        for asked in calls:
            report(asked=asked)
        answers: Answers = {}
        while left := [asked for asked in calls if asked["key"] not in answers]:
            try:
                self._try(left, answers)
            except Gone:
                report(repeated="relay_gone")
                self._relay.wait()
                self._relay.stdin.close()
                self._relay.stdout.close()
                self._open()
        return answers

    def close(self) -> int:
        """End the input; answer the relay's exit code."""
        self._relay.stdin.close()
        return self._relay.wait()

    def _open(self) -> None:
        self._relay: Any = subprocess.Popen(
            RELAY, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._parse = open(self._relay.stdout.fileno(), "rb", closefd=False)  # noqa: SIM115 -- ends with the relay
        report(relay=self._relay.pid)

    def _try(self, calls: Sequence[Asked], answers: Answers) -> None:
        if self._greeted is not self._relay:
            self._send("initialize", HELLO)
            self._read()
            self._greeted = self._relay
        waiting = {self._send("tools/call", call_of(asked)): asked["key"] for asked in calls}
        while waiting:
            said = self._read()
            key = waiting.pop(said["id"])
            if "error" in said:
                more = said["error"].get("data", {})
                if not more.get("safe_to_retry"):
                    fail(f"{key}: {said}")
                report(repeated=more["code"])
            elif said["result"].get("isError"):
                fail(f"{key}: {said}")
            else:
                answers[key] = said["result"]["structuredContent"]
                report(key=key, answer=answers[key])

    _greeted: Any = None

    def _send(self, method: str, params: Any) -> int:
        self._number += 1
        asked = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        try:
            self._relay.stdin.write(json.dumps(asked).encode() + b"\n")
        except BrokenPipeError:
            raise Gone from None
        return self._number

    def _read(self) -> Any:
        line = self._parse.readline()
        if not line.endswith(b"\n"):
            raise Gone
        return json.loads(line)


def report(**line: Any) -> None:
    """Write one line, whole."""
    os.write(1, json.dumps(line).encode() + b"\n")


def fail(text: str) -> None:
    """Say what must not be, and end."""
    report(failed=text)
    sys.exit(1)


def call_of(asked: Asked) -> Any:
    """Answer the parameters of a call."""
    arguments = asked["arguments"] | {"idempotency_key": asked["key"]}
    return {"name": asked["tool"], "arguments": arguments}


def asked_of(stem: str, tool: str, **arguments: Any) -> Asked:
    """Answer a call under a key of its own."""
    return {"tool": tool, "arguments": arguments, "key": f"{stem}-{tool}"}


def work(stem: str) -> Generator[list[Asked], Answers, None]:
    """Give calls to make at once; each time the answers of those before are heard."""
    heard = yield [
        asked_of(stem, "plan", markdown=f"# Plan of {stem}\n- [ ] {stem}\n"),
        asked_of(stem, "note", kind="finding", text=stem),
        asked_of(stem, "remember", action="set", key=stem, value=stem),
    ]
    task = heard[f"{stem}-plan"]["items"][1]["id"]
    heard = yield [asked_of(stem, "start", id=task)]
    token = heard[f"{stem}-start"]["claim"]["token"]
    yield [asked_of(stem, "finish", id=task, token=token, outcome="done", summary=stem)]


def main() -> None:
    """Be one life of a client."""
    told = json.loads(sys.argv[1])
    agent = Agent()
    agent.ask(told["retry"])
    number = 0
    while not told["stop"]:
        number += 1
        turns = work(f"{told['name']}-{told['life']}-{number}")
        calls = next(turns, None)
        while calls is not None:
            heard = agent.ask(calls)
            try:
                calls = turns.send(heard)
            except StopIteration:
                calls = None
    sys.exit(agent.close())


if __name__ == "__main__":
    main()
