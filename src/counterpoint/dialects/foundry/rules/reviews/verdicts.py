"""What several reviewers come to, and what of a verdict its own findings allow.

Rule 1: a verdict stands if enough reviewers gave it; where none does, one more is asked, and then the strictest of all counts. Rule 2: a
verdict is never milder than what its reviewer has found: so words that talk a model into a verdict are not enough. Rule 3: what a
model says makes the verdict of the rules stricter, and never milder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from counterpoint.dialects.foundry.nouns.autonomy import VERDICTS, Verdict
from counterpoint.dialects.foundry.rules.autonomy.reviewer import Finding, Review, Weight
from counterpoint.dialects.foundry.rules.research.answers import objects_of, text_of, texts_of
from counterpoint.dialects.foundry.rules.reviews.forms import ALIGNMENTS, JUDGMENTS
from counterpoint.kernel.canonical import Json, object_of

DEVIATION: Final = "model_deviation"
UNSURE: Final = "model_unsure"
"""Types of findings that models have: what differs from the spec, and that one could not say."""
_WEIGHTS: Final[Mapping[str, Weight]] = {
    "critical": "fail",
    "high": "fail",
    "medium": "warn",
    "low": "note",
}
_HEAVY: Final[tuple[Weight, ...]] = ("note", "warn", "fail")
_MOST: Final = 50
_SAID: Final = 500


def needed(count: int, threshold: int = 0) -> int:
    """Return how many have to give the same verdict; threshold: what the caller says, 0 for more than half."""
    return min(threshold, count) if threshold else count // 2 + 1


def settled(votes: Mapping[str, str], order: Sequence[str], least: int) -> str:
    """Return the verdict that at least so many gave, the strictest if several are; empty without one. order: the mildest first."""
    counted = Counter(votes.values())
    return strictest([verdict for verdict, count in counted.items() if count >= least], order)


def strictest(verdicts: Sequence[str], order: Sequence[str]) -> str:
    """Return the strictest of some verdicts; empty without one."""
    return max(verdicts, key=order.index, default="")


def alignment_of(fields: Mapping[str, Json]) -> str:
    """Return the verdict about a spec beside its plan: what a reviewer says, as far as what he found allows it."""
    coverage, fidelity = object_of(fields.get("coverage")), object_of(fields.get("fidelity"))
    alignments = object_of(fields.get("metadata_alignment")).values()
    lacks = bool(texts_of(coverage.get("missing_items"), 1, 1)) or any(
        _count(coverage.get(f"plan_{what}_covered")) < _count(coverage.get(f"plan_{what}_total"))
        for what in ("phases", "tasks")
    )
    is_other = lacks or fidelity.get("status") == "diverged" or "missing" in alignments
    own = text_of(fields.get("verdict"), _SAID)
    return strictest([own, ALIGNMENTS[1 if is_other else 0]], ALIGNMENTS)


def judgment_of(fields: Mapping[str, Json]) -> str:
    """Return the verdict about work: what a reviewer says, as far as what he found allows it."""
    deviations = objects_of(fields.get("deviations"), _MOST)
    weights = {_WEIGHTS[text_of(deviation.get("severity"), 20)] for deviation in deviations}
    least = "fail" if "fail" in weights else "warn" if "warn" in weights else "pass"
    return strictest([text_of(fields.get("verdict"), 20), least], JUDGMENTS)


def as_verdict(judgment: str) -> Verdict:
    """Return the verdict of a gate that a judgment of models means: who cannot say lets nothing pass."""
    verdicts: dict[str, Verdict] = {verdict: verdict for verdict in VERDICTS}
    return verdicts.get(judgment, "fail")


def findings_of(answers: Mapping[str, Mapping[str, Json]], verdict: Verdict) -> tuple[Finding, ...]:
    """Return what reviewers found, by their names, each thing once, and nothing heavier than what they came to."""
    findings: dict[str, Finding] = {}
    for name, answer in answers.items():
        if answer.get("verdict") == "unknown":
            words = f"{name} could not say: {text_of(answer.get('summary'), _SAID)}"
            findings[f"?{name}"] = _finding(UNSURE, "fail", "", words, verdict)
        for deviation in objects_of(answer.get("deviations"), _MOST):
            node = text_of(deviation.get("node"), 100)
            words = text_of(deviation.get("description"), _SAID)
            weight = _WEIGHTS[text_of(deviation.get("severity"), 20)]
            message = f"{name}: {node} {words}" if node else f"{name}: {words}"
            key = f"{node} {' '.join(words.casefold().split())}"
            if key not in findings:
                findings[key] = _finding(DEVIATION, weight, node, message, verdict)
    return tuple(findings.values())


def stricter(first: Review, second: Review) -> Review:
    """Return what two reviewers found beside each other, with the stricter of their verdicts."""
    verdict = VERDICTS[max(VERDICTS.index(first.verdict), VERDICTS.index(second.verdict))]
    return Review(verdict=verdict, findings=(*first.findings, *second.findings))


def _finding(kind: str, weight: Weight, about: str, words: str, verdict: Verdict) -> Finding:
    most: Weight = "note" if verdict == "pass" else verdict
    lighter = _HEAVY[min(_HEAVY.index(weight), _HEAVY.index(most))]
    return Finding(type=kind, weight=lighter, about=about, description=words[:_SAID])


def _count(value: Json) -> int:
    return value if isinstance(value, int) else 0
