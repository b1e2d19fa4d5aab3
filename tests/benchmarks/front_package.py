"""Two generated clients of one API, restencil's and that of openapi-python-client: orders in the envelope of DRF."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from processes import PythonPeers, run
from shapes import WORK

FOLDER: Final = WORK / "front"

_SPEC: Final = """
restencil: 1
package: ours
url_prefix: https://api.test
resources:
  customers:
    path: /customers/:id
    schema: {entity: Customer, fields: {id: integer, name: string, since: datetime}}
  products:
    path: /products/:id
    schema: {entity: Product, fields: {id: integer, name: string, since: datetime}}
  orders:
    path: /orders/:id
    schema:
      entity: Order
      fields:
        id: integer
        name: string
        state: string
        total: decimal
        created_at: datetime
        updated_at: datetime
        customer: Customer
        product: Product
    pagination_field: page
    endpoints:
      get_list: {schema: {count: integer, next: string?, previous: string?, results: {collection: [Order]}}}
"""

_TEXT: Final = {"type": "string"}
_MOMENT: Final = {"type": "string", "format": "date-time"}


def _object(**members: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(members), "properties": members}


def _document() -> dict[str, Any]:
    named = _object(id={"type": "integer"}, name=_TEXT, since=_MOMENT)
    order = _object(
        id={"type": "integer"},
        name=_TEXT,
        state=_TEXT,
        total={"type": "string", "format": "decimal"},
        created_at=_MOMENT,
        updated_at=_MOMENT,
        customer={"$ref": "#/components/schemas/Customer"},
        product={"$ref": "#/components/schemas/Product"},
    )
    page = _object(
        count={"type": "integer"},
        next={"type": "string", "nullable": True},
        previous={"type": "string", "nullable": True},
        results={"type": "array", "items": {"$ref": "#/components/schemas/Order"}},
    )
    answer = {
        "description": "a page",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Page"}}},
    }
    operation = {"operationId": "orders_list", "tags": ["orders"], "responses": {"200": answer}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Theirs", "version": "1"},
        "servers": [{"url": "https://api.test"}],
        "paths": {"/orders": {"get": operation}},
        "components": {"schemas": {"Customer": named, "Product": named, "Order": order, "Page": page}},
    }


def ours() -> Path:
    """The folder in which the package `ours` lies."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    spec = FOLDER / "ours.yaml"
    spec.write_text(_SPEC, encoding="utf-8")
    run([sys.executable, "-m", "restencil_generator", "generate", str(spec), "--out", str(FOLDER)], cwd=FOLDER)
    return FOLDER


def theirs(peers: PythonPeers) -> Path:
    """The folder in which the package of openapi-python-client lies."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    document, out = FOLDER / "theirs.json", FOLDER / "theirs"
    document.write_text(json.dumps(_document()), encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    command = [peers.command("openapi-python-client"), "generate", "--path", str(document), "--output-path", str(out)]
    run(command, cwd=FOLDER, env=peers.env())
    return out
