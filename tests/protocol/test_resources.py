"""Resources: addresses, templates and what is read there."""

from __future__ import annotations

from types import ModuleType

import pytest

from counterpoint.kernel.errors import NotFound, Unexpected
from counterpoint.protocol.resources import open_resource, resource


def test_a_template_answers_its_variables_decoded(small: ModuleType) -> None:
    """Percent-encoded characters come back as themselves."""
    assert small.notes.match("small://items/a%20b/notes") == {"item": "a b"}
    assert small.notes.match("small://items/%C3%A9/notes") == {"item": "é"}


@pytest.mark.parametrize(
    "uri",
    [
        "small://items//notes",
        "small://items/a/b/notes",
        "small://items/%ff/notes",
        "small://items/a/notes/",
        "small://items/a/notes\n",
        "",
    ],
)
def test_an_address_that_does_not_fit_is_not_found(small: ModuleType, uri: str) -> None:
    """A variable is one or more plain characters, and the whole address must fit."""
    with pytest.raises(NotFound):
        open_resource((small.notes, small.about), uri)


def test_a_fixed_address_wins_over_a_template() -> None:
    """The order in which they are written does not matter."""

    @resource("x://{any}")
    def family(call: object, **variables: str) -> str:
        """Any of them."""
        return "any"

    @resource("x://one")
    def single(call: object) -> str:
        """One of them."""
        return "one"

    assert open_resource((family, single), "x://one") == (single, {})


def test_a_resource_is_read_under_the_same_net(small: ModuleType) -> None:
    """Refusals pass; anything else is logged and says nothing."""
    surface = small.build()
    assert surface.read(small.Call, "small://items/cp-1/notes")[1] == "# notes of cp-1"
    with pytest.raises(NotFound):
        surface.read(small.Call, "small://items/none/notes")
    with pytest.raises(Unexpected) as caught:
        surface.read(small.Call, "small://items/broken/notes")
    assert small.SECRET not in caught.value.message
