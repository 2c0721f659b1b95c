"""The prompts of research, beside the questions of people and agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from counterpoint.core.rules.models.quoting import DATA, quoted
from counterpoint.kernel.canonical import Json, dump_any

SYNTHESIS = (
    f"Several models answered the same question. {DATA} Write the one best answer: what they agree on first, then where they"
    " differ and which of them is right, as far as the answers show it. Add nothing that none of them says."
)
MAJORITY = (
    f"Several models answered the same question. {DATA} Say which position more than half of them take, and answer the question with"
    " it alone. If none has more than half, begin with the words `No majority:` and name the positions."
)
THINKING = (
    f"You investigate a topic step by step. {DATA} Look at what is known so far, judge each hypothesis anew, and go one step deeper. "
    'Answer with one JSON object alone: {"analysis": text, "hypotheses": [{"id": its id if it is known already, "statement": text, '
    '"confidence": "speculation"|"low"|"medium"|"high"|"confirmed", "supporting": [text], "contradicting": [text]}], "next": [text]}.'
    " Evidence is what you can name; without any, the confidence is speculation."
)
IDEAS = (
    f'You find ideas. {DATA} Answer with one JSON object alone: {{"ideas": [{{"idea": text, "perspective": text}}]}}, several for each'
    " perspective, none that is known already."
)
CLUSTERS = (
    f'You sort ideas into a few groups by what they have in common. {DATA} Answer with one JSON object alone: {{"clusters": [{{"name": text, '
    '"description": text, "ideas": [ids]}]}; each idea stands in one group.'
)
SCORES = (
    f'You judge ideas by criteria, each from 0 to 1. {DATA} Answer with one JSON object alone: {{"scores": [{{"id": id of the idea, '
    '"scores": {criterion: number}}]}.'
)
ELABORATION = f"You work chosen ideas out into a plan: what to do first, what it takes, what may go wrong. {DATA}"


def answers(question: str, named_texts: Sequence[tuple[str, str]]) -> str:
    """Return a question with what several models answered to it, each with its name."""
    text = "\n\n".join(f"Answer of {name}:\n{quoted(text)}" for name, text in named_texts)
    return f"The question:\n{quoted(question)}\n\n{text}"


def with_state(topic: str, state: Mapping[str, Json], more: str = "") -> str:
    """Return a topic with what is known of it so far, and what to look at now."""
    message = f"The topic:\n{quoted(topic)}\n\nKnown so far:\n{quoted(dump_any(dict(state)))}"
    return f"{message}\n\nLook at this now:\n{quoted(more)}" if more else message
