"""The shelf: which file a template's name means, and what ships with the product."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from counterpoint.core.rules.drafting import plan_of
from counterpoint.core.rules.templating import filling
from counterpoint.evidence.directories import FileAnchors, TemplateDirectory
from counterpoint.kernel.errors import InvalidInput, NotFound, Unavailable

YAML = "name: Mine\nphases: [{name: P}]\n"
BUILT_IN = (
    "bug-fix",
    "dependency-upgrade",
    "feature-development",
    "refactoring",
    "security-review",
)


@pytest.fixture
def shelf(tmp_path):
    """Give a shelf with an empty folder of the project's own."""
    folder = tmp_path / "templates"
    folder.mkdir()
    return TemplateDirectory(folder=folder)


def put(shelf, name, text=YAML):
    """Put a file on the shelf."""
    (shelf.folder / name).write_text(text, encoding="utf-8")


def test_the_projects_own_file_wins_over_a_shipped_one(shelf):
    """Whatever the format of either; what is hidden is told."""
    put(shelf, "feature-short.yaml")
    sheet = shelf.template("feature-short")
    assert (sheet.form, sheet.source, sheet.text) == ("yaml", "project", YAML)
    assert sheet.hides == ("feature-short.md (built-in)",)
    put(shelf, "bug-fix.md", "# Own\n")
    sheet = shelf.template("bug-fix")
    assert (sheet.form, sheet.source, sheet.hides) == (
        "markdown",
        "project",
        ("bug-fix.yaml (built-in)",),
    )


def test_a_former_name_is_heard_and_told_nowhere(shelf):
    """What a plan was made from goes on working; a template of one's own has the name if it wants it."""
    assert shelf.template("bugfix").text == shelf.template("bug-fix-short").text
    assert not {"bugfix", "refactor", "feature"} & set(shelf.names())
    put(shelf, "refactor.md", "# Own\n")
    assert shelf.template("refactor").text == "# Own\n"


def test_of_two_formats_in_one_folder_yaml_wins(shelf):
    """A long and a short ending are the same format."""
    for name in ("a.md", "a.yml", "a.yaml"):
        put(shelf, name, f"name: {name}\n")
    sheet = shelf.template("a")
    assert sheet.text == "name: a.yaml\n"
    assert sheet.hides == ("a.yml (project)", "a.md (project)")


def test_names_are_those_that_can_be_found(shelf, tmp_path):
    """No folders, no other endings, no names that are none, no links to the outside."""
    for name in ("own.yml", "Own.yaml", "other.txt", ".yaml", "a.b.yaml"):
        put(shelf, name)
    (shelf.folder / "folder.yaml").mkdir()
    (tmp_path / "secret.yaml").write_text("name: secret")
    (shelf.folder / "secret.yaml").symlink_to(tmp_path / "secret.yaml")
    (shelf.folder / "inside.yaml").symlink_to(shelf.folder / "own.yml")
    own = set(shelf.names()) - set(TemplateDirectory(folder=tmp_path / "none").names())
    assert own == {"own", "inside"}
    with pytest.raises(NotFound) as caught:
        shelf.template("secret")
    assert "own" in caught.value.hint


@pytest.mark.parametrize("name", ["../secret", "a/b", "A", "..", "", "a.yaml", "a\n", "x" * 65])
def test_a_name_is_no_path(shelf, name):
    """Only small letters, digits and two signs."""
    with pytest.raises(InvalidInput):
        shelf.template(name)


def test_a_file_that_is_no_text_is_refused(shelf):
    """Bytes that are not UTF-8, and a file without end; a mark at its beginning is no text."""
    (shelf.folder / "bytes.yaml").write_bytes(b"\xff")
    (shelf.folder / "long.yaml").write_bytes(b"#" * 1_000_001)
    (shelf.folder / "mark.yaml").write_bytes(b"\xef\xbb\xbf" + YAML.encode())
    for name in ("bytes", "long"):
        with pytest.raises(InvalidInput, match=name):
            shelf.template(name)
    assert shelf.template("mark").text == YAML


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_shipped_template_is_worth_using(shelf, name):
    """It says what its variables are, gives guidance, and makes a plan whose order holds."""
    sheet = shelf.template(name)
    entry = filling.entry(sheet)
    assert (entry.problem, entry.unused, entry.source) == ("", (), "built_in")
    assert entry.phases_count >= 4
    assert "{{" not in entry.description
    assert all(variable.description for variable in entry.variables)
    needed = {one.name: one.examples[0] for one in entry.variables if one.required}
    assert needed
    filled = filling.fill(sheet, needed)
    assert len(filled.guidelines) >= 5
    planned = plan_of(filled.draft, lambda item: False)
    assert all(part.draft.body for part in planned if part.draft.kind == "phase")
    assert "{{" not in "".join(part.draft.title + part.draft.body for part in planned)
    for variable in entry.variables:
        for example in variable.examples:
            assert filling.fill(sheet, needed | {variable.name: example})


def test_the_feature_template_is_that_of_its_documents(shelf):
    """Five phases and one variable that must be given."""
    entry = filling.entry(shelf.template("feature-development"))
    assert (entry.name, entry.phases_count) == ("Feature Development", 5)
    assert [one.name for one in entry.variables if one.required] == ["FEATURE_NAME"]


def test_the_short_templates_stay(shelf):
    """Those in Markdown go on under their names."""
    assert {"bug-fix-short", "feature-short", "refactoring-short", *BUILT_IN} <= set(shelf.names())
    for name in ("bug-fix-short", "feature-short", "refactoring-short"):
        assert filling.entry(shelf.template(name)).problem == ""


def test_threads_that_keep_a_checkpoint_at_once_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have written their drafts before either takes the place of the last."""
    anchors, both = FileAnchors(folder=tmp_path), threading.Barrier(2)
    faults: list[Unavailable] = []
    replace = Path.replace

    def together(self: Path, target: Path) -> Path:
        both.wait(10)
        return replace(self, target)

    def keep(note: str) -> None:
        try:
            anchors.keep("demo", note)
        except Unavailable as fault:
            faults.append(fault)

    monkeypatch.setattr(Path, "replace", together)
    threads = [threading.Thread(target=keep, args=(note,)) for note in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert faults == []
    assert anchors.last("demo") in {"one", "two"}
    assert [file.name for file in tmp_path.iterdir()] == ["demo.note"]


def test_a_checkpoint_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    """A folder that cannot be made is no defect of the program."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unavailable, match="cannot be kept"):
        FileAnchors(folder=tmp_path / "file").keep("demo", "note")
