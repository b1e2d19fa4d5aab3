"""Edits of one spec, each with the changes that it makes: its rule, and the node that it is told of.

An edit replaces texts of `before.yaml`, or of `wide.yaml`, which has the words that the language got later.
The tests ask `compare` for what it found, and then ask the world: a type checker whether code written against the old
package still passes, and a store whether it still reads.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Final

BEFORE: Final = (Path(__file__).parent / "before.yaml").read_text("utf-8")
BEFORE_WIDE: Final = (Path(__file__).parent / "wide.yaml").read_text("utf-8")


@dataclasses.dataclass(frozen=True, slots=True)
class Edit:
    """Texts of the spec and what stands in their place, and the findings: `rule node`, in any order.

    `code` is a line of calling code that a type checker no longer passes, where callers break.
    """

    texts: tuple[str, ...]
    findings: tuple[str, ...]

    def of(self, spec: str) -> str:
        """The edited spec."""
        for old, new in zip(self.texts[::2], self.texts[1::2], strict=True):
            assert spec.count(old) == 1, (old, spec.count(old))
            spec = spec.replace(old, new)
        return spec


def edit(*texts: str, to: str) -> Edit:
    """An edit; `to` has the findings, one in a line."""
    return Edit(texts, tuple(line.strip() for line in to.splitlines() if line.strip()))


RESOURCE = "\n  media:\n"
ENTITY = "\n  Link:\n"
FIND = "      find:\n"

EDITS: Final = (
    # ---------------------------------------------------------------------------------------- the package, the client
    edit("package: shop\n", "package: store\n", to="package-renamed package"),
    edit("package: shop\n", "package: shop\nclient: Bazaar\n", to="client-renamed client"),
    edit("title: Shop\n", "title: A shop\n", to="description-changed title"),
    edit("description: What is for sale.\n", "", to="description-changed description"),
    edit("user_agent: shop/1", "user_agent: shop/2", to="user-agent-changed user_agent"),
    edit(
        "url_prefix: https://api.shop.example/v1",
        "url_prefix: https://api.shop.example/v2",
        to="url-prefix-changed url_prefix",
    ),
    edit("headers: {X-Client: restencil}", "headers: {X-Client: other}", to="headers-changed headers.X-Client"),
    edit("headers: {X-Client: restencil}\n", "", to="headers-changed headers.X-Client"),
    edit("timeout: 10s", "timeout: 20s", to="patience-changed options.timeout"),
    edit("timeout: 10s, retries: 2", "timeout: 10s", to="patience-changed options.retries"),
    edit("timeout: 10s", "timeout: 10s, data_expiry_length: 5s", to="freshness-changed options.data_expiry_length"),
    edit("timeout: 10s", "timeout: 10s, error_policy: soft", to="error-policy-changed options.error_policy"),
    edit("timeout: 10s", "timeout: 10s, validate: strict", to="answers-changed options.validate"),
    edit("timeout: 10s", "timeout: 10s, persist: false", to="persist-changed options.persist"),
    edit("timeout: 10s", "timeout: 10s, conditional: false", to="freshness-changed options.conditional"),
    edit("timeout: 10s", "timeout: 10s, freshness: {server: {at_most: 1h}}", to="freshness-changed options.freshness"),
    edit("timeout: 10s", "timeout: 10s, concurrency: etag", to="concurrency-changed options.concurrency"),
    edit("errors: {404: NotFound, 4XX", "errors: {4XX", to="error-type-removed errors.404"),
    edit("4XX: Problem", "4XX: NotFound", to="error-type-changed errors.4XX"),
    edit("4XX: Problem", "4XX: Problem, 5XX: Problem", to="error-type-added errors.5XX"),
    edit("user_agent: shop/1", "request_id: X-Id\nuser_agent: shop/1", to="headers-changed request_id"),
    edit(
        "user_agent: shop/1",
        "inert_headers: [X-Trace]\nuser_agent: shop/1",
        to="argument-left-key inert_headers.x-trace",
    ),
    edit("user_agent: shop/1", "endpoint: python:shop_hooks:Base\nuser_agent: shop/1", to="hook-changed endpoint"),
    edit("user_agent: shop/1", "absent: zero\nuser_agent: shop/1", to="answers-changed absent"),
    # ------------------------------------------------------------------------------------------------- enums, objects
    edit("[open, paid, sent]", "[open, paid]", to="enum-value-removed enums.Status.sent"),
    edit("[open, paid, sent]", "[open, paid, sent, lost]", to="enum-value-added enums.Status.lost"),
    edit("[open, paid, sent]", "[open, sent, paid]", to=""),
    edit("RED: red", "ROUGE: red", to="enum-constant-changed enums.Color.red"),
    edit(
        "{RED: red, BLUE: blue}",
        "[red, blue]",
        to="enum-constant-changed enums.Color.red\nenum-constant-changed enums.Color.blue",
    ),
    edit(
        "[open, paid, sent]",
        "{OPEN: open, PAID: paid, SENT: sent}",
        to="type-added enums.Status.open\ntype-added enums.Status.paid\ntype-added enums.Status.sent",
    ),
    edit("enums:\n", "enums:\n  Size: [small]\n", to="type-added enums.Size"),
    edit("  Color: {RED", "  Colour: {RED", "color: Color", "color: Colour", to="type-renamed enums.Colour"),
    edit("city: string", "city: string?", to="field-optional objects.Address.city"),
    edit("zip: string?", "zip: string", to="field-certain objects.Address.zip"),
    edit("city: string", "city: string, country: string", to="field-added objects.Address.country"),
    edit("street: string, ", "", to="field-removed objects.Address.street"),
    edit("street: string, ", "road: {type: string, wire: street}, ", to="field-renamed objects.Address.road"),
    edit("street: string, ", "street: {type: string, wire: road}, ", to="field-wire-changed objects.Address.street"),
    edit("street: string, ", "street: integer, ", to="field-type-changed objects.Address.street"),
    edit("  Address: {", "  Place: {", "address: Address", "address: Place", to="type-renamed objects.Place"),
    edit("  Address: {", "  Place: {x: integer}\n  Address: {", to="type-added objects.Place"),
    edit(
        "  Address: {street: string, city: string, zip: string?}\n",
        "",
        "      address: Address\n",
        "",
        to="type-removed objects.Address\nfield-removed entities.Item.address",
    ),
    # ------------------------------------------------------------------------------------------------------- entities
    edit("price: decimal", "price: number", to="field-type-changed entities.Item.price"),
    edit("weight: number\n", "weight: number?\n", to="field-optional entities.Item.weight"),
    edit("note: string?", "note: string", to="field-certain entities.Item.note"),
    edit("      note: string?\n", "", to="field-removed entities.Item.note"),
    edit("note: string?", "note: string?\n      more: string?", to="field-added entities.Item.more"),
    edit("note: string?", "note: string?\n      more: string!", to="body-member-required entities.Item.more"),
    edit("city: string", "city: string, country: string!", to="body-member-required objects.Address.country"),
    edit("note: string?", "note: string?\n      more: {type: string, default: x}", to="field-added entities.Item.more"),
    edit("note: string?", "note: string?\n      more: string", to="field-added-without-default entities.Item.more"),
    edit("note: string?", "remark: {type: string?, wire: note}", to="field-renamed entities.Item.remark"),
    edit("note: string?", "note: {type: string?, wire: n}", to="field-wire-changed entities.Item.note"),
    edit("default: untitled", "default: nameless", to="field-default-changed entities.Item.title"),
    edit("read_only: true", "read_only: false", to="field-writable entities.Item.hidden"),
    edit("code: string\n", "code: {type: string, read_only: true}\n", to="field-read-only entities.Item.code"),
    edit("deprecated: Say nothing.", "deprecated: Be quiet.", to="description-changed entities.Item.secret"),
    edit(", deprecated: Say nothing.", "", to="deprecated-removed entities.Item.secret"),
    edit("note: string?", "note: {type: string?, deprecated: Old.}", to="deprecated-added entities.Item.note"),
    edit("description: When it was made.", "description: The moment.", to="description-changed entities.Item.made_at"),
    edit("tags: [string]", "tags: [integer]", to="field-type-changed entities.Item.tags"),
    edit("tags: [string]", "tags: [string?]", to="field-optional entities.Item.tags"),
    edit("color: Color", "color: string", to="field-type-changed entities.Item.color"),
    edit(
        "note: string?",
        "note: {type: string?, decode: python:shop_hooks:decode}",
        to="hook-changed entities.Item.note.decode",
    ),
    edit("note: string?", "note: {type: string?, persist: false}", to="persist-changed entities.Item.note"),
    edit("indexes: [code]", "indexes: [code, title]", to="index-added entities.Item.indexes.title"),
    edit("    indexes: [code]\n", "", to="index-removed entities.Item.indexes.code"),
    edit("indexes: [code]", "indexes: [code]\n    key: Ware", to="table-renamed entities.Item.key"),
    edit("indexes: [code]", "indexes: [code]\n    pk: code", to="pk-changed entities.Item.pk"),
    edit("pk: [order, number]", "pk: [number, order]", to="pk-changed entities.Part.pk"),
    edit("indexes: [code]", "indexes: [code]\n    persist: false", to="persist-changed entities.Item.persist"),
    edit(
        "indexes: [code]",
        "indexes: [code]\n    validate: python:shop_hooks:valid",
        to="hook-changed entities.Item.validate",
    ),
    edit("description: What is sold.", "description: Wares.", to="description-changed entities.Item"),
    edit(
        "    extends: Item\n    fields: {ribbon: string}",
        "    fields: {id: integer, ribbon: string}",
        to="extends-changed entities.Gift",
    ),
    edit("    extends: Item\n", "    extends: Item\n    abstract: true\n", to="abstract-changed entities.Gift"),
    edit("  Gift:\n    extends: Item\n    fields: {ribbon: string}\n", "", to="type-removed entities.Gift"),
    edit(ENTITY, "\n  Extra:\n    fields: {id: integer}" + ENTITY, to="type-added entities.Extra"),
    edit(
        "  User:\n",
        "  Person:\n",
        "schema: User",
        "schema: Person",
        to="type-renamed entities.Person\ntable-renamed entities.Person.key",
    ),
    edit(
        "  User:\n", "  Person:\n    key: User\n", "schema: User", "schema: Person", to="type-renamed entities.Person"
    ),
    edit(
        "wire_names: snake_case",
        "wire_names: camelCase",
        to="""
        field-wire-changed entities.Item.made_at
        argument-wire-changed resources.items.get_list.order_by
        """,
    ),
    # ------------------------------------------------------------------------------------------------------ resources
    edit("  users:\n    path: /users/:id\n    schema: User\n", "", to="resource-removed resources.users"),
    edit(RESOURCE, "\n  gifts: {path: '/gifts/:id', schema: Gift}" + RESOURCE, to="resource-added resources.gifts"),
    edit("\n  users:\n", "\n  people:\n", to="resource-renamed resources.people"),
    edit("\n  users:\n", "\n  users:\n    class: People\n", to="resource-class-renamed resources.users"),
    edit("path: /users/:id", "path: /people/:id", to="path-changed resources.users.path"),
    edit("path: /users/:id", "path: /users/:user", to="path-parameter-renamed resources.users.user"),
    edit("path: /users/:id", "path: /teams/:team/users/:id", to="path-parameters-changed resources.users.path"),
    edit(
        "schema: User\n",
        "schema: User\n    url_prefix: https://users.example\n",
        to="url-prefix-changed resources.users.url_prefix",
    ),
    edit("schema: User\n", "schema: User\n    options: {timeout: 1s}\n", to="patience-changed resources.users.timeout"),
    edit("schema: User\n", "schema: User\n    optimistic: true\n", to="optimistic-changed resources.users.optimistic"),
    edit("schema: User\n", "schema: User\n    deprecated: Gone soon.\n", to="deprecated-added resources.users"),
    edit("schema: User\n", "schema: Item\n", to="result-changed resources.users"),
    edit("description: All that there is.", "description: Everything.", to="description-changed resources.items"),
    edit(
        "schema: User\n",
        "schema: User\n    members: [get, get_list, update, partial_update, delete]\n",
        to="""
        list-member-removed resources.users.get_list.push
        list-member-removed resources.users.get_list.unshift
        """,
    ),
    edit(
        "members: [get, get_list, push, update]",
        "members: [get, get_list, push]",
        to="endpoint-removed resources.parts.update",
    ),
    edit(
        "members: [get, get_list, push, update]",
        "members: [get, get_list, push, update, delete]",
        to="endpoint-added resources.parts.delete",
    ),
    edit(
        "members: [get, get_list, push, update]",
        "members: [get, get_list, push, unshift, update]",
        to="list-member-added resources.parts.get_list.unshift",
    ),
    edit(
        "members: [get, get_list, push, update]",
        "members: [get, get_list, update]",
        to="list-member-removed resources.parts.get_list.push",
    ),
    edit(
        "schema: {union: {link: Link, image: Image}, attribute: type}",
        "schema: {union: {link: Link}, attribute: type}",
        to="union-alternative-removed resources.media",
    ),
    edit("attribute: type}", "attribute: python:shop_hooks:kind}", to="union-attribute-changed resources.media"),
    edit("image: Image}", "image: Image, pic: Gift}", to="union-alternative-added resources.media"),
    # ------------------------------------------------------------------------------------------------------ endpoints
    edit(
        "      clear: {method: POST, path: /items/clear, body: null, schema: null}\n",
        "",
        to="endpoint-removed resources.items.clear",
    ),
    edit("      clear: {", "      wipe: {", to="endpoint-renamed resources.items.wipe"),
    edit(
        "      clear: {",
        "      more: {method: POST, path: /items/more, body: null, schema: null}\n      clear: {",
        to="endpoint-added resources.items.more",
    ),
    edit("clear: {method: POST", "clear: {method: PUT", to="method-changed resources.items.clear.method"),
    edit("path: /items/clear", "path: /items/empty", to="path-changed resources.items.clear.path"),
    edit(
        "clear: {method: POST",
        "clear: {method: POST, side_effect: false",
        to="side-effect-changed resources.items.clear",
    ),
    edit(
        "path: /items/clear, body: null",
        "path: /items/clear, body: {all: boolean}",
        to="body-added resources.items.clear.body",
    ),
    edit("path: /items/find/:kind", "path: /items/look/:kind", to="path-changed resources.items.find.path"),
    edit(
        "params: {kind: {type: string}}",
        "params: {kind: {type: integer}}",
        to="argument-type-changed resources.items.find.kind",
    ),
    edit(
        "params: {kind: {type: string}}",
        "params: {kind: {type: string, slashes: true}}",
        to="argument-style-changed resources.items.find.kind",
    ),
    edit("text: string, loud", "loud", to="argument-removed resources.items.find.text"),
    edit("text: string, loud", "text: string, extra: string?, loud", to="argument-added resources.items.find.extra"),
    edit("text: string, loud", "text: string, extra: string, loud", to="argument-required resources.items.find.extra"),
    edit("since: date?", "since: date", to="argument-required resources.items.find.since"),
    edit("text: string, loud", "text: string?, loud", to="argument-optional resources.items.find.text"),
    edit(
        "text: string, loud",
        "text: {type: string, wire: q}, loud",
        to="argument-wire-changed resources.items.find.text",
    ),
    edit("text: string, loud", "q: {type: string, wire: text}, loud", to="field-renamed resources.items.find.q"),
    edit("text: string, loud", "text: boolean, loud", to="argument-type-changed resources.items.find.text"),
    edit("text: string, loud", "text: Status, loud", to="argument-type-narrowed resources.items.find.text"),
    edit("size: integer", "size: number", to="argument-type-widened resources.items.find.size"),
    edit(
        "{type: boolean, default: false}",
        "{type: boolean, default: true}",
        to="argument-default-changed resources.items.find.loud",
    ),
    edit(
        "words: {type: [string], optional: true}",
        "words: {type: [string], optional: true, style: repeat}",
        to="argument-style-changed resources.items.get_list.words",
    ),
    edit(
        "header_params: {scope",
        "header_params: {lang: {type: string, optional: true}, scope",
        to="argument-added resources.items.find.lang",
    ),
    edit(
        "scope: {type: string, optional: true, wire: X-Scope}, ", "", to="argument-removed resources.items.find.scope"
    ),
    edit("wire: X-Scope}", "wire: X-Range}", to="argument-wire-changed resources.items.find.scope"),
    edit("wire: X-Scope}", "wire: X-Scope, in_key: false}", to="argument-left-key resources.items.find.scope"),
    edit("in_key: false}", "in_key: true}", to="argument-joined-key resources.items.find.trace"),
    edit("wire: X-Scope}", "wire: X-Scope, partition: true}", to="argument-joined-key resources.items.find.scope"),
    edit("in_key: false}", "in_key: false, auto: uuid}", to="argument-default-changed resources.items.find.trace"),
    edit(
        "scope: {type: string, optional: true, wire: X-Scope}, ",
        "",
        "text: string, loud",
        "text: string, scope: string?, loud",
        to="argument-wire-changed resources.items.find.scope",
    ),
    edit(
        "since: date?}",
        "since: {type: date?, description: From then.}}",
        to="description-changed resources.items.find.since",
    ),
    edit(
        "non_filter_arguments: [order_by]",
        "non_filter_arguments: [order_by, limit]",
        to="identity-arguments-changed resources.items",
    ),
    edit(
        "    pagination_field: page\n    pagination: {style: page, size: {param: limit, value: 20}}\n",
        "",
        to="pagination-field-changed resources.items.pagination_field",
    ),
    edit(
        "pagination_field: page\n",
        "pagination_field: limit\n",
        "{param: limit,",
        "{param: page,",
        to="pagination-field-changed resources.items.pagination_field\npagination-changed resources.items.pagination",
    ),
    edit("value: 20", "value: 50", to="pagination-changed resources.items.pagination"),
    edit("style: page, size", "style: offset, size", to="pagination-changed resources.items.pagination"),
    edit("stars: integer, ", "", to="body-member-removed resources.items.rate.body.stars"),
    edit("stars: integer, ", "stars: string, ", to="body-member-type-changed resources.items.rate.body.stars"),
    edit("stars: integer, ", "stars: number, ", to="argument-type-widened resources.items.rate.body.stars"),
    edit("stars: integer, ", "stars: integer?, ", to="body-member-optional resources.items.rate.body.stars"),
    edit("comment: string?, ", "comment: string, ", to="body-member-required resources.items.rate.body.comment"),
    edit(
        "comment: string?, ", "comment: string?, more: string?, ", to="body-member-added resources.items.rate.body.more"
    ),
    edit(
        "comment: string?, ",
        "comment: string?, more: string, ",
        to="body-member-required resources.items.rate.body.more",
    ),
    edit(
        "status: Status}\n        schema: Item",
        "status: string}\n        schema: Item",
        to="argument-type-widened resources.items.rate.body.status",
    ),
    edit(
        "{type: number, default: 1}",
        "{type: number, default: 2}",
        to="argument-default-changed resources.items.rate.body.weight",
    ),
    edit(
        "body: {form: {to: string, fast: boolean}}",
        "body: {multipart: {to: string, fast: boolean}}",
        to="body-format-changed resources.items.send.body",
    ),
    edit("body: {form: {to: string, fast: boolean}}", "body: null", to="body-removed resources.items.send.body"),
    edit(
        "body: {form: {to: string, fast: boolean}}",
        "body: bytes",
        to="body-member-type-changed resources.items.send.body",
    ),
    edit("total: integer, next", "next", to="result-member-removed resources.items.find.total"),
    edit(
        "total: integer, next",
        "total: integer, pages: integer, next",
        to="result-member-added resources.items.find.pages",
    ),
    edit("total: integer, next", "total: string, next", to="result-member-type-changed resources.items.find.total"),
    edit("total: integer, next", "total: number, next", to="result-optional resources.items.find.total"),
    edit("next: string?", "next: string", to="result-certain resources.items.find.next"),
    edit("best: Item", "best: User", to="result-member-type-changed resources.items.find.best"),
    edit("found: [Item]", "found: {collection: [Item]}", to="collection-changed resources.items.find.found"),
    edit("body: Filter, schema: [Item]", "body: Filter, schema: Item", to="result-changed resources.items.ask"),
    edit(
        "body: Filter, schema: [Item]", "body: any, schema: [Item]", to="argument-type-widened resources.items.ask.body"
    ),
    edit("returns: integer", "returns: string", to="result-changed resources.items.rate"),
    edit(
        "process: python:shop_hooks:rated",
        "process: python:shop_hooks:other",
        to="hook-changed resources.items.rate.process",
    ),
    edit("content: bytes", "content: text", to="content-changed resources.items.download.content"),
    edit("options: {retries: 5}", "options: {retries: 6}", to="patience-changed resources.items.download.retries"),
    edit("description: Say how good it is.", "description: Judge it.", to="description-changed resources.items.rate"),
    edit("get: {params: {id: 1}}", "get: {params: {id: 2}}", to="example-changed resources.items.get"),
    edit("    optimistic: true\n", "", to="optimistic-changed resources.items.optimistic"),
    edit(FIND, "      get: {options: {needs: []}}\n" + FIND, to="freshness-changed resources.items.get.needs"),
    edit(
        "method: POST, path: /items/clear",
        "errors: {409: NotFound}, method: POST, path: /items/clear",
        to="error-type-added resources.items.clear.errors.409",
    ),
    edit(
        "items: {collection: [Part]}, total",
        "items: {collection: {values: Part}}, total",
        "get_list, push, update",
        "get_list, assign, update",
        to="collection-changed resources.parts.get_list.items",
    ),
)
"""The edits."""

WIDE: Final = (
    # ---------------------------------------------------------------------------------------------- servers, arguments
    edit("  main: https://api.wide.example/v1\n", "", to="server-removed servers.main\nserver-default-changed servers"),
    edit("auth:\n", "  test: https://test.wide.example\nauth:\n", to="server-added servers.test"),
    edit("https://api.wide.example/v1", "https://api.wide.example/v2", to="url-prefix-changed servers.main"),
    edit("{region}.wide.example/v1", "{region}.wide.example/v2", to="url-prefix-changed servers.region"),
    edit("default: eu, env: WIDE_REGION", "env: WIDE_REGION", to="argument-default-changed servers.region.region"),
    edit(", default: eu, env: WIDE_REGION", "", to="server-variable-required servers.region.region"),
    edit("default: eu, env", "default: us, env", to="argument-default-changed servers.region.region"),
    edit("{enum: [eu, us, uk]}", "{enum: [eu, us]}", to="client-argument-type-changed servers.region.region"),
    edit("{enum: [eu, us, uk]}", "{enum: [eu, us, uk, asia]}", to="argument-type-widened servers.region.region"),
    edit("WIDE_REGION", "WIDE_PLACE", to="argument-default-changed servers.region.region"),
    edit("  plan: {type: string, wire: X-Plan}\n", "", to="client-argument-removed plan"),
    edit("  plan: {", "  locale: string?\n  plan: {", to="client-argument-added locale"),
    edit("  plan: {", "  locale: string\n  plan: {", to="client-argument-required locale"),
    edit(", env: WIDE_TENANT", "", to="client-argument-required tenant"),
    edit("{type: uuid, wire", "{type: string, wire", to="client-argument-type-changed tenant"),
    edit("plan: {type: string,", "plan: {type: string?,", to="argument-optional plan"),
    edit("wire: X-Plan", "wire: X-Level", to="argument-wire-changed plan"),
    edit("2024-06", "2025-01", to="argument-default-changed api_version"),
    edit(
        "  plan: {type: string, wire: X-Plan}\n",
        "",
        "search_params:\n  api",
        "search_params:\n  plan: string\n  api",
        to="argument-wire-changed plan",
    ),
    # ------------------------------------------------------------------------------------------------------------ auth
    edit(
        "    key: {header: X-Key, env: WIDE_KEY}\n",
        "",
        ", [key, app]]",
        ", app]",
        to="auth-scheme-removed auth.key\nauth-use-changed auth.use",
    ),
    edit("    key: {", "    other: {basic: true}\n    key: {", to="auth-scheme-added auth.other"),
    edit("    key: {", "    code: {", "[key, app]", "[code, app]", to="auth-scheme-removed auth.key"),
    edit("X-Key", "X-Other", to="auth-scheme-changed auth.key.name"),
    edit('prefix: "App "', 'prefix: "Bot "', to="auth-scheme-changed auth.app.prefix"),
    edit("token: {bearer: true,", "token: {basic: true,", to="auth-scheme-changed auth.token.kind"),
    edit("auth.wide.example/token", "auth.wide.example/t", to="auth-scheme-changed auth.machine.token_url"),
    edit("client_auth: basic", "client_auth: body", to="auth-scheme-changed auth.machine.client_auth"),
    edit("scopes: [read]", "scopes: [read, write]", to="auth-scheme-changed auth.machine.scopes"),
    edit("WIDE_KEY", "WIDE_OTHER", to="auth-env-changed auth.key.env"),
    edit("WIDE_SECRET", "WIDE_OTHER", to="auth-env-changed auth.machine.env"),
    edit("[machine, token, [key, app]]", "[token, machine, [key, app]]", to="auth-use-changed auth.use"),
    edit("[machine, token, [key, app]]", "[machine, token, [key, app], none]", to="auth-use-changed auth.use"),
    edit(", auth: none", ", auth: key", to="auth-use-changed resources.payments.drop.auth"),
    # --------------------------------------------------------------------------------------------------- unions, marks
    edit(
        "{one_of: [Card, Bank, string]}",
        "{one_of: [Card, Bank]}",
        to="union-alternative-removed entities.Payment.source",
    ),
    edit(
        "{one_of: [Card, Bank, string]}",
        "{one_of: [Card, Bank, string, integer]}",
        to="union-alternative-added entities.Payment.source",
    ),
    edit(
        "{enum: [open, settled, void]}", "{enum: [open, settled]}", to="enum-value-removed entities.Payment.state.void"
    ),
    edit(
        "{enum: [open, settled, void]}",
        "{enum: [open, settled, void, lost]}",
        to="enum-value-added entities.Payment.state.lost",
    ),
    edit("attribute: type, values", "attribute: kind, values", to="union-attribute-changed entities.Payment.target"),
    edit("{u: User, t: Team}", "{user: User, t: Team}", to="union-attribute-changed entities.Payment.target"),
    edit("{const: card}", "{const: visa}", to="field-type-changed objects.Card.kind"),
    edit("name: string!", "name: string", to="body-member-optional entities.User.name"),
    edit("title: string}", "title: string!}", to="body-member-required entities.Team.title"),
    edit("title: string}", "title: {type: string, write_only: true}}", to="field-write-only entities.Team.title"),
    edit("pin: {type: string?, write_only: true}", "pin: string?", to="field-added entities.User.pin"),
    edit("format: unix", "format: unix_ms", to="field-format-changed entities.User.born"),
    edit("{type: string, param: owner}", "string", to="pk-changed entities.Repo.owner"),
    edit(
        "pk: meta.uid",
        "pk: text",
        "field: meta.uid",
        "field: text",
        to="pk-changed entities.Note.pk\nidentity-arguments-changed resources.notes.uid",
    ),
    edit("    pk_optional: true\n", "", to="answers-changed entities.Payment.pk_optional"),
    edit(
        "    pk: []\n    fields: {dark",
        "    fields: {id: integer, dark",
        to="pk-changed entities.Settings.pk\nfield-added entities.Settings.id",
    ),
    edit("    pk: []\n", "    pk: []\n    persist: 2\n", to="persist-changed entities.Settings.persist"),
    # ------------------------------------------------------------------------------------------------- bodies, answers
    edit(
        "application/x-pay+json",
        "application/pay+json",
        to="body-format-changed resources.payments.pay.request.content_type",
    ),
    edit(
        "in_key: true}, body: {text: string}",
        "in_key: true, optional: true}, body: {text: string}",
        to="body-optional resources.payments.look.body",
    ),
    edit(
        "request: {in_key: true}, body: {text",
        "request: {in_key: true, optional: true}, body: {text",
        to="body-optional resources.payments.look.body",
    ),
    edit(
        ", optional: true}\n        schema: Payment",
        "}\n        schema: Payment",
        to="body-required resources.payments.pay.body",
    ),
    edit(
        "side_effect: false, request: {in_key: true}",
        "side_effect: false",
        to="argument-left-key resources.payments.look.body",
    ),
    edit(
        "body: {amount: integer, source: {one_of: [string, integer]}}",
        "body: {amount: integer, source: string}",
        to="argument-type-narrowed resources.payments.pay.body.source",
    ),
    edit(
        "body: {text: string}, schema: [Payment]",
        "body: text, schema: [Payment]",
        to="body-member-type-changed resources.payments.look.body",
    ),
    edit("body: {why: string}, schema: null", "schema: null", to="body-removed resources.payments.drop.body"),
    edit("response: {envelope: data}\n", "response: {envelope: item}\n", to="envelope-changed response.envelope"),
    edit(
        "response: {envelope: data}\n",
        "response: {envelope: data, list_envelope: items}\n",
        to="envelope-changed response.list_envelope",
    ),
    edit(
        "schema: Payment\n        expires: [self]",
        "schema: Payment\n        response: {ignore: true}\n        expires: [self]",
        to="answers-changed resources.payments.pay.response.ignore",
    ),
    edit(
        "schema: Payment\n        expires: [self]",
        "schema: Payment\n        response: {empty: none}\n        expires: [self]",
        to="freshness-changed resources.payments.pay.response.empty",
    ),
    edit("expires: [self]", "expires: [self, get_list]", to="freshness-changed resources.payments.pay.expires"),
    edit("schema: integer, search", "schema: integer?, search", to="result-optional resources.payments.count"),
    edit("schema: integer, search", "schema: string, search", to="result-changed resources.payments.count"),
    edit(
        "by: {type: {one_of: [string, integer]}, optional: true}",
        "by: {type: integer, optional: true}",
        to="argument-type-narrowed resources.payments.count.by",
    ),
    edit("style: deep", "style: brackets", to="argument-style-changed resources.search.all.order"),
    edit("push, update, move]", "push, update]", to="list-member-removed resources.repos.get_list.move"),
    edit("push, update, move]", "push, update, move, remove]", to="list-member-added resources.repos.get_list.remove"),
    edit("  search:\n", "  finding:\n", to="resource-renamed resources.finding"),
    edit("      all: {path: /search,", "      people: {path: /search,", to="endpoint-renamed resources.search.people"),
    edit("path: /settings, singleton", "path: /prefs, singleton", to="path-changed resources.settings.path"),
)
"""Edits of `wide.yaml`."""
