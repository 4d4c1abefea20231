"""`/docs`: the whole API on one page, to read and to try. It loads nothing from other sites."""

from pathlib import Path

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
        page = Path(__file__).with_name("docs_page.html").read_text("utf-8")
        return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"})

    return router
