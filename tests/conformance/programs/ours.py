"""The fixtures of the conformance suite that the product's own tools, resources and prompts can be."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, InvalidInput
from counterpoint.protocol.resources import Prompt, prompt, resource
from counterpoint.protocol.surface import Surface
from counterpoint.protocol.tools import Progress, Tool, tool

STEP = 0.05
"""Seconds between two reports; the suite looks whether they come one by one."""


@tool(reads=True)
def simple_text(_call: object) -> Json:
    """Say one sentence."""
    return {"text": "This is a simple text response for testing."}


@tool(reads=True)
def error_handling(_call: object) -> Json:
    """Refuse whatever is asked."""
    raise InvalidInput("This tool intentionally returns an error for testing")


@tool(reads=True)
def tool_with_progress(_call: object, progress: Progress) -> Json:
    """Say three times how far it is."""
    pause = threading.Event()
    for done in (0, 50, 100):
        progress(done, 100, f"{done} of 100")
        pause.wait(STEP)
    return {"text": "done"}


@tool(reads=True)
def x_mcp_header(
    _call: object,
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    query: str = "",
) -> Json:
    """Answer the argument that HTTP carries in a header too."""
    return {"region": region, "query": query}


@resource("test://static-text", mime="text/plain")
def static_text(_call: object) -> str:
    """Read a text that never changes."""
    return "This is the content of the static text resource."


@resource("test://watched-resource", mime="text/plain")
def watched_resource(_call: object) -> str:
    """Read a text that can be watched."""
    return "Watched resource content"


@resource("test://template/{id}/data", mime="application/json")
def template(_call: object, id: str) -> str:  # noqa: A002  the suite names the variable so
    """Read one of a family of texts."""
    return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


@prompt()
def simple_prompt(_call: object) -> str:
    """Say one sentence as the user."""
    return "This is a simple prompt for testing."


@prompt()
def prompt_with_arguments(
    _call: object,
    arg1: Annotated[str, Field(description="The first")],
    arg2: Annotated[str, Field(description="The second")],
) -> str:
    """Say two given words as the user."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def refuse(refusal: CounterpointError) -> Json:
    """Answer a refusal as this surface words it."""
    return {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}


def _tool_of_the_suite(made: Tool[object]) -> Tool[object]:
    return replace(made, name=f"test_{made.name}")


def _prompt_of_the_suite(made: Prompt[object]) -> Prompt[object]:
    return replace(made, name=f"test_{made.name}")


def build() -> Surface[object]:
    """Answer the surface; the suite's names begin with `test_`, which no function here may."""
    tools = (simple_text, error_handling, tool_with_progress, x_mcp_header)
    return Surface(
        name="conformance",
        version="1.0.0",
        instructions="Only for the conformance suite.",
        tools=tuple(_tool_of_the_suite(one) for one in tools),
        refuse=refuse,
        resources=(static_text, watched_resource, template),
        prompts=tuple(_prompt_of_the_suite(one) for one in (simple_prompt, prompt_with_arguments)),
    )
