"""Forms of the board, as a browser fills them in and sends them."""

from __future__ import annotations

import re
from typing import Any

ADDRESS = "http://127.0.0.1:8765"


def fields_of(browser: Any, page: str, action: str) -> dict[str, str]:
    """Answer the hidden fields of a form on a page."""
    form = browser.get(page).text.partition(f'action="{action}"')[2].partition("</form>")[0]
    assert form, (page, action)
    return dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))


def act(browser: Any, verb: str, item: str, page: str = "items", **more: str) -> Any:
    """Load a page, fill in a form of it, and send that."""
    fields = fields_of(browser, f"/{page}/{item}", f"/acts/{verb}/{item}")
    return post(browser, verb, item, {**fields, **more})


def post(browser: Any, verb: str, item: str, fields: dict[str, str], **headers: str) -> Any:
    """Send the fields of a form."""
    return browser.post(
        f"/acts/{verb}/{item}",
        data=fields,
        headers={"origin": ADDRESS, **headers},
        follow_redirects=False,
    )


def fields_text(browser: Any, page: str, name: str) -> str:
    """Answer what a field for texts of a page begins with."""
    return str(browser.get(page).text.partition(f'name="{name}"')[2].partition("</textarea>")[0])
