"""What is read out of answers of models: objects, texts, what most of them say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import cast

from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_EDGES = " \t\r\n.!?\"'`*_"


def object_in(text: str) -> dict[str, Json]:
    """Return the JSON object of an answer, also where words stand around it; empty without one."""
    fenced = _FENCE.search(text)
    start, end = text.find("{"), text.rfind("}")
    for some in (text, fenced.group(1) if fenced else "", text[start : end + 1]):
        try:
            fields = object_of(canonical.load(some)) if some.strip() else {}
        except InvalidInput:
            continue
        if fields:
            return fields
    return {}


def list_of(value: Json) -> list[Json]:
    """Return a list; an empty one for what is none."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def objects_of(value: Json, most: int) -> list[dict[str, Json]]:
    """Return the objects of a list, at most so many; none if it is no list."""
    return [part for part in map(object_of, list_of(value)) if part][:most]


def texts_of(value: Json, most: int, longest: int) -> list[str]:
    """Return the texts of a list that say something, at most so many, each cut."""
    texts = [text.strip() for text in list_of(value) if isinstance(text, str)]
    return [text[:longest] for text in texts if text][:most]


def text_of(value: Json, longest: int) -> str:
    """Return a text without blanks around it, cut; empty for what is none."""
    return value.strip()[:longest] if isinstance(value, str) else ""


def given_by_most(answers: Sequence[str]) -> str | None:
    """Return the answer that more than half gave, apart from case, blanks and marks around it, as it was given first; None without one."""
    if not answers:
        return None
    words = [" ".join(answer.strip(_EDGES).casefold().split()) for answer in answers]
    most_common, count = Counter(words).most_common(1)[0]
    return answers[words.index(most_common)] if 2 * count > len(answers) else None
