"""The types of arguments that several dialects take.

A limit that is rarely met is cheaper in a refusal than in every listing, so that a schema says `string`
where a length is checked too. A dialect gives these its own names in `words.py`, and adds what only
its own tools take.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field, WithJsonSchema

TEXT: Final = WithJsonSchema({"type": "string"})
TEXTS: Final = WithJsonSchema({"type": "array", "items": {"type": "string"}})
INTEGER: Final = WithJsonSchema({"type": "integer"})
NUMBER: Final = WithJsonSchema({"type": "number"})
HIGHEST: Final = 2**53 - 1
"""The highest whole number that every JSON reader keeps."""


def one_line(text: str) -> str:
    """Return a name as the core takes it for a title; ValueError if it would not."""
    if len(text.strip().splitlines()) != 1:
        raise ValueError("must be one line that is not blank")
    return text


def not_blank(text: str) -> str:
    """Return a text that says something; ValueError if it has nothing but blanks."""
    if not text.strip():
        raise ValueError("must not be blank")
    return text


Id = Annotated[str, Field(min_length=1, max_length=80), TEXT]
Said = Annotated[str, Field(min_length=1, max_length=20_000), AfterValidator(not_blank), TEXT]
Text = Annotated[str, Field(max_length=20_000), TEXT]
Line = Annotated[str, Field(max_length=2_000), TEXT]
Count = Annotated[int, Field(ge=0, le=HIGHEST), INTEGER]
Limit = Annotated[int, Field(ge=1, le=100), INTEGER]
Cursor = Annotated[str, Field(max_length=2_000), TEXT]
