"""Contracts of phases, and what may be handed in under them.

Reads the contract of a phase, and holds an artifact against it.
Layout: front matter with the keys below, then the instructions in Markdown. Valid if and only if
(1) there is no other key, (2) `version` is a whole number from 1, (3) `phase`, if given, is the name
of the file, (4) `dispatch_profile` is given, (5) `artifact_path` is a relative path with
`{identifier}` and without `..`, and missing only if `validation` is `none`, (6) `required_sections`,
`judge_labels` and `allowed_write_globs` are lists of texts, (7) `min_chars` is from 0 to 1,000,000
(100 if not given) and `max_revisions` from 0 to 100 (3), (8) `validation` is `structural` (if not
given), `judge` or `none`, (9) `next_phase` is the name of another phase, or empty, `null` or `~`
after the last, (10) there are instructions.

An artifact has the form that is asked for if and only if, without the blanks around it, it has at
least `min_chars` characters, it has a heading `#` or `##`, and it has a heading `##` for each required
section. Headings are those of CommonMark that begin with `#`, outside of fenced code and of comments;
letter case, blanks, `-` and `_` make no difference in them.

When a claim of a phase needs a verdict, and where its text may lie.
A verdict is needed if and only if a text is handed over and (1) the contract says `judge`, (2) the item
has one of the contract's labels, (3) confidence is low, or (4) questions are open. Commits need none
here: the change they make is looked at as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, cast, get_args

from counterpoint.core.model.journal import Submission
from counterpoint.core.model.rows import load_object
from counterpoint.core.rules import areas
from counterpoint.core.rules.frontmatter import FieldParser, Keys, TextFault
from counterpoint.dialects.symphony.nouns import PhaseReport
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.plurals import agree, counted
from counterpoint.kernel.yamltext import parse_int, parse_words

Validation = Literal["structural", "judge", "none"]

VALIDATIONS: tuple[Validation, ...] = get_args(Validation)
LEAST_CHARACTERS = 100
MOST_REVISIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a phase asks for.

    version: a hand-over names the version it was made for. profile: the role that does the work.
    artifact: the path of the text to hand over, with `{identifier}` in it; empty: commits are handed
    over. sections: headings of the second level the text must have. validation: `structural` looks at
    the form, `judge` wants a verdict too, `none` neither. judge_labels: an item with one of them
    wants a verdict in any case. next_phase: empty after the last. write_areas: what may be written
    beside the artifact. most_revisions: how many refusals before a person is asked.
    instructions: what the one who does the work is told.
    """

    phase: str
    version: int
    profile: str
    instructions: str
    source: str
    digest: str
    artifact: str = ""
    sections: tuple[str, ...] = ()
    least_characters: int = LEAST_CHARACTERS
    validation: Validation = "structural"
    judge_labels: tuple[str, ...] = ()
    next_phase: str = ""
    write_areas: tuple[str, ...] = ()
    most_revisions: int = MOST_REVISIONS


KEYS = (
    "version",
    "phase",
    "dispatch_profile",
    "artifact_path",
    "required_sections",
    "min_chars",
    "validation",
    "judge_labels",
    "next_phase",
    "allowed_write_globs",
    "max_revisions",
)
IDENTIFIER = "{identifier}"
MOST_CHARACTERS = 1_000_000
REVISIONS_LIMIT = 100

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_LONGEST = 500
_MOST_VERSION = 1_000_000
_NONE = frozenset({"", "null", "~"})
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_COMMENT = re.compile(r" {0,3}<!--")
_TOP = 2


def is_phase(name: str) -> bool:
    """Return whether a text can be the name of a phase."""
    return _NAME.fullmatch(name) is not None


def load_contract(
    text: str, *, phase: str, source: str, digest: str
) -> Contract | tuple[TextFault, ...]:
    """Return the contract that a phase's file describes, or all that is wrong with it by line."""
    keys = Keys(text)
    keys.only(KEYS)
    keys.require("version")
    keys.check("phase", lambda name: name == phase, f"{phase!r} as its file is named")
    keys.text("phase", longest=_LONGEST)
    validation = _validation(keys)
    contract = Contract(
        phase=phase,
        version=keys.hear("version", _whole(1, _MOST_VERSION), 0),
        profile=keys.text("dispatch_profile", longest=_LONGEST, is_required=True),
        instructions=keys.body.strip(),
        source=source,
        digest=digest,
        artifact=_artifact(keys, is_required=validation != "none"),
        sections=keys.hear("required_sections", parse_words, ()),
        least_characters=keys.hear("min_chars", _whole(0, MOST_CHARACTERS), LEAST_CHARACTERS),
        validation=validation,
        judge_labels=keys.hear("judge_labels", parse_words, ()),
        next_phase=_next_phase(keys, phase),
        write_areas=keys.hear("allowed_write_globs", parse_words, ()),
        most_revisions=keys.hear("max_revisions", _whole(0, REVISIONS_LIMIT), MOST_REVISIONS),
    )
    if keys.is_read and not contract.instructions:
        keys.faults.append(TextFault(problem="there are no instructions below the front matter"))
    return keys.all_faults() or contract


def artifact_place(contract: Contract, identifier: str) -> str:
    """Return the path of the artifact of an item; empty if commits are handed over."""
    return contract.artifact.replace(IDENTIFIER, identifier)


def stray_writes(contract: Contract, identifier: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that work in the phase may not write: not the artifact, nor in an area."""
    own_areas = [area.replace(IDENTIFIER, identifier) for area in contract.write_areas]
    artifact_path = artifact_place(contract, identifier)
    return [path for path in areas.outside(own_areas, paths) if path != artifact_path]


def artifact_faults(contract: Contract, text: str) -> list[str]:
    """Return what the form of an artifact lacks; a contract that asks for no form finds nothing."""
    if contract.validation == "none":
        return []
    faults: list[str] = []
    length = len(text.strip())
    if length < contract.least_characters:
        faults.append(
            f"the artifact has {counted(length, 'character')}, at least {contract.least_characters} are needed"
        )
    document_headings = list(headings(text))
    if not any(level <= _TOP for level, _ in document_headings):
        faults.append("the artifact has no Markdown heading (# or ##)")
    missing = missing_sections(contract.sections, document_headings)
    if missing:
        faults.append(f"the artifact has no section (##) for: {', '.join(missing)}")
    return faults


def missing_sections(
    sections: Sequence[str], titled_levels: Iterable[tuple[int, str]]
) -> list[str]:
    """Return the sections that have no heading of the second level."""
    existing = {_plain(title) for level, title in titled_levels if level == _TOP}
    return [section for section in sections if _plain(section) not in existing]


def headings(text: str) -> Iterator[tuple[int, str]]:
    """Return level and title of each heading, outside of fenced code and comments."""
    fence, in_comment = "", False
    for line in text.splitlines():
        edge = _FENCE.fullmatch(line)
        if in_comment or (not fence and _COMMENT.match(line)):
            in_comment = "-->" not in line
        elif fence:
            is_end = edge is not None and edge[1].startswith(fence) and not edge[2].strip()
            fence = "" if is_end else fence
        elif edge is not None and not ("`" in edge[1] and "`" in edge[2]):
            fence = edge[1]
        elif heading := _HEADING.match(line):
            yield len(heading[1]), _title(line[heading.end() :])


def _title(heading_text: str) -> str:
    """Return the title of a heading, without the signs that may close it."""
    title = heading_text.strip()
    before = title.rstrip("#")
    return title if before and before[-1] not in " \t" else before.rstrip()


def _plain(title: str) -> str:
    return re.sub(r"[\s_-]+", "", title).casefold()


def _whole(least: int, most: int) -> FieldParser[int]:
    def hear(key: str, value: Json, *, line: int) -> int:
        return parse_int(key, value, line=line, least=least, most=most)

    return hear


def _validation(keys: Keys) -> Validation:
    word = keys.text("validation", longest=_LONGEST) or VALIDATIONS[0]
    keys.check("validation", VALIDATIONS.__contains__, f"one of {', '.join(VALIDATIONS)}")
    return cast("Validation", word)


def _artifact(keys: Keys, *, is_required: bool) -> str:
    path = keys.text("artifact_path", longest=_LONGEST, is_required=is_required)
    keys.check("artifact_path", _is_place, f"a relative path with {IDENTIFIER} in it")
    return path


def _is_place(path: str) -> bool:
    parts = path.split("/")
    fixed_part = path.replace(IDENTIFIER, "")
    is_plain = not any(letter in fixed_part for letter in "{}\\\0*?:")
    return IDENTIFIER in path and is_plain and not {"", ".", ".."} & set(parts)


def _next_phase(keys: Keys, phase: str) -> str:
    name = keys.text("next_phase", longest=_LONGEST)
    if name in _NONE:
        return ""
    keys.check(
        "next_phase", lambda text: is_phase(text) and text != phase, "the name of another phase"
    )
    return name


REVISE: Final = "needs-revision"
"""The label of an item whose last claim was refused."""
REVISION_SECONDS: Final = 24 * 3600
"""How long an item may wait for its revision before a person is asked."""
DOCUMENTS: Final = "docs"


def details_of(report: PhaseReport) -> dict[str, Json]:
    """Return what a report says that only this dialect keeps with a submission."""
    return {
        "version": report.version,
        "questions": list(report.questions),
        "confidence": report.confidence,
        "promote_to": report.promote_to,
        "next_phase": report.next_phase,
    }


def report_of(claim: Submission) -> PhaseReport:
    """Return the report with which a phase was handed over; without its details once redacted."""
    details = load_object(claim.details)
    return PhaseReport(
        phase=claim.phase,
        summary=claim.summary,
        version=details.get("version", 0),
        path=claim.path,
        sha256=claim.sha256,
        questions=tuple(details.get("questions", ())),
        confidence=details.get("confidence", "medium"),
        promote_to=details.get("promote_to", ""),
        next_phase=details.get("next_phase", ""),
        run=claim.run,
    )


def needs_verdict(
    contract: Contract, labels: Iterable[str], confidence: str, questions: int
) -> tuple[str, ...]:
    """Return in words why a claim needs a verdict; nothing if it needs none."""
    if not contract.artifact:
        return ()
    reasons: list[str] = []
    if contract.validation == "judge":
        reasons.append(f"the contract of {contract.phase} asks for a verdict")
    matching_labels = sorted(set(contract.judge_labels) & set(labels))
    if matching_labels:
        reasons.append(f"the item is labelled {', '.join(matching_labels)}")
    if confidence == "low":
        reasons.append("confidence is low")
    if questions:
        reasons.append(f"{agree(questions, 'question', 'is')} open")
    return tuple(reasons)


def with_doubts(report: PhaseReport, before: Iterable[PhaseReport]) -> PhaseReport:
    """Return a report with the doubts of the earlier, unjudged reports of the phase added."""
    earlier = list(before)
    questions = [
        question
        for phase_report in (report, *reversed(earlier))
        for question in phase_report.questions
    ]
    is_low = any(phase_report.confidence == "low" for phase_report in (report, *earlier))
    return replace(
        report,
        confidence="low" if is_low else report.confidence,
        questions=tuple(dict.fromkeys(questions)),
    )


def place_faults(contract: Contract, identifier: str, path: str) -> list[str]:
    """Return what is wrong with the path of an artifact: it must be in the folder that the contract names."""
    artifact_path = artifact_place(contract, identifier)
    folder = artifact_path.rpartition("/")[0]
    if path == artifact_path or (folder and path.startswith(f"{folder}/")):
        return []
    return [f"artifact_path {path!r} is not in {folder or '.'}: the contract names {artifact_path}"]


def text_faults(contract: Contract, content: bytes) -> list[str]:
    """Return what the form of a text lacks."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ["the artifact is not text in UTF-8"]
    return artifact_faults(contract, text)


def word_faults(contract: Contract, version: int, next_phase: str) -> list[str]:
    """Return where a claim and the contract as it is now disagree."""
    faults: list[str] = []
    if version != contract.version:
        faults.append(
            f"contract_version is {version}, the contract of {contract.phase} has {contract.version}"
        )
    if next_phase != contract.next_phase:
        faults.append(
            f"recommended_next_phase is {next_phase!r}, after {contract.phase} comes"
            f" {contract.next_phase or 'nothing'!r}"
        )
    return faults


def strays(contract: Contract, identifier: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that work in the phase was not to write; texts of the same item are no others."""
    folder = f"{artifact_place(contract, identifier).rpartition('/')[0]}/"
    stray_paths = stray_writes(contract, identifier, paths)
    return tuple(path for path in stray_paths if not path.startswith(folder))


def promotion_faults(path: str) -> list[str]:
    """Return what is wrong with where a text is to be copied to: it must be below `docs`."""
    if path.startswith(f"{DOCUMENTS}/") and not path.startswith(f"{DOCUMENTS}/tickets/"):
        return []
    return [f"promote_to {path!r} is not in {DOCUMENTS}/, outside of {DOCUMENTS}/tickets/"]


def chain(phase: str, following: Mapping[str, str], passed: Iterable[str]) -> tuple[str, ...]:
    """Return the phases from one on, past those that need not be gone through; the last one counts.

    following: phase → the one after it, empty after the last.
    """
    skipped, gone = set(passed), [phase]
    while phase in skipped and following.get(phase):
        phase = following[phase]
        if phase in gone:
            break
        gone.append(phase)
    return tuple(gone)
