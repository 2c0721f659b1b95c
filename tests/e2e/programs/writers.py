"""Writers that can be killed: a nursery forks them, and each works through the core.

Commands come as JSON lines on the input; nursery and writers share the output, for JSON lines that
are short enough to be written whole.

    {"do": "start", "name", "life", "folder", "db", "retry": […], "stop": bool}
    {"do": "kill", "name"}      SIGKILL
    {"do": "wait", "name"}      until it ends by itself

    {"name", "life", "asked": {verb, with, key}}        before a write
    {"name", "life", "key", "answer"}                   after it: from here on it must not be lost
    {"name", "life", "failed": text}                    a refusal, which there must not be
    {"name", "life", "code"}                            from the nursery: how it ended

A writer first does again what it is told to retry, then (unless it is to stop) works until it dies.
A fork spares the imports, so that a kill finds a writer in its opening, migration or writes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from acts import identity, open_shifted, perform


def report(line: dict[str, Any]) -> None:
    """Write one line, whole."""
    os.write(1, json.dumps(line).encode() + b"\n")


def cycle(stem: str) -> Iterator[dict[str, Any]]:
    """Give writes in turn; each hears the answer to the one before."""
    made = yield {"verb": "plan", "with": {"title": stem}, "key": f"{stem}-plan"}
    task = made["task"]
    started = yield {"verb": "start", "with": {"item": task}, "key": f"{stem}-start"}
    yield {"verb": "note", "with": {"text": stem, "item": task}, "key": f"{stem}-note"}
    ending = {"item": task, "token": started["token"], "summary": stem}
    yield {"verb": "finish", "with": ending, "key": f"{stem}-finish"}
    yield {"verb": "remember", "with": {"name": stem}, "key": f"{stem}-remember"}


def write(command: dict[str, Any]) -> None:
    """Be one life of a writer."""
    name, life = command["name"], command["life"]
    app = open_shifted(command["folder"], command["db"])
    who = identity(name)

    def ask(asked: dict[str, Any]) -> Any:
        report({"name": name, "life": life, "asked": asked})
        answer = perform(app.core(who), asked)
        report({"name": name, "life": life, "key": asked["key"], "answer": answer})
        return answer

    for asked in command["retry"]:
        ask(asked)
    turn = 0
    while not command["stop"]:
        _go_through(cycle(f"{name}-{life}-{turn}"), ask)
        turn += 1
    app.close()


def _go_through(asks: Any, ask: Callable[[dict[str, Any]], Any]) -> None:
    asked = next(asks)
    while asked is not None:
        try:
            asked = asks.send(ask(asked))
        except StopIteration:
            return


def be_born(command: dict[str, Any]) -> NoReturn:
    """Live in the forked process and never come back."""
    try:
        write(command)
    except BaseException:  # noqa: BLE001 -- whatever it is must be told and must not reach the nursery
        told = traceback.format_exc()[-3000:]
        report({"name": command["name"], "life": command["life"], "failed": told})
        os._exit(1)
    os._exit(0)


def main() -> None:
    """Fork, kill and wait as told, until the input ends."""
    alive: dict[str, tuple[int, int]] = {}
    for line in sys.stdin:
        command = json.loads(line)
        name = command["name"]
        if command["do"] == "start":
            child = os.fork()
            if child == 0:
                be_born(command)
            alive[name] = child, command["life"]
            continue
        child, life = alive.pop(name)
        if command["do"] == "kill":
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        report({"name": name, "life": life, "code": code})
    for child, _ in alive.values():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
