"""The API of the freshness tests as a spec, and the packages that are generated from it."""

from __future__ import annotations

import atexit
import functools
import importlib
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import restencil_generator

STYLES: Final = {
    "by_page": ("page", "{style: page}", "{collection: [Item]}"),
    "by_offset": (
        "offset",
        "{style: offset, total: total, size: {param: limit, value: 2}}",
        "{items: {collection: [Item]}, total: integer}",
    ),
    "by_cursor": (
        "cursor",
        "{style: cursor, next: meta.next}",
        "{items: {collection: [Item]}, meta: {object: {next: string?}}}",
    ),
    "by_header": ("cursor", '{style: cursor, next: "header:X-Next"}', "{collection: [Item]}"),
    "by_last": ("after", "{style: cursor, next: last.id, more: more}", "{items: {collection: [Item]}, more: boolean}"),
    "by_link": ("page", "{style: link}", "{collection: [Item]}"),
    "by_url": ("page", "{style: url, next: next}", "{items: {collection: [Item]}, next: string?}"),
}
"""Endpoints of the same list in pages: the field that names a page, how the next one is found, and the response."""

_TEXT: Final = """\
restencil: 1
package: PACKAGE
url_prefix: http://server.test
options:
  data_expiry_length: 60s
  needs: NEEDS
  freshness: FRESHNESS

enums:
  Kind: [a, b]

entities:
  User:
    indexes: [name]
    fields: {id: integer, name: NAME, items: {collection: [Item], nest: {owner: id}}}
  Team: {fields: {id: integer, name: string, motto: string?}}
  Note: {fields: {id: integer, item_id: integer, text: string}}
  Doc: {fields: {id: string, slug: string, text: string}}
  Part: {fields: {id: integer, doc: string, text: string}}
  Model: {pk: name, fields: {name: string, text: string, stage: string}}

resources:
  items:
    path: /items/:id
    schema:
      entity: Item
      fields:
        id: integer
        title: TITLE
        kind: Kind
        state: string
        rank: integer
        body: string
        note: string?
        owner: User?
        team: Team?
        revision: {type: integer, read_only: true}
        notes: {type: integer, read_only: true}
    search_params:
      kind: Kind?
      rank: integer?
      owner: integer?
      title: string?
      state: {type: string?, filter: equals}
      order: string?
    collection: {non_filter_arguments: [order]}
    optimistic: OPTIMISTIC
    endpoints:
      get_list: {schema: GET_LIST}
      every: {path: /items/every, search_params: {}, schema: [Item]}
      latest: {path: /items/latest, search_params: {}, schema: [Item]}
      visits: {path: /items/:id/visits, search_params: {}, schema: {count: integer}}
      visit: {method: POST, path: /items/:id/visits, body: any, schema: Item}
      assign: {method: POST, path: /items/:id/assign, body: any, schema: User}
      pin: {method: POST, path: /items/:id/pin, body: any, schema: {item: Item, ok: boolean}}
      mute: {method: POST, path: /items/:id/mute, body: any, schema: null}
      clear_visits: {method: DELETE, path: /items/:id/visits, body: null, schema: null}
      rename: {extends: partial_update, body: {id: integer}}
      change_many: {method: POST, path: /items/bulk, body: any, schema: null}
      change_many_shown: {method: POST, path: /items/bulk, body: any, schema: [Item]}
      delete_many: {method: POST, path: /items/bulk_delete, body: any, schema: null}
      titles: {path: /items/titles, search_params: {}, schema: [string]}
      archived: {extends: get_list, path: /items/archived, search_params: {}, schema: {collection: [Item]}}
      card: {path: /items/:id/card, search_params: {}, schema: {item: Item}}
      board: {path: /items/board, search_params: {}, schema: {a: {collection: [Item]}, b: {collection: [Item]}}}
PAGED
  users:
    path: /users/:id
    schema: User
    endpoints:
      get_list: {schema: USER_LIST}
      create: {expires: [newest, stats]}
      delete: {expires: [newest, stats]}
      newest: {path: /users/newest, schema: User}
      join:
        method: POST
        path: /users/join
        body: any
        schema: User
        update: "python:tests.freshness.hooks:newest"
        expires: [stats]
      by_name: {path: /users/name/:name, schema: User, params: {name: {field: name}}}

  teams:
    path: /teams/:id
    schema: Team
    optimistic: OPTIMISTIC
    endpoints:
      adopt: {method: POST, path: /teams/:id/adopt, body: any, schema: Item}
      delete: {expires: [items, notes, settings, users]}
      rally: {method: POST, path: /teams/:id/rally, body: null, schema: null, expires: [items, users]}

  stats: {endpoints: {get: {path: /stats, method: GET, schema: {count: integer}}}}

  notes: {path: /items/:item_id/notes/:id, schema: Note}

  docs:
    path: /docs/:doc
    schema: Doc
    endpoints: {by_slug: {path: /docs/slug/:slug, schema: Doc, params: {slug: {field: slug}}}}
  parts: {path: /docs/:doc/parts/:id, schema: Part}
  parts_by_slug: {path: /docs/slug/:slug/parts/:id, schema: Part}

  settings:
    path: /items/:item_id/settings
    singleton: true
    schema: {entity: Settings, pk: item_id, fields: {item_id: integer, color: string, plain: boolean}}
    optimistic: OPTIMISTIC

  models:
    endpoints:
      get: {path: /models/get, method: GET, search_params: {name: {type: string, field: name}}, schema: Model}
      search: {path: /models/search, schema: {models: [Model]}}
      create: {method: POST, path: /models/create, body: {name: string, text: string}, schema: Model}
      update: {method: PATCH, path: /models/update, body: {name: string, text: string}, schema: Model}
      stage: {method: POST, path: /models/stage, body: {name: string, stage: string}, schema: Model}
      delete: {method: DELETE, path: /models/delete, body: {name: string}, schema: {invalidate: Model}}
"""


class Variant(NamedTuple):
    """A form that the package may have: optimistic changes, what `get_list` answers, and what a whole record needs."""

    optimistic: bool = False
    envelope: bool = False
    needs: str = "all"
    freshness: str = "client"
    unstored: bool = False
    """Whether a field of items and the name of users are without `persist`."""

    @property
    def package(self) -> str:
        """The name of the package, which tells one form from another."""
        words = ["fresh", *(["optimistic"] if self.optimistic else []), *(["envelope"] if self.envelope else [])]
        words += ["unstored"] if self.unstored else []
        return "_".join([*words, self.needs, self.freshness])


def text(variant: Variant) -> str:
    """The spec of a variant."""
    paged = "".join(
        f"      {name}: {{extends: get_list, path: /items/{name}, schema: {schema}, search_params: {{}}, "
        f"pagination_field: {field}, pagination: {pagination}}}\n"
        for name, (field, pagination, schema) in STYLES.items()
    )
    lists = [
        f"{{{name}: {{collection: [{entity}]}}, total: integer}}" if variant.envelope else f"{{collection: [{entity}]}}"
        for name, entity in (("items", "Item"), ("users", "User"))
    ]
    field = "{type: string, persist: false}" if variant.unstored else "string"
    return (
        _TEXT.replace("PACKAGE", variant.package)
        .replace("OPTIMISTIC", str(variant.optimistic).lower())
        .replace("NEEDS", variant.needs)
        .replace("FRESHNESS", variant.freshness)
        .replace("GET_LIST", lists[0])
        .replace("USER_LIST", lists[1])
        .replace("PAGED\n", paged)
        .replace("TITLE", field)
        .replace("NAME", field)
    )


@functools.cache
def package(variant: Variant) -> ModuleType:
    """The package of a variant, generated from its spec and imported; made once in a process."""
    return generated(text(variant), variant.package)


def generated(spec: str, name: str) -> ModuleType:
    """The package that the generator makes of this spec, imported under its name."""
    folder = Path(tempfile.mkdtemp(prefix="freshness-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # its modules are imported when they are first used
    file = folder / f"{name}.yaml"
    file.write_text(spec, "utf-8")
    restencil_generator.write(file, folder)
    sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


def client_class(module: ModuleType, *, asynchronous: bool) -> Any:
    """The client of a package, for blocking code or for asyncio."""
    name = "".join(word.capitalize() for word in module.__name__.split("_"))
    return getattr(module, f"Async{name}" if asynchronous else name)
