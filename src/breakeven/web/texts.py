"""The token's page, and what assistants read first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.reporting.words import Words
from breakeven.web.asked import Answer
from breakeven.web.blocks import Control, Form, Page, Text
from breakeven.web.security import COOKIE, is_token, safe_target, session_of

if TYPE_CHECKING:
    from breakeven.web.asked import Asked
    from breakeven.web.blocks import Block

_COOKIE_S = 7 * 24 * 3600

LLMS = """# breakeven

> Choose which GPU to rent by cost per accepted result, not price per hour. Every price has a date and a source, every
> prediction an interval and the measurements it rests on; unknown is an answer.

Every page has a Markdown twin: add .md to its path (/index.md for the first), or ask for text/markdown. `?locale=fr`
answers in French, `?as_of=2026-10-19` as of that day.

## Pages

- [Decide a job](/index.md): the ranked offers for a job, the winner, when it flips, what to do next. `?from=NAME`
  starts from an example, `?text=YAML` decides a job file, and any key can be set: `?from=qlora-8b-10k-pairs&runs=20`
- [Compare two GPUs](/compare/nvidia-h100-sxm-80gb-vs-nvidia-a100-sxm-80gb.md): specifications, prices, break-even
- [Offers](/offers.md): what is for rent; `?gpu=h100&market=on-demand&max_price=3`
- [Runs](/runs.md), [evidence](/evidence.md), [records](/records.md)

## JSON

- [OpenAPI document](/api/openapi.json): POST a job file to /api/decide, /api/predict or /api/rent-or-api; GET
  /api/compare, /api/offers, /api/gpus/identify, /api/evidence
- [Examples of job files](/api/examples), and [the schema of the job file](/api/job.schema.json)
"""


def llms_txt(_asked: Asked) -> Answer:
    """What assistants find here."""
    return Answer(content=LLMS, kind="text/plain")


def login_page(asked: Asked, *, is_wrong: bool = False) -> Page:
    """The form that asks for the token."""
    words = Words(asked.locale)
    form = Form(
        "/login",
        [Control("token", words("token"), "password")],
        words("Open"),
        is_change=True,
        hidden={"next": safe_target(asked.text("next") or "/")},
    )
    blocks: list[Block] = [form]
    if is_wrong:
        blocks.insert(0, Text(words("This is not the token."), "warning"))
    about = words("This server asks for its token. Who runs it can tell you.")
    return Page(title=words("Token"), about=about, blocks=blocks, status=403 if is_wrong else 200)


def log_in(asked: Asked) -> Page | Answer:
    """A cookie for the one who knows the token."""
    token = asked.settings.token
    given = (asked.form.get("token") or [""])[0]
    if token is None or not is_token(given, token):
        return login_page(asked, is_wrong=True)
    cookie = f"{COOKIE}={session_of(token)}; HttpOnly; SameSite=Strict; Path=/; Max-Age={_COOKIE_S}"
    target = safe_target((asked.form.get("next") or ["/"])[0])
    return Answer(
        content="", status=303, headers={"location": target, "set-cookie": cookie, "cache-control": "no-store"}
    )
