"""Tells an answer in lines that each name the path to what they say, without prose if asked.

The prose of hints and refusals is left out where wording is ignored: codes, kinds, keys, counts and
the order of lists never are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

WORDS = "<words>"


def told(value: Any, path: str, reword: Callable[[str], str]) -> Iterator[str]:
    """Yield a value in lines; reword: what is to be said in place of a line, or of a path in it.

    Members stand in the order of their paths. Each object and list in a list has a line of its own, so
    that no two values are told alike; text is told line by line.
    """
    match value:
        case dict() if value:
            members = {reword(f"{path}.{key}"): one for key, one in value.items()}
            for key in sorted(members):
                yield from told(members[key], key, reword)
        case list() if value:
            for one in value:
                if isinstance(one, dict | list):
                    yield reword(f"{path}[]:")
                yield from told(one, f"{path}[]", reword)
        case str() if "\n" in value:
            for line in value.splitlines(keepends=True):
                yield reword(f"{path} = {json.dumps(line, ensure_ascii=False)}")
        case _:
            yield reword(f"{path} = {json.dumps(value, ensure_ascii=False)}")


def without_wording(answer: Any) -> Any:
    """Return an answer without the prose of its hints and refusals."""
    match answer:
        case {"exit": int(code), "err": list(lines), **rest}:
            words = [WORDS] if lines and code else lines
            return {"exit": code, "err": words, **{k: without_wording(rest[k]) for k in rest}}
        case dict():
            prose = _prose(answer)
            return {
                key: _worded(value) if key in prose else without_wording(value)
                for key, value in answer.items()
            }
        case list():
            return [without_wording(one) for one in answer]
        case _:
            return answer


def _prose(answer: Mapping[str, Any]) -> set[str]:
    """Return the keys of an object that hold prose."""
    prose = {"hint", "problem", "faults"}
    if "code" in answer or "kind" in answer:
        prose.add("message")
    if "code" in answer and "details" in answer:
        prose.add("error")
    return prose


def _worded(value: Any) -> Any:
    match value:
        case str():
            return WORDS
        case list():
            return [_worded(one) if isinstance(one, str) else without_wording(one) for one in value]
        case _:
            return without_wording(value)
