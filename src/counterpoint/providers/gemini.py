"""The format of Google's Gemini API.

POST /models/MODEL:streamGenerateContent?alt=sse. Each event is a piece of a response: `candidates[0].content.parts` with texts (those of
`thought` are none of the answer), `finishReason` in the last, `usageMetadata` in each, the last counts. A question that is blocked has `promptFeedback.blockReason`
and no candidates. There is no last event but the end of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from counterpoint.core.model.models.asking import Question, Stop, Tokens
from counterpoint.kernel.canonical import Json
from counterpoint.providers.format import Draft, count, fail, rows, table, words

_STOPS: Final[Mapping[str, Stop]] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "refused"),
}
_BUSY: Final = frozenset({429, 500, 503, 504})


class Gemini:
    """That format."""

    def path(self, question: Question) -> str:
        """Return what follows the address."""
        return f"/models/{quote(question.model, safe='')}:streamGenerateContent?alt=sse"

    def headers(self, secret: str) -> dict[str, str]:
        """Return the heads that carry the key."""
        return {"x-goog-api-key": secret} if secret else {}

    def body(self, question: Question) -> dict[str, Json]:
        """Return the body of a request."""
        turns: list[Json] = [
            {
                "role": "user" if message.role == "user" else "model",
                "parts": [{"text": message.text}],
            }
            for message in question.messages
        ]
        settings: dict[str, Json] = {"maxOutputTokens": question.max_tokens}
        if question.temperature is not None:
            settings["temperature"] = question.temperature
        if question.schema is not None:
            settings["responseMimeType"] = "application/json"
            settings["responseJsonSchema"] = dict(question.schema)
        fields: dict[str, Json] = {"contents": turns, "generationConfig": settings}
        if question.system:
            fields["systemInstruction"] = {"parts": [{"text": question.system}]}
        return fields

    def hear(self, draft: Draft, name: str, event: Mapping[str, Any]) -> str:
        """Take a piece in."""
        del name
        if error := table(event.get("error")):
            fail(words(error.get("message")), is_busy=error.get("code") in _BUSY)
        draft.model = words(event.get("modelVersion")) or draft.model
        if usage := table(event.get("usageMetadata")):
            thought = count(usage.get("thoughtsTokenCount"))
            draft.tokens = Tokens(
                input=count(usage.get("promptTokenCount")),
                cached=count(usage.get("cachedContentTokenCount")),
                output=count(usage.get("candidatesTokenCount")) + thought,
            )
        if table(event.get("promptFeedback")).get("blockReason"):
            draft.stop = "refused"
        piece = ""
        for candidate in rows(event.get("candidates"))[:1]:
            parts = rows(table(candidate.get("content")).get("parts"))
            piece = "".join(words(part.get("text")) for part in parts if not part.get("thought"))
            if reason := words(candidate.get("finishReason")):
                draft.stop = _STOPS.get(reason, "other")
        return draft.add(piece)
