"""The tool `journal`, and what is read as a resource or a prompt."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.continuing import describe_lost_claim
from counterpoint.dialects.foundry.envelope import PHRASES, page, present
from counterpoint.dialects.foundry.journal.operations import Journals
from counterpoint.dialects.foundry.models.specs import Folder, JournalEntry
from counterpoint.dialects.foundry.nodes.rules.shape import TEMPLATES
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.dialects.foundry.tools.shown import META, SAID, clipped, spec_line
from counterpoint.dialects.foundry.words import WORKSPACE, Cursor, LongLimit, SpecId, TaskId, Text
from counterpoint.dialects.paging import PAGE, clip, pages_of, sparse
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import NotFound
from counterpoint.protocol.actions import action, of_actions
from counterpoint.protocol.resources import prompt, resource

EntryType = Annotated[
    Literal["status_change", "deviation", "blocker", "decision", "note"],
    Field(description="Type of entry"),
]
EntryTitle = Annotated[str, Field(min_length=1, max_length=500, description="Title"), TEXT]


@action(reads=False, idempotent=False, plain=True)
def add(
    call: Call,
    spec_id: SpecId,
    title: EntryTitle,
    content: Text,
    entry_type: EntryType = "note",
    task_id: TaskId = "",
) -> Json:
    """Write an entry down."""
    entry = call.core.use(Journals).add(spec_id, entry_type, title, content, task_id)
    fields = entry_of(entry)
    summary = {name: fields[name] for name in ("timestamp", "entry_type", "title", "task_id")}
    return present({"spec_id": spec_id, "entry": summary, **describe_lost_claim(call, PHRASES)})


@action(reads=True, name="list", plain=True)
def list_(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId = "",
    entry_type: Annotated[
        Literal["status_change", "deviation", "blocker", "decision", "note", "session", "step"]
        | None,
        Field(description="Only this type"),
    ] = None,
    cursor: Cursor = "",
    limit: LongLimit = 100,
) -> Json:
    """Entries, the newest first."""
    pages = pages_of(call, cursor, "journal list", spec_id, task_id, entry_type, first=0)
    entries = call.core.use(Journals).list(spec_id, task_id, entry_type or "", pages.at, limit + 1)
    lines, further = pages.rows(entries, limit, entry_of, lambda entry: entry.number, PAGE - META)
    return present(
        {"spec_id": spec_id, "count": len(lines), "entries": lines},
        pagination=page(further, len(lines)),
    )


@action(reads=True)
def list_unjournaled(
    call: Call, spec_id: SpecId, cursor: Cursor = "", limit: LongLimit = 100
) -> Json:
    """Completed tasks without an entry."""
    pages = pages_of(call, cursor, "journal list-unjournaled", spec_id, first=0)
    nodes, spec = call.core.use(Journals).unjournaled(spec_id, pages.at, limit + 1)
    lines, further = pages.rows(
        nodes,
        limit,
        lambda pair: {
            "task_id": pair[0],
            "title": clip(pair[1].title, SAID),
            "completed_at": pair[1].closed_at,
            "needs_journaling": True,
        },
        lambda pair: pair[1].number,
        PAGE - META,
    )
    return present(
        {"spec_id": spec, "count": len(lines), "unjournaled_tasks": lines},
        pagination=page(further, len(lines)),
    )


def entry_of(entry: JournalEntry) -> dict[str, Json]:
    """Return an entry as it is told."""
    return {
        "timestamp": entry.timestamp,
        "entry_type": entry.entry_type,
        "title": clip(entry.title, SAID),
        "content": clip(entry.content, SAID),
        "author": entry.author,
        "task_id": entry.task or None,
        **sparse(metadata=clipped(dict(entry.metadata))),
    }


journal = of_actions(
    "journal",
    "Keep the journal of a spec.",
    (add, list_, list_unjournaled),
    beside=WORKSPACE,
    aliases={"path": "workspace"},
)


_JSON: Final = "application/json"
_SPECS: Final = 1_000
_LATEST: Final = 100
_FOLDERS: Final[tuple[Folder, ...]] = get_args(Folder)
_PHASES: Final = {
    "basic": "one, that makes it",
    "feature": "its design, its making, its verification",
    "bugfix": "what causes it, how it is mended and verified",
}
"""What the phases of a feature are, by the template that a person picks."""

Feature = Annotated[str, Field(min_length=1, max_length=200, description="What it is called")]
About = Annotated[str, Field(max_length=2_000, description="What it is about")]
Template = Annotated[Literal["basic", "feature", "bugfix"], Field(description="Which phases")]
Spec = Annotated[str, Field(min_length=1, max_length=80, description="Spec id")]
Related = Annotated[str, Field(max_length=80, description="Spec that it belongs to")]
Phase = Annotated[str, Field(max_length=80, description="Phase id; else the one at work")]
Test = Annotated[str, Field(max_length=500, description="Which test")]
Message = Annotated[str, Field(max_length=5_000, description="What it says")]


@resource("foundry://specs/", mime=_JSON)
def specs(call: Call) -> str:
    """All specs with their folders and progress."""
    return _listed(call, "")


@resource("foundry://templates/", mime=_JSON)
def templates(_call: Call) -> str:
    """The templates that a spec can be made from."""
    templates: list[Json] = [
        {"name": name, "description": description} for name, description in TEMPLATES.items()
    ]
    return dump_any({"templates": templates, "count": len(templates)})


@resource("foundry://specs/{status}/", mime=_JSON)
def specs_of_status(call: Call, status: str) -> str:
    """The specs of one folder."""
    return _listed(call, _folder(status))


@resource("foundry://specs/{spec_id}/journal", mime=_JSON)
def journal_of_spec(call: Call, spec_id: str) -> str:
    """The latest entries of the journal of a spec, the newest first."""
    entries = call.core.use(Journals).list(spec_id, "", "", 0, _LATEST)
    lines: list[Json] = [entry_of(entry) for entry in entries]
    return dump_any({"spec_id": spec_id, "note": DATA, "entries": lines, "count": len(lines)})


@resource("foundry://specs/{status}/{spec_id}", mime=_JSON)
def spec_of_status(call: Call, status: str, spec_id: str) -> str:
    """The whole document of a spec in its folder."""
    spec = call.core.use(Specs).get(spec_id)
    if spec.folder != _folder(status):
        raise NotFound(
            f"the spec {spec_id[:80]!r} is not in {status}, but in {spec.folder}",
            error_code="SPEC_NOT_FOUND",
        )
    return dump_any(call.core.use(Specs).document(spec_id))


@resource("foundry://templates/{template_id}", mime=_JSON)
def template_of_id(_call: Call, template_id: str) -> str:
    """One template of specs."""
    if template_id not in TEMPLATES:
        raise NotFound(
            f"there is no template {template_id[:80]!r}",
            hint=f"There are: {', '.join(TEMPLATES)}.",
        )
    return dump_any({"name": template_id, "description": TEMPLATES[template_id]})


@prompt()
def start_feature(
    _call: Call,
    feature_name: Feature,
    description: About = "",
    template: Template = "feature",
) -> str:
    """Begin a feature with a plan and a spec."""
    return (
        f"Begin the feature {feature_name!r}.{_about(description)}\n\n"
        "1. Look whether there is a spec for it: `spec` with action `list`.\n"
        "2. Write a plan: `plan` with action `create`, then fill in the file that it names, and have it reviewed.\n"
        "3. Make the spec: `authoring` with action `spec-create` and the paths of the plan and its review.\n"
        f"4. Add phases and tasks: `authoring` with action `phase-add-bulk`. The phases: {_PHASES[template]}. Each task "
        "has a description, acceptance criteria, a category and, if it changes code, a file.\n"
        "5. `spec` with action `validate` until nothing is wrong, then `lifecycle` with action `activate`."
    )


@prompt()
def debug_test(
    _call: Call, test_name: Test = "", error_message: Message = "", spec_id: Related = ""
) -> str:
    """Find out why a test fails, and mend it."""
    which = f"The test {test_name!r} fails." if test_name else "A test fails: find out which."
    whose = f"the spec {spec_id!r}" if spec_id else "the spec that it belongs to"
    return (
        f"{which}{_about(error_message)}\n\n"
        "1. Run it alone and read what it says.\n"
        "2. Find the smallest change of the code or of the test that explains it; say which of the two is wrong.\n"
        "3. Mend that, and run the test and those around it.\n"
        f"4. Write down what it was: `journal` with action `add` and {whose}."
    )


@prompt()
def complete_phase(_call: Call, spec_id: Spec, phase_id: Phase = "") -> str:
    """See that a phase is done, and close it."""
    which = f"phase {phase_id!r}" if phase_id else "phase at work (`current_phase` of `progress`)"
    return (
        f"Complete the {which} of the spec {spec_id!r}.\n\n"
        "1. Look at what is left of it: the actions `progress` and `list` of `task`.\n"
        "2. Do each open task, or say why not; complete it with a note.\n"
        "3. Run its verifications: `verification` with action `execute`.\n"
        "4. See that every completed task has an entry: `journal` with action `list-unjournaled`."
    )


@prompt()
def review_spec(_call: Call, spec_id: Spec, review_type: About = "") -> str:
    """Judge whether a spec can be worked by."""
    return (
        f"Review the spec {spec_id!r}.{_about(review_type)}\n\n"
        "1. Read it: `spec` with action `get`; then the actions `validate`, `analyze-deps`, `completeness-check` and "
        "`duplicate-detection`.\n"
        "2. Judge: is the mission clear, does each phase end in something that can be checked, has each task acceptance "
        "criteria that somebody else can test, are risks and open questions named?\n"
        "3. Tell what keeps it from being worked by, and what would make it better, each with the id of its node."
    )


def _listed(call: Call, folder: Folder | str) -> str:
    specs = call.core.use(Specs).list(folder, "", _SPECS, counted=True)
    lines: list[Json] = [spec_line(spec, counted=True) for spec in specs]
    return dump_any({"specs": lines, "count": len(lines)})


def _folder(status: str) -> Folder:
    for folder in _FOLDERS:
        if status == folder:
            return folder
    raise NotFound(
        f"there is no folder {status[:80]!r} of specs", hint=f"There are: {', '.join(_FOLDERS)}."
    )


def _about(text: str) -> str:
    """Return what a person said besides, apart from what is asked."""
    return f"\n\n{text}" if text else ""


RESOURCES: Final = (
    specs,
    templates,
    specs_of_status,
    journal_of_spec,
    spec_of_status,
    template_of_id,
)
PROMPTS: Final = (start_feature, debug_test, complete_phase, review_spec)
