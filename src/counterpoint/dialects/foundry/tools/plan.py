"""Plans in Markdown that specs are made from."""

from __future__ import annotations

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.plan_files import PlanFile
from counterpoint.dialects.foundry.verbs.plans import Plans
from counterpoint.dialects.foundry.words import Cursor, LongLimit, Name
from counterpoint.dialects.paging import pages_of
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action, of_actions


@action(reads=False)
def create(call: Call, name: Name) -> Json:
    """Write the skeleton of one."""
    slug, path = call.core.use(Plans).create(name)
    return present({"plan_name": name, "plan_slug": slug, "plan_path": path})


@action(reads=True, plain=True)
def list_(call: Call, limit: LongLimit = 100, cursor: Cursor = "") -> Json:
    """Plans with their reviews."""
    plans = call.core.use(Plans)
    pages = pages_of(call, cursor, "plans", first="")
    every = plans.list()
    rows = [one for one in every if one.name > str(pages.at)]
    shown, rest = pages.rows(rows[: limit + 1], limit, _plan, lambda one: one.name)
    data: dict[str, Json] = {"plans": shown, "count": len(shown), "plans_dir": plans.folder()}
    return present(data, pagination=page(rest, len(shown), len(every)))


plan = of_actions("plan", "Plans that specs are made from.", (create, list_))


def _plan(one: PlanFile) -> Json:
    reviews = list(one.reviews)
    return {
        "name": one.name,
        "path": one.path,
        "size_bytes": one.size_bytes,
        "modified": one.modified,
        "reviews": reviews,
        "has_review": bool(reviews),
    }
