"""The documents of a mock server: its API as OpenAPI 3.1 and 3.0, and a page with Swagger UI.

The page loads everything from this server, and sends nothing to other hosts.
"""

from __future__ import annotations

import html
import json
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from starlette.responses import HTMLResponse, JSONResponse, Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from restencil_generator.spec.model import Spec

HOME: Final = "/_restencil"
"""The base path of the documents; they are also at the root if the API has no such path."""

_VERSIONS: Final[Mapping[str, Any]] = {"/openapi.json": "3.1", "/openapi-3.0.json": "3.0"}
_PAGE: Final = "/docs"
_SCRIPT: Final = "start.js"
_ASSETS: Final[Mapping[str, str]] = {
    _SCRIPT: "text/javascript",
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon-32x32.png": "image/png",
}
_HTML: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_OPTIONS: Final = {"url": "openapi-3.0.json", "dom_id": "#swagger-ui", "validatorUrl": None, "deepLinking": True}
_START: Final = f"window.ui = SwaggerUIBundle({json.dumps(_OPTIONS)});\n"
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy of the page: only resources of this server, and no inline scripts.

Inline styles are allowed because Swagger UI needs them.
"""


class Documents:
    """The documents of one spec. With `auth_server` its tokens are requested from this server."""

    def __init__(self, spec: Spec, *, auth_server: bool) -> None:
        self._spec = spec
        self._auth_server = auth_server

    @staticmethod
    def has(path: str) -> bool:
        """Return whether there is a document at a path."""
        place = path.removeprefix(HOME)
        return place in _VERSIONS or place == _PAGE or place.removeprefix(f"{_PAGE}/") in _ASSETS

    def response(self, path: str, address: str) -> Response:
        """Return the document at a path; `address` is the base URL of the API."""
        place = path.removeprefix(HOME)
        if place in _VERSIONS:
            return JSONResponse(self._document(place, address))
        if place != _PAGE:
            name = place.removeprefix(f"{_PAGE}/")
            return Response(_asset(name), media_type=_ASSETS[name])
        if _folder() is None:
            message = "the page needs Swagger UI: pip install 'restencil[mock]'"
            return JSONResponse({"error": "not_found", "message": message}, HTTPStatus.NOT_FOUND)
        title = html.escape(self._spec.title or self._spec.package)
        return HTMLResponse(_HTML.format(title=title), headers={"Content-Security-Policy": _POLICY})

    def _document(self, place: str, address: str) -> dict[str, Any]:
        # imported on first use, so that the server starts faster
        from restencil_generator.openapi.export.document import export

        document = export(self._spec, _VERSIONS[place], plain=True)
        document["servers"] = [{"url": address}]
        for item in document["paths"].values():
            for operation in item.values():
                operation.pop("servers", None)
        if self._auth_server:
            for scheme in document["components"].get("securitySchemes", {}).values():
                for flow in scheme.get("flows", {}).values():
                    flow["tokenUrl"] = address + (urlsplit(str(flow["tokenUrl"])).path or "/")
        return document


@cache
def _folder() -> Path | None:
    """Return the folder of Swagger UI; None if it is not installed."""
    try:
        from swagger_ui_bundle import swagger_ui_path  # type: ignore[import-untyped]  # it has no types
    except ImportError:
        return None
    return Path(swagger_ui_path)


@cache
def _asset(name: str) -> bytes:
    if name == _SCRIPT:
        return _START.encode()
    folder = _folder()
    return b"" if folder is None else (folder / name).read_bytes()
