"""Has models review work beside its spec, for gates and on demand.

Rule 1: what the server finds by its rules stands beside what models find, and they make its verdict only stricter. Rule 2: what is shown is
read by the server, from the tree in which the work is. Rule 3: at a gate nobody who works chooses what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.dialects.foundry.reviewers import DETERMINISTIC
from counterpoint.dialects.foundry.rules.autonomy import reviewer
from counterpoint.dialects.foundry.rules.autonomy.reviewer import (
    PhaseWork,
    Review,
)
from counterpoint.dialects.foundry.rules.reviews import prompts
from counterpoint.dialects.foundry.rules.reviews.forms import FIDELITY, JUDGMENTS
from counterpoint.dialects.foundry.rules.reviews.material import (
    FILE_LIMIT,
    Looking,
    Shown,
    Work,
    named_in,
    nodes_and_entries,
    sections_of,
    shown,
)
from counterpoint.dialects.foundry.rules.reviews.pages import fidelity_page, headed
from counterpoint.dialects.foundry.rules.reviews.verdicts import (
    as_verdict,
    findings_of,
    judgment_of,
    stricter,
)
from counterpoint.dialects.foundry.rules.shape import items_of, metadata_of, text_of
from counterpoint.dialects.foundry.verbs.queries import get_spec
from counterpoint.dialects.foundry.verbs.reviews.panel import Panel, ReviewerChoice, Settled, Task
from counterpoint.dialects.foundry.verbs.reviews.saving import from_home, load, name_of, save
from counterpoint.dialects.foundry.verbs.specs import whole
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound, PathOutside, Unavailable

REVIEWS: Final = ".fidelity-reviews"
"""Where reviews of work lie in the folder of specs."""
_DIFF: Final = 1_000_000
_USUAL: Final = "main"
_REVIEWER: Final = 200
_SEEN: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """The review of models alone. reviewers: how evidence names all who judged."""

    settled: Settled
    review: Review
    material: Shown
    reviewers: str

    def beside(self, rules: Review) -> Review:
        """Combine the review with that of the rules; the stricter verdict counts."""
        return stricter(rules, self.review)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReviewer:
    """A reviewer that asks models. spec: the id of the root's item. about: that of what is judged, a phase, a task or the whole.

    sample: tells one attempt at a gate from another, so that each is judged anew.
    """

    context: Context
    choice: ReviewerChoice
    spec: str
    about: str
    looking: Looking = field(default_factory=Looking)
    sample: str = ""
    watch: Watch | None = None

    def can_be_asked(self) -> bool:
        """Return whether a reviewer is available, or was named; MalformedDocument."""
        return Panel(self.context).can_ask(self.choice)

    def review(self, works: Sequence[PhaseWork]) -> Reviewed | None:
        """Have models review phases, or parts of them; None where only changes are wanted and there are none.

        Raises what `Panel.ask` does, and NotFound, PathOutside or InvalidInput for a file that is named and cannot be shown.
        """
        work = self._work(tuple(works))
        before = self._before() if self.looking.incremental else {}
        seen = shown(work, self.looking, before)
        if before and not seen.seen:
            return None
        task = Task(
            system=prompts.FIDELITY,
            text=seen.text,
            form=FIDELITY,
            purpose="review-fidelity",
            item=self.about,
            sample=self.sample,
            judge=judgment_of,
            order=JUDGMENTS,
        )
        settled = Panel(self.context, self.watch).ask(task, self.choice)
        verdict = as_verdict(settled.verdict)
        findings = findings_of(settled.said, verdict)
        return Reviewed(
            settled=settled,
            review=Review(verdict=verdict, findings=findings),
            material=seen,
            reviewers=", ".join((DETERMINISTIC, *settled.reviewers))[:_REVIEWER],
        )

    def _work(self, works: tuple[PhaseWork, ...]) -> Work:
        with self.context.reading() as view:
            document = whole(view, get_spec(view, self.spec))
        ids = {"spec-root", *(work.phase for work in works)}
        ids |= {node.id for work in works for node in (*work.tasks, *work.verifications)}
        nodes, entries = nodes_and_entries(document, ids)
        nodes["spec"] = metadata_of(document)
        return Work(
            works=works,
            findings=tuple(finding for work in works for finding in reviewer.review(work).findings),
            nodes=nodes,
            entries=tuple(entries),
            plan=self._plan(text_of(metadata_of(document).get("plan_path"))),
            diffs=self._diffs(),
            files=self._files(works),
        )

    def _plan(self, path: str) -> str:
        try:
            return load(self.context, path) if path else ""
        except (NotFound, PathOutside, InvalidInput):
            return ""

    def _diffs(self) -> dict[str, str]:
        """Return the differences between the tree and its base branch by path; NotFound for a branch that is named and missing.

        The usual branch may be missing: then the tree is compared with its own commit, and without git there is no difference to show.
        """
        base = self.looking.base
        if base != _USUAL:
            return self._diff(base)
        for branch in (base, ""):
            with suppress(NotFound, InvalidInput, Unavailable):
                return self._diff(branch)
        return {}

    def _diff(self, base: str) -> dict[str, str]:
        comparison = self.context.ports.evidence.branch(self.context.caller.root, "", base, _DIFF)
        return sections_of(comparison.diff)

    def _files(self, works: Sequence[PhaseWork]) -> dict[str, str]:
        """Return the texts of the named files; unreadable ones that only tasks name are left out."""
        texts: dict[str, str] = {}
        for path in self.looking.files:
            texts[path] = self._text(path)
        for path in () if self.looking.files else named_in(works):
            try:
                texts[path] = self._text(path)
            except (NotFound, PathOutside, InvalidInput, Unavailable):
                continue
        return {path: text for path, text in texts.items() if "\0" not in text}

    def _text(self, path: str) -> str:
        content = self.context.ports.evidence.load(self.context.caller.root, path, FILE_LIMIT)
        return content.decode("utf-8", "replace")

    def _before(self) -> dict[str, str]:
        """Return the digests that the last review of the same item saw, by path."""
        with self.context.reading() as view:
            for sequence in view.sequences(
                subject=self.about, action="review.written", limit=_SEEN
            ):
                facts = load_fields(next(view.entries(sequence, sequence + 1))).get("f", {})
                if facts.get("review") == "fidelity":
                    rows = [items_of(row) for row in items_of(facts.get("seen"))]
                    return {str(path): str(digest) for path, digest in rows}
        return {}


def write(context: Context, about: str, name: str, reviewed: Reviewed, combined: Review) -> str:
    """Write a review of work in an entry of its own; return what `write_review` does. about: the reviewed item."""
    with recording(context, "review.written", about) as change:
        change.open_session()
        return write_review(context, change, name, reviewed, combined)


def write_review(
    context: Context,
    change: Change,
    name: str,
    reviewed: Reviewed,
    combined: Review,
) -> str:
    """Write a review of work; return its path, empty where this server writes no file.

    name: of its file. combined: the verdict of models and rules.
    """
    answers = reviewed.settled.said
    heads = [("Reviewers", reviewed.reviewers), ("Verdict", combined.verdict)]
    body = fidelity_page(combined.findings, answers, recommendations_in(answers))
    page = headed(f"Fidelity review: {name}", heads, body)
    seen: list[Json] = [[path, digest] for path, digest in reviewed.material.seen.items()]
    paths = save(
        context,
        change,
        {name_of(REVIEWS, name): page},
        review="fidelity",
        reviewers=list(reviewed.settled.reviewers),
        seen=seen[:_SEEN],
        verdict=combined.verdict,
    )
    return from_home(context, "".join(paths))


def recommendations_in(answers: Mapping[str, Mapping[str, Json]]) -> list[str]:
    """Return what reviewers recommend, without duplicates."""
    every = (
        text_of(recommendation)
        for answer in answers.values()
        for recommendation in items_of(answer["recommendations"])
    )
    return list(dict.fromkeys(recommendation for recommendation in every if recommendation))
