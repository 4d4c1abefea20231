"""`/docs`: the whole API on one page, to read and to try, with nothing from elsewhere."""

from __future__ import annotations

import os
from functools import cache

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def docs_routes() -> APIRouter:
    router = APIRouter()

    @router.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page(), headers={"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"})

    return router


@cache
def page() -> str:
    with open(os.path.join(os.path.dirname(__file__), "docs_page.html"), encoding="utf-8") as file:
        return file.read()
