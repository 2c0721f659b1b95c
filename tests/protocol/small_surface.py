"""A surface small enough to know by heart, served on stdio when run as a program."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import AlreadyClaimed, CounterpointError, InvalidInput, NotFound
from counterpoint.protocol.resources import Said, prompt, resource
from counterpoint.protocol.stdio import serve_stdio
from counterpoint.protocol.surface import Caller, Event, Surface
from counterpoint.protocol.tools import Progress, Tool, tool

SECRET = "the-password-is-swordfish"  # noqa: S105 -- a word to look for in answers, not a password


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What the tools of this surface get as their call."""

    caller: Caller = field(default_factory=Caller)


class Node(TypedDict):
    """A node of a plan."""

    title: Annotated[str, Field(max_length=10)]
    children: NotRequired[list[Node]]


@tool(reads=True)
def echo(call: Call, text: Annotated[str, Field(description="What to say again")]) -> Json:
    """Say it again."""
    return {"text": text, "client": call.caller.client, "protocol": call.caller.protocol}


@tool(reads=False, aliases={"id": "item"}, hidden=["trace"])
def start(
    call: Call,
    item: Annotated[str, Field(description="Which item", max_length=20)],
    lease_minutes: Annotated[int, Field(ge=1, le=1440, description="How long")] = 30,
    kind: Annotated[Literal["task", "phase"], Field(description="Which sort")] = "task",
    plan: Annotated[Node | None, Field(description="The plan")] = None,
    names: list[str] | str | None = None,
    *,
    trace: bool = False,
) -> Json:
    """Begin an item.

    This paragraph is for the readers of the code.
    """
    given = {"item": item, "lease_minutes": lease_minutes, "kind": kind, "trace": trace}
    return {**given, "plan": plan, "names": names}


@tool(reads=False, destructive=True, idempotent=False, open_world=True)
def delete(call: Call, item: str) -> Json:
    """Delete an item."""
    return {"deleted": item}


@tool(reads=True)
def refuse_(call: Call) -> Json:
    """Refuse, always."""
    raise AlreadyClaimed("cp-7 is taken", holder="ses_1")


@tool(reads=True)
def crash(call: Call, how: Literal["raise", "list", "exit", "bytes"] = "raise") -> Json:
    """Fail in a way that nobody foresaw."""
    if how == "list":
        return [SECRET]
    if how == "bytes":
        return {"text": SECRET.encode()}
    if how == "exit":
        raise SystemExit(SECRET)
    raise ValueError(SECRET)


@tool(reads=True)
def shout(call: Call) -> Json:
    """Write on standard output in every way there is."""
    print("PRINTED", flush=True)  # noqa: T201 -- what a careless tool does
    os.write(1, b"WRITTEN\n")
    subprocess.run([sys.executable, "-c", "print('CHILD', input())"], check=False)
    return {"reads_nothing": os.path.samestat(os.fstat(0), Path(os.devnull).stat())}


@tool(reads=True)
def hang(call: Call) -> Json:
    """Work for twenty seconds."""
    threading.Event().wait(20)
    return {"done": True}


@tool(reads=True)
def pause(call: Call) -> Json:
    """Work for a moment."""
    threading.Event().wait(0.5)
    return {"done": True}


@tool(reads=True)
def steps(call: Call, count: int, progress: Progress) -> Json:
    """Take steps and say so."""
    for step in range(count):
        progress(step + 1, count, f"step {step + 1}")
    return {"steps": count}


@tool(reads=True)
def large(call: Call, size: int) -> Json:
    """Answer a long text."""
    return {"text": "x" * size}


@resource("small://about", mime="text/plain")
def about(call: Call) -> str:
    """What this is."""
    return "a small surface"


@resource("small://items/{item}/notes")
def notes(call: Call, item: str) -> str:
    """The notes of an item."""
    if item == "none":
        raise NotFound("There is no item 'none'")
    if item == "broken":
        raise ValueError(SECRET)
    return f"# notes of {item}"


@prompt()
def review(
    call: Call,
    item: Annotated[str, Field(description="Which item", max_length=20)],
    tone: Annotated[str, Field(description="In which tone")] = "calm",
) -> list[Said]:
    """Review an item."""
    return [("user", f"Review {item}, {tone}."), ("assistant", "Gladly.")]


@prompt()
def greet(call: Call) -> str:
    """Say hello."""
    return "Hello."


def refuse(refusal: CounterpointError) -> Json:
    """Answer a refusal in this surface's envelope."""
    shown = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}
    return {"error": {**shown, "facts": dict(refusal.facts)}}


@dataclass
class Story:
    """Entries in memory, each of which gives some events, and who waits for more of them."""

    entries: list[list[tuple[str, str]]] = field(default_factory=list[list[tuple[str, str]]])
    width: int = 0
    fault: Exception | None = None
    looks: list[int] = field(default_factory=list[int])
    grown: threading.Condition = field(default_factory=threading.Condition)

    def grow(self, *events: tuple[str, str]) -> int:
        """Append an entry of some events, each a name and an id; answer its sequence."""
        with self.grown:
            self.entries.append(list(events))
            self.grown.notify_all()
            return len(self.entries) - 1

    def tell(
        self, _call: Call, position: int | None, limit: int, seconds: float
    ) -> tuple[int, list[Event]]:
        """Answer the events of some entries."""
        with self.grown:
            if self.fault is not None:
                raise self.fault
            last = len(self.entries) - 1
            if position is None:
                return last, []
            self.looks.append(position)
            if position > last:
                raise InvalidInput(f"there is no entry {position}")
            self.grown.wait_for(lambda: self.fault or len(self.entries) - 1 > position, seconds)
            upto = min(len(self.entries) - 1, position + limit)
            return upto, [event for n in range(position + 1, upto + 1) for event in self._of(n)]

    def _of(self, sequence: int) -> list[Event]:
        return [
            Event(
                sequence=sequence,
                name=name,
                data={"about": about, "x": "y" * self.width},
                subjects=(about, "all"),
            )
            for name, about in self.entries[sequence]
        ]


TOOLS: tuple[Tool[Call], ...] = (
    echo,
    start,
    delete,
    refuse_,
    crash,
    shout,
    hang,
    pause,
    steps,
    large,
)


def build(**changes: Any) -> Surface[Call]:
    """Answer the surface, with some parts changed."""
    parts: dict[str, Any] = {
        "name": "small",
        "version": "1.2.3",
        "instructions": "Say things again.",
        "tools": TOOLS,
        "refuse": refuse,
        "resources": (notes, about),
        "prompts": (review, greet),
    }
    return Surface(**{**parts, **changes})


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    serve_stdio(build(), lambda caller: Call(caller=caller))
    sys.stderr.write("LEFT\n")
    sys.stderr.flush()
    if "linger" in sys.argv:
        sys.stdin.read()
