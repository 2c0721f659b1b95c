"""The fixtures that answer with questions: the client asks again with the answers to them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

Answer = dict[str, Any]

INPUT_PROMPT = "test_input_required_result_prompt"


def form(message: str, name: str, kind: str = "string") -> Answer:
    """Answer the question of a form with one field."""
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    }


def sampling(text: str, tokens: int) -> Answer:
    """Answer the question to the client's model."""
    words = {"role": "user", "content": {"type": "text", "text": text}}
    return {
        "method": "sampling/createMessage",
        "params": {"messages": [words], "maxTokens": tokens},
    }


def roots() -> Answer:
    """Answer the question for the client's folders."""
    return {"method": "roots/list", "params": {}}


NAME = form("What is your name?", "name")
CONFIRM = form("Please confirm", "ok", "boolean")


def required(questions: dict[str, Answer], state: Answer | None = None) -> Answer:
    """Answer what is to be asked first, and what to bring back with the answers."""
    result: Answer = {"resultType": "input_required", "inputRequests": questions}
    if state is not None:
        result["requestState"] = json.dumps(state)
    return result


def said(text: str) -> Answer:
    """Answer a result of one text."""
    return {
        "resultType": "complete",
        "content": [{"type": "text", "text": text}],
        "isError": False,
    }


def parse(context: Any, name: str) -> Answer | None:
    """Answer what the client was told on a question, or None."""
    answers = (context.params or {}).get("inputResponses") or {}
    found = answers.get(name)
    return found if isinstance(found, dict) else None


def brought(context: Any) -> Answer:
    """Answer what the client brought back; empty if it brought nothing."""
    state = (context.params or {}).get("requestState")
    return json.loads(state) if state else {}


async def ask_name(context: Any, _arguments: Answer) -> Answer:
    """Ask for a name."""
    answer = parse(context, "user_name")
    if answer is None or "name" not in (answer.get("content") or {}):
        return required({"user_name": NAME})
    return said(f"Hello, {answer['content']['name']}!")


async def ask_model(context: Any, _arguments: Answer) -> Answer:
    """Ask the model one question."""
    answer = parse(context, "capital_question")
    if answer is None:
        return required({"capital_question": sampling("What is the capital of France?", 100)})
    return said(f"The model says: {json.dumps(answer.get('content'))}")


async def ask_roots(context: Any, _arguments: Answer) -> Answer:
    """Ask for the folders."""
    answer = parse(context, "client_roots")
    if answer is None:
        return required({"client_roots": roots()})
    return said(f"The folders are {json.dumps(answer.get('roots'))}")


async def ask_with_state(context: Any, _arguments: Answer) -> Answer:
    """Ask for a yes and give something to bring back."""
    if parse(context, "confirm") is None or brought(context) != {"kind": "confirm"}:
        return required({"confirm": CONFIRM}, {"kind": "confirm"})
    return said("state-ok")


async def ask_three(context: Any, _arguments: Answer) -> Answer:
    """Ask the user, the model and for the folders at once."""
    questions = {
        "user_name": NAME,
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": roots(),
    }
    if any(parse(context, name) is None for name in questions):
        return required(questions, {"kind": "three"})
    return said("All three were answered")


async def ask_twice(context: Any, _arguments: Answer) -> Answer:
    """Ask, and then ask again."""
    done = brought(context).get("round", 0)
    if done == 1 and parse(context, "step1") is not None:
        colour = form("Step 2: What is your favorite color?", "color")
        return required({"step2": colour}, {"round": 2})
    if done == 2 and parse(context, "step2") is not None:
        return said("Both were answered")
    return required({"step1": form("Step 1: What is your name?", "name")}, {"round": 1})


async def ask_what_is_declared(context: Any, _arguments: Answer) -> Answer:
    """Ask only what the client said that it can answer."""
    declared = context.session.client_capabilities
    questions: dict[str, Answer] = {}
    if declared is not None and declared.elicitation is not None:
        questions["form"] = NAME
    if declared is not None and declared.sampling is not None:
        questions["model"] = sampling("Say something", 50)
    if not questions or any(parse(context, name) is not None for name in questions):
        return said("Nothing is left to ask")
    return required(questions, {"kind": "declared"})


def ask_for_context(context: Any) -> Answer:
    """Ask for the subject of a prompt, then answer the prompt."""
    answer = parse(context, "user_context")
    if answer is None:
        return required({"user_context": form("What context should the prompt use?", "context")})
    text = f"Prompt with context: {json.dumps(answer.get('content'))}"
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"resultType": "complete", "messages": [message]}


_FIRST = "test_input_required_result_"

ASKING: dict[str, Callable[[Any, Answer], Awaitable[Answer]]] = {
    f"{_FIRST}elicitation": ask_name,
    "test_streaming_elicitation": ask_name,
    f"{_FIRST}sampling": ask_model,
    f"{_FIRST}list_roots": ask_roots,
    f"{_FIRST}request_state": ask_with_state,
    f"{_FIRST}tampered_state": ask_with_state,
    f"{_FIRST}multiple_inputs": ask_three,
    f"{_FIRST}multi_round": ask_twice,
    f"{_FIRST}capabilities": ask_what_is_declared,
}
