"""Reviews plans, specs and work.

Has models review work beside its spec, for gates and on demand.
Rule 1: what the server finds by its rules stands beside what models find, and they make its verdict only stricter. Rule 2: what is shown is
read by the server, from the tree in which the work is. Rule 3: at a gate nobody who works chooses what is shown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.dialects.foundry.nodes.queries import get_spec, spec_id
from counterpoint.dialects.foundry.nodes.rules.shape import items_of, metadata_of, slug_of, text_of
from counterpoint.dialects.foundry.places import PLAN_REVIEWS, PLANS, SpecsPlaces, is_below
from counterpoint.dialects.foundry.reviews.panel import (
    DETERMINISTIC,
    Judged,
    Panel,
    Parsed,
    PlanReview,
    ReviewerChoice,
    Settled,
    SpecReview,
    Task,
    from_home,
    load,
    name_of,
    save,
)
from counterpoint.dialects.foundry.reviews.rules import material
from counterpoint.dialects.foundry.reviews.rules.feedback import (
    Remark,
    alignment_of,
    as_verdict,
    beside_plan_page,
    fidelity_page,
    findings_of,
    headed,
    judgment_of,
    merged,
    modifications_of,
    read_markdown,
    remarks_of,
    remarks_page,
    stricter,
)
from counterpoint.dialects.foundry.reviews.rules.material import (
    ALIGNMENTS,
    BESIDE_PLAN,
    FEEDBACK,
    FIDELITY,
    FILE_LIMIT,
    JUDGMENTS,
    Looking,
    PhaseWork,
    Review,
    ReviewType,
    Shown,
    Work,
    named_in,
    nodes_and_entries,
    sections_of,
    shown,
)
from counterpoint.dialects.foundry.specs.operations import Specs, line_of_spec, whole
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound, PathOutside, Unavailable

MOST: Final = 1_000
"""How many files of a folder are looked at."""
_SUFFIX: Final = ".md"
_FRESH: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    """A plan. path: from the folder of specs on. modified: in seconds since 1970. reviews: files of the same kind."""

    name: str
    path: str
    size_bytes: int
    modified: float
    reviews: tuple[str, ...]


def create_plan(home: Path, specs: Path, slug: str, text: str) -> str:
    """Write a plan that is not there yet; return its path from the folder of specs on. Conflict, PathOutside."""
    folder = _folder(home, specs, PLANS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / f"{slug}{_SUFFIX}", _FRESH, 0o644)
    except FileExistsError as fault:
        raise Conflict(
            f"there is a plan {slug!r} already",
            hint="Write in that file, or give the plan another name.",
            error_code="DUPLICATE_ENTRY",
        ) from fault
    except OSError as fault:
        raise InvalidInput(f"the plan {slug!r} cannot be written: {fault.strerror}") from fault
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return f"{PLANS}/{slug}{_SUFFIX}"


def list_plans(home: Path, specs: Path) -> list[PlanFile]:
    """Return every plan by name; PathOutside, InvalidInput if there are too many."""
    reviews = [path.name for path in _files(_folder(home, specs, PLAN_REVIEWS))]
    files: list[PlanFile] = []
    for path in _files(_folder(home, specs, PLANS)):
        status = path.stat()
        own = (name for name in reviews if name.startswith(f"{path.stem}-"))
        files.append(
            PlanFile(
                name=path.stem,
                path=f"{PLANS}/{path.name}",
                size_bytes=status.st_size,
                modified=round(status.st_mtime, 3),
                reviews=tuple(f"{PLAN_REVIEWS}/{name}" for name in own),
            )
        )
    return files


def skeleton(name: str, day: Timestamp) -> str:
    """Return the text that a plan begins with."""
    parts = (
        ("Mission", "What is different when this is done, in a sentence."),
        ("Objectives", "- "),
        ("Success criteria", "- [ ] "),
        ("Constraints", "- "),
        ("Assumptions", "- "),
        ("Risks", "- Risk: … Likelihood: … Impact: … Mitigation: …"),
        ("Open questions", "- "),
        ("Phases", "### Phase 1: …\n\n- Task: … File: … Acceptance: …"),
    )
    sections = "\n".join(f"## {title}\n\n{text}\n" for title, text in parts)
    return f"# {name}\n\nDate: {day[:10]}\n\n{sections}"


def _folder(home: Path, specs: Path, name: str) -> Path:
    folder = specs / name
    if not is_below(home, folder):
        raise PathOutside(f"`{name}` in the folder of specs leads outside the project")
    return folder


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder by name; a link may lead anywhere, and is none."""
    if not folder.is_dir():
        return []
    every = sorted(path for path in folder.iterdir() if path.suffix == _SUFFIX)
    if len(every) > MOST:
        raise InvalidInput(
            f"`{folder.name}` has more than {MOST} files", hint="Move old ones elsewhere."
        )
    return [path for path in every if path.is_file() and not path.is_symlink()]


class Plans(Verbs):
    """Verbs for plans."""

    def create(self, name: str) -> tuple[str, str]:
        """Write the skeleton of a plan; return its slug and its path. Conflict if it exists."""
        today = self._context.ports.clock.now()
        slug = f"{slug_of(name)}-{today[:10]}"
        places = self._places
        # With an entry a retry under the same key gets the file that the first call wrote.
        with recording(self._context, "plan_file.created") as change:
            path = create_plan(places.home, places.specs, slug, skeleton(name, today))
            change.add_facts(path=path)
        return slug, path

    def list(self) -> list[PlanFile]:
        """List plans by name."""
        return list_plans(self._places.home, self._places.specs)

    def folder(self) -> str:
        """Return the folder of plans, relative to the main worktree."""
        places = self._places
        return (places.specs / PLANS).relative_to(places.home).as_posix()

    @property
    def _places(self) -> SpecsPlaces:
        return self._context.ports.get(SpecsPlaces)


SPEC_REVIEWS: Final = ".spec-reviews"
"""Where reviews of specs lie in the folder of specs."""
_UNTOLD: Final = ("journal", "spec_id", "generated", "last_updated")
"""Parts of a document that say nothing of what is to be done; times would make each question another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The question to the reviewers of a spec. with_plan: whether its plan can be read."""

    review: SpecReview
    task: Task
    root: str
    with_plan: bool


class SpecReviews:
    """Verbs that have specs reviewed."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def preview(self, spec: str, kind: ReviewType) -> SpecReview:
        """Return the review that would be held, without asking anyone; NotFound."""
        return self._prepare_question(spec, kind).review

    def review(self, spec: str, kind: ReviewType, choice: ReviewerChoice) -> SpecReview:
        """Have a spec reviewed, and write the review to a file; NotFound, and what `Panel.ask` raises."""
        question = self._prepare_question(spec, kind)
        settled = Panel(self._context, self._watch).ask(question.task, choice)
        findings = _combine_findings(settled, with_plan=question.with_plan)
        name = question.review.line.spec
        facts = [
            ("Spec", name),
            ("Reviewers", ", ".join(settled.reviewers)),
            ("Verdict", settled.verdict),
        ]
        title = f"Spec review: {question.review.line.root.title}"
        page = headed(title, facts, _render_body(settled, with_plan=question.with_plan))
        with recording(self._context, "review.written", question.root) as change:
            change.open_session()
            written = save(
                self._context,
                change,
                {name_of(SPEC_REVIEWS, name, "spec-review"): page},
                review="spec",
                verdict=settled.verdict,
                reviewers=list(settled.reviewers),
            )
        return replace(
            question.review,
            found=findings,
            settled=settled,
            path=from_home(self._context, "".join(written)),
        )

    def _prepare_question(self, spec: str, kind: ReviewType) -> _Question:
        with self._context.reading() as view:
            root = get_spec(view, spec)
            line, document = line_of_spec(view, root, counted=True), whole(view, root)
        plan = self._plan(text_of(metadata_of(document).get("plan_path")))
        content = {name: value for name, value in document.items() if name not in _UNTOLD}
        text = canonical.dump_any(content)
        if plan:
            template = "SPEC_REVIEW_VS_PLAN_V1"
            task = Task(
                system=material.BESIDE_PLAN_PROMPT,
                text=material.material([("The plan", plan), ("The spec", text)]),
                form=BESIDE_PLAN,
                purpose="review-spec",
                item=root.id,
                judge=alignment_of,
                order=ALIGNMENTS,
            )
        else:
            template = f"PLAN_REVIEW_{kind.upper()}_V1"
            task = Task(
                system=material.review_of("spec", kind),
                text=material.material([("The spec", text)]),
                form=FEEDBACK,
                purpose="review-spec",
                item=root.id,
            )
        review = SpecReview(line=line, template=template, found={})
        return _Question(review=review, task=task, root=root.id, with_plan=bool(plan))

    def _plan(self, path: str) -> str:
        """Return the plan of a spec; empty where there is none that can be read."""
        if not path:
            return ""
        try:
            return load(self._context, path)
        except (NotFound, PathOutside, InvalidInput):
            return ""


def _combine_findings(settled: Settled, *, with_plan: bool) -> dict[str, Json]:
    """Return the findings of all reviewers; beside a plan those of the first whose verdict counts."""
    if with_plan:
        own = next(
            (judged for judged in settled.judged if judged.verdict == settled.verdict),
            settled.judged[0],
        )
        return dict(own.found)
    remarks = merged([remarks_of(judged.found, judged.name) for judged in settled.judged])
    sections: dict[str, list[Json]] = {}
    for remark in remarks:
        sections.setdefault(remark.section, []).append(
            {name: part for name, part in remark.told().items() if name != "section"}
        )
    summary = settled.judged[0].found["summary"]
    return {"summary": summary, **sections}


def _render_body(settled: Settled, *, with_plan: bool) -> str:
    if with_plan:
        return "\n\n".join(beside_plan_page(judged.name, judged.found) for judged in settled.judged)
    remarks = merged([remarks_of(judged.found, judged.name) for judged in settled.judged])
    summaries = [(judged.name, text_of(judged.found.get("summary"))) for judged in settled.judged]
    return remarks_page(summaries, remarks)


class PlanReviews:
    """Verbs for reviews of plans."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def preview(self, path: str) -> PlanReview:
        """Return which plan would be reviewed, without asking anyone; NotFound, PathOutside, InvalidInput for an empty one."""
        return self._read(path)[0]

    def review(self, path: str, kind: ReviewType, choice: ReviewerChoice) -> PlanReview:
        """Have a plan reviewed, and write the review to a file; raises what `preview` and `Panel.ask` do."""
        review, text = self._read(path)
        task = Task(
            system=material.review_of("plan", kind),
            text=material.material([("The plan", text)]),
            form=FEEDBACK,
            purpose="review-plan",
        )
        settled = Panel(self._context, self._watch).ask(task, choice)
        remarks = _merge_remarks(settled)
        main = name_of(PLAN_REVIEWS, review.name, "review", kind)
        several = settled.judged if len(settled.judged) > 1 else ()
        of_one = {
            name_of(PLAN_REVIEWS, review.name, "review", kind, judged.name): judged
            for judged in several
        }
        pages = {
            path: _render_page(review, (judged,), remarks_of(judged.found))
            for path, judged in of_one.items()
        }
        pages[main] = _render_page(review, settled.judged, remarks)
        with recording(self._context, "review.written") as change:
            change.open_session()
            written = save(
                self._context,
                change,
                pages,
                review="plan",
                plan=review.plan,
                reviewers=list(settled.reviewers),
            )
        own = {judged.name: path for path, judged in of_one.items() if path in written}
        whole = main if main in written else ""
        return replace(review, remarks=remarks, settled=settled, path=whole, own=own)

    def parse(self, spec: str, path: str, choice: ReviewerChoice | None) -> Parsed:
        """Return the remarks of a file with the changes of a spec that they ask for, and change nothing.

        A file with the sections of a review is read by rule. Of any other a model puts the remarks in order: what `Panel.ask` raises;
        wanted: who does, None: nobody.
        """
        with self._context.reading() as view:
            root = get_spec(view, spec)
            name = spec_id(view, root)
        plan_path = Specs(self._context).plan_file(path)
        text = load(self._context, plan_path)
        remarks, settled = read_markdown(text), None
        if choice is not None and not remarks and text.strip():
            task = Task(
                system=material.PARSING,
                text=material.material([("The remarks", text)]),
                form=FEEDBACK,
                purpose="review-feedback",
                item=root.id,
            )
            settled = Panel(self._context, self._watch).ask(task, choice)
            remarks = _merge_remarks(settled)
        modifications = modifications_of(remarks, name)
        return Parsed(
            spec=name, path=plan_path, remarks=remarks, asked=modifications, settled=settled
        )

    def _read(self, path: str) -> tuple[PlanReview, str]:
        plan_path = Specs(self._context).plan_file(path)
        text = load(self._context, plan_path)
        if not text.strip():
            raise InvalidInput(f"the plan {plan_path!r} is empty", hint="Write the plan first.")
        return PlanReview(plan=plan_path, name=PurePosixPath(plan_path).stem), text


def _merge_remarks(settled: Settled) -> tuple[Remark, ...]:
    return merged([remarks_of(judged.found, judged.name) for judged in settled.judged])


def _render_page(
    review: PlanReview, answers: tuple[Judged, ...], remarks: tuple[Remark, ...]
) -> str:
    summaries = [(judged.name, text_of(judged.found.get("summary"))) for judged in answers]
    facts = [("Plan", review.plan), ("Reviewers", ", ".join(judged.name for judged in answers))]
    return headed(f"Plan review: {review.name}", facts, remarks_page(summaries, remarks))


WORK_REVIEWS: Final = ".fidelity-reviews"
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
            system=material.FIDELITY_PROMPT,
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
            findings=tuple(finding for work in works for finding in material.review(work).findings),
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
        {name_of(WORK_REVIEWS, name): page},
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
