"""Acts in hints: slots that each face fills with its own phrases."""

from __future__ import annotations

from counterpoint.kernel.acts import Act, say
from counterpoint.kernel.errors import Conflict, NotReady


def test_a_hint_is_said_in_the_phrases_of_a_face() -> None:
    """An act that opens a sentence gets a capital, one within does not."""
    hint = f"{Act.REOPEN} first. {Act.VERIFY}, or {Act.REOPEN}."
    assert say(hint, {Act.REOPEN: "use `x`", Act.VERIFY: "run `y`"}) == (
        "Use `x` first. Run `y`, or use `x`."
    )


def test_an_act_without_a_phrase_is_said_in_plain_words() -> None:
    """So a face that knows no tools still says what to do."""
    refused = Conflict("it is closed", hint=f"{Act.REOPEN} first.")
    assert refused.hint == "Reopen it first."
    assert refused.hint_in({Act.REOPEN: "call `edit`"}) == "Call `edit` first."


def test_the_hint_of_a_class_has_acts_too() -> None:
    """What is raised without a hint of its own speaks in the face's phrases as well."""
    assert NotReady().hint == "Take other work."
    assert NotReady().hint_in({Act.TAKE_OTHER_WORK: "call `next`"}) == "Call `next`."


def test_braces_that_name_no_act_stay_as_they_are() -> None:
    """A hint may quote what somebody wrote."""
    assert say("Mend {name} and { verify }.", {}) == "Mend {name} and { verify }."


def test_a_phrase_that_opens_with_a_mark_stays_as_it_is() -> None:
    """There is nothing to capitalise in a name of code."""
    assert say(f"{Act.REOPEN}.", {Act.REOPEN: "`edit` does it"}) == "`edit` does it."
