r"""The table of the spec language: every key with its sections, the kind of its value, and its meaning.

**How to read it.** A spec is a tree of mappings. A mapping whose keys the language knows is a *section* (the spec
itself, an entity, an endpoint, its `options`, …), and a row of `ROWS` names the sections of a key, the kind of its
value, its default, and a description in one line. Hints and the reference page list keys in the order of the rows.

**Sections nest** through the kinds: `Subsection("options")` is a mapping with the keys of the section `options`,
`Table("name", Subsection("endpoint"))` a mapping from names to such mappings. A value with several
forms has the kind `Either`, or a special kind in `value_kinds`.

**Types** nest too (`type_words`). A type is a word, a list `[X]`, or a *form*: a mapping that has one of the words of
`FORMS`, which is then a section of its own. Positions whose fields can be described by a mapping (`{type: string,
default: x}`) are sections as well. They are one family: a key of another section of the family is reported as a key
without a meaning there, rather than as an unknown key.

**Rules** that combine several keys of one section are listed with the section. Checks across sections are left to
`spec.analyze`.

**Readers**: `read` and `spec.analyze` (values, unknown keys and hints), `json_schema`, and `reference`
(the pages for people). None of them has its own list of keys: a new key is one row here, and code that uses its value.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Final, get_args

from restencil_generator.spec import model as d
from restencil_generator.spec.grammar import patterns
from restencil_generator.spec.grammar.key_checks import (
    MEMBERS,
    TAKEN_PACKAGES,
    Check,
    list_operations,
    not_a_library,
    standard_members,
)
from restencil_generator.spec.grammar.key_rules import (
    ExactlyOne,
    Excludes,
    MappingWith,
    NotBoth,
    OneOrMore,
    OnlyWithAny,
    OnlyWithMapping,
    OnlyWithValue,
    ParameterUnless,
    RequiresKey,
    Rule,
    Together,
)
from restencil_generator.spec.grammar.value_kinds import (
    Alternatives,
    Body,
    Choices,
    Code,
    Duration,
    Either,
    EntityName,
    EnumValues,
    Errors,
    Fields,
    Fixed,
    Flag,
    Headers,
    Items,
    Json,
    Kind,
    Literal,
    Members,
    Name,
    OneEntity,
    OrNull,
    Pairs,
    PathText,
    Reason,
    Renames,
    Response,
    SomeValues,
    Source,
    Subsection,
    Table,
    Text,
    Texts,
    Type,
    Use,
    Version,
    Whole,
    Word,
)
from restencil_generator.spec.grammar.value_reader import Subject
from restencil_generator.spec.page_styles import STYLES

VERSION: Final = 1
"""The version of the spec language that this generator reads."""


# ---------------------------------------------------------------------------------------------------------------- hints

OF_OTHERS: Final[Mapping[str, str]] = {
    "$ref": "write the name of the entity, object or enum in its place",
    "nullable": "write '?' behind the type, such as string?",
    "required": "a field or parameter is one unless its type ends with '?': write string or string?",
    "enum": "write {enum: [a, b]} as the type, or {const: a} for one value",
    "discriminator": "write {one_of: [A, B], attribute: …}",
    "properties": "write 'fields: {…}' in an entity, {object: {…}} elsewhere",
    "items": "write a list as [X], with the type of its items",
    "oneOf": "write {one_of: [A, B]} as the type",
    "anyOf": "write {one_of: [A, B]} as the type",
    "allOf": "write 'extends: …' with the name of the entity whose fields it has too",
    "format": "the type says it: write integer, number, datetime, date, time, decimal or uuid",
    "additionalProperties": "write {values: X} for a mapping from any keys to X",
}
"""Keys of JSON Schema and OpenAPI, with hints for specs."""

DOCUMENTS: Final = ("openapi", "swagger")
"""The first keys of OpenAPI documents."""

_PAGED: Final = (
    "name a search parameter with 'wire: {name}': search_params: "
    "{{{suggested}: {{type: {type}?, wire: {name}}}}}, pagination_field: {suggested}"
)


# --------------------------------------------------------------------------------------------------------------- places


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """A mapping whose keys the language knows: its title, description and example, and the rules for its keys.

    Sections of one `family` share keys: a key that only another section of the family has is reported with the hint in
    `instead`, if there is one.
    """

    title: str
    help: str
    example: str
    rules: tuple[Rule, ...] = ()
    family: str = ""
    instead: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    secrets: tuple[str, ...] = ()
    """Keys that would contain a secret, which is never written in a spec."""


SCHEME_KINDS: Final[tuple[d.AuthKind, ...]] = get_args(d.AuthKind)
"""The kinds of authentication schemes."""

AUTH_KINDS: Final[tuple[d.AuthKind, ...]] = tuple(kind for kind in SCHEME_KINDS if kind != "oauth2")
"""The kinds that `auth` without schemes may have."""

NO_AUTH: Final = "none"
"""The alternative without credentials."""

CREDENTIALS: Final = ("client_id", "client_secret", "refresh_token", "access_token")
"""The credentials of a client of a token server."""

_SECRETS: Final = (*CREDENTIALS, "token", "secret", "password", "username", "user", "api_key", "value")


def _without_prefix(*kinds: str) -> Excludes:
    """Return the rule that excludes `prefix` for kinds of schemes that send the secret unchanged."""
    message = "'prefix' of {owner} has a meaning for 'header' and 'cookie' alone"
    return Excludes(kinds, ("prefix",), "key-not-here", message)


def _field_rules(*extra: str) -> tuple[Rule, ...]:
    """Return the rules of fields that have a type or a constant; `extra` are more keys that a constant excludes."""
    return (OneOrMore(("type", "const"), "add 'type: …'"), _const_alone("type", "default", "optional", *extra))


def _const_alone(*keys: str) -> Excludes:
    return Excludes(("const",), keys, "const-alone", "{owner} is fixed by 'const', so it takes no {key}")


_NOT_REQUIRED: Final = {"required": OF_OTHERS["required"]}
_NO_FILTER: Final = {"filter": "write it at a search parameter of the list that it filters"}
_BOTH: Final = "the {owner} is both %s and %s"
_DECLARED_RULES: Final[tuple[Rule, ...]] = (
    *_field_rules("decode", "encode"),
    *(
        NotBoth(one, other, "field-both-ways", _BOTH % (one, other))
        for one, other in (("read_only", "write_only"), ("required", "optional"))
    ),
    Excludes(("write_only",), ("default", "decode"), "key-not-here", "{owner} is write_only, so it has no {key}"),
)

_TYPED: Final = (OneOrMore(("type",), "add 'type: …'"),)

_ATTRIBUTE_NEED: Final = "{owner} needs 'attribute', which distinguishes its entities"
_ATTRIBUTE_ADD: Final = "add 'attribute: …', a field or a python: function"
_ATTRIBUTE_EXTRA: Final = "'attribute' of {owner} needs a mapping from values to entities"

SECTIONS: Final[Mapping[str, Section]] = {
    "spec": Section(
        "A spec",
        "The resources of an API, and the generated package. A spec is one file, or a folder whose `*.yaml` and "
        "`*.yml` files, in subfolders too, are merged: each may add to `enums`, `objects`, `entities` and `resources`, "
        "and every other key is given once. Files and folders whose names begin with a dot are ignored.",
        """
        restencil: 1
        package: shop
        title: Shop
        url_prefix: https://api.shop.example/v1
        wire_names: camelCase
        entities:
          Item: {fields: {id: integer, title: string}}
        resources:
          items: {path: "/items/:id", schema: Item}
        """,
        rules=(
            Excludes(
                ("servers",),
                ("url_prefix",),
                "key-not-here",
                "{key} and 'servers' exclude each other",
            ),
        ),
    ),
    "auth": Section(
        "`auth`",
        "How the client authenticates. The secret is never written in a spec: the client gets it as the argument "
        "`token`, a string or a function, or reads the environment variable `env`.",
        """
        auth: {header: Access-Token, env: SHOP_TOKEN}
        """,
        rules=(
            ExactlyOne(
                (*AUTH_KINDS, "schemes"),
                "auth-kind",
                "'auth' needs one of 'header', 'bearer', 'basic', 'cookie', 'query' and 'schemes'",
                "keep one",
            ),
            Excludes(
                ("schemes",), ("env", "prefix"), "key-not-here", "{key} of {owner} belongs to each of its schemes"
            ),
            Excludes(AUTH_KINDS, ("use",), "key-not-here", "'use' of {owner} has a meaning for 'schemes' alone"),
            _without_prefix("bearer", "basic", "query"),
        ),
        secrets=_SECRETS,
    ),
    "scheme": Section(
        "A scheme",
        "One of several ways to authenticate. Its name is also that of the client's argument for the credential.",
        """
        auth:
          schemes:
            token: {bearer: true, env: SHOP_TOKEN}
            key: {header: X-Api-Key, env: SHOP_KEY}
            app: {header: X-App, prefix: "Bot ", env: SHOP_APP}
            machine:
              oauth2: {token_url: "https://auth.shop.example/token", scopes: [read]}
              env: {client_id: SHOP_ID, client_secret: SHOP_SECRET}
          use: [machine, token, [key, app]]
        """,
        rules=(
            ExactlyOne(
                SCHEME_KINDS,
                "auth-kind",
                "{owner} needs one of 'header', 'bearer', 'basic', 'cookie', 'query' and 'oauth2'",
                "keep one",
            ),
            _without_prefix("bearer", "basic", "query", "oauth2"),
            MappingWith(
                "env",
                "oauth2",
                ("write {client_id: VARIABLE, client_secret: VARIABLE}", "write the name of one variable"),
            ),
        ),
        secrets=_SECRETS,
    ),
    "oauth2": Section(
        "`oauth2`",
        "Tokens that the client requests from `token_url`, and renews before they expire and after a 401, with one "
        "request for all waiting calls. The client gets a `restencil.OAuth2` with the credentials, or reads them from "
        "the environment.",
        """
        auth:
          schemes:
            machine:
              oauth2: {token_url: "https://auth.shop.example/token", scopes: [read], params: {audience: shop}}
              env: {client_id: SHOP_ID, client_secret: SHOP_SECRET}
        """,
        secrets=_SECRETS,
    ),
    "options": Section(
        "`options`",
        "How responses are requested and cached. Options of the spec apply to all resources, those of a resource to "
        "all its endpoints; the nearest level wins, and `null` resets an inherited value.",
        """
        options: {data_expiry_length: 60s, error_policy: soft_on_server_error, timeout: 5s, retries: 2}
        """,
    ),
    "redirects": Section(
        "`redirects`",
        "A 307 or 308 repeats the request at another URL. A redirect to another origin is not followed if the request"
        " has a body, because the body may contain private data.",
        """
        redirects: {cross_origin_body: true}
        """,
    ),
    "freshness": Section(
        "`freshness`",
        "The option `freshness: server` with bounds.",
        """
        options: {freshness: {server: {at_least: 5s, at_most: 1h}}}
        """,
    ),
    "server_freshness": Section(
        "`server` of a `freshness`",
        "`Cache-Control`, `Age` and `Expires` of the response determine how long it is fresh, within these bounds.",
        """
        options: {freshness: {server: {at_most: 1h}}}
        """,
        rules=(OneOrMore(("at_least", "at_most"), "add 'at_least: …' or 'at_most: …'"),),
    ),
    "concurrency": Section(
        "`concurrency`",
        "Concurrent updates do not overwrite each other: a request contains the ETag of the version that it changes, "
        "and the server rejects it with a 412 if there is a newer version. With the short form, `concurrency: etag`, "
        "a change is sent without an ETag if none is known.",
        """
        options: {concurrency: {etag: required}}
        """,
        rules=(
            ExactlyOne(
                ("etag", "field"),
                "missing-key",
                "{owner} says one of 'etag' and 'field'",
                "remove one of them: an ETag comes with the response, or in a field",
            ),
        ),
    ),
    "search_style": Section(
        "`search_style`",
        "How lists and objects are written in search strings, unless a parameter has its own `style`. A single word in "
        "place of the mapping applies to lists. The nearest level wins, and `null` resets an inherited style. `[1, 2]` "
        "with the name `a` becomes `a=1,2` with `comma`, `a=1 2` with `space`, `a=1|2` with `pipe`, `a=1&a=2` with "
        "`repeat`, `a[]=1&a[]=2` with `brackets`, `a[0]=1&a[1]=2` with `deep`, and `a=[1,2]` with `json`. `{b: 1}` "
        'becomes `a[b]=1` with `brackets` and `deep`, `b=1` with `form`, and `a={"b":1}` with `json`.',
        """
        search_style: {lists: repeat, objects: deep}
        """,
        rules=(OneOrMore(("lists", "objects"), "add 'lists: …' or 'objects: …'"),),
    ),
    "request": Section(
        "`request`",
        "How bodies are sent. Settings of the spec apply to all resources, those of a resource to all its endpoints; "
        "the nearest level wins, key by key, and `null` resets an inherited value.",
        """
        request: {content_type: application/merge-patch+json, envelope: article}
        """,
    ),
    "response": Section(
        "`response`",
        "The position of the value in responses, and the value of empty responses (204, 205, an empty string, "
        "`null`, and `{}` as the response of a mutation that should be an entity), for endpoints with a schema. With "
        "`merge` the request body becomes the record, and its `get` is fetched again; the key of a created record "
        "comes from the body or from the header `Location`. With `none` the value is `None`, and the lists that may "
        "contain the created record become stale. With `error` it is an error. The nearest level wins, key by key, "
        "and `null` resets an inherited value.",
        """
        response: {envelope: data.article, list_envelope: data, empty: none}
        """,
    ),
    "error_choice": Section(
        "`{one_of: […]}` of an error",
        "The body of an error that is one of several objects. In `errors` a status from 400 to 599, `4XX`, `5XX` or "
        "`default` has the name of an object, this form, `any`, or `null`, with which an inherited body has no type "
        "again. The nearest level that declares a status wins, and in it the narrowest key. A package whose spec has "
        "`errors` has a class for each kind of error (`shop.NotFoundError`), with typed `data`.",
        """
        objects:
          Problem: {title: string, detail: string?}
          Conflict: {current_version: integer}
        errors: {409: {one_of: [Conflict, Problem]}, 4XX: Problem, 5XX: any}
        """,
    ),
    "entity": Section(
        "An entity",
        "A record type with an identity. The store has one copy of each record, whichever response contained it.",
        """
        entities:
          Person:
            description: Whoever buys or sells.
            indexes: [email]
            fields: {id: integer, email: string, joined_at: datetime}
          Member: {extends: Person, fields: {number: integer}}
        """,
        rules=(OneOrMore(("fields", "extends"), "add 'fields: …' or 'extends: …'"),),
    ),
    "resource": Section(
        "A resource",
        "A path and an entity give a resource its standard members: the endpoints `get`, `get_list`, `create`, "
        "`update`, `partial_update` and `delete`, and the list operations `get_list.push`, `unshift`, `assign` and "
        "`get_page`. A `singleton` has one record at its path, and no list. A resource without path and entity is a "
        "group of endpoints, each with its own path.",
        """
        resources:
          articles:
            path: /articles/:id
            schema: {entity: Article, fields: {id: integer, title: string, author: string}}
            search_params: {author: string?}
            members: [get, get_list, push, delete]
            optimistic: true
          me: {path: /me, singleton: true, schema: {entity: User, fields: {id: integer, name: string}}}
          search:
            endpoints:
              articles: {path: /search/articles, search_params: {q: string}, schema: [Article]}
        """,
        rules=(
            Together("path", "schema", "endpoints"),
            OnlyWithAny(
                ("path", "schema"),
                (
                    "singleton",
                    "members",
                    "search_params",
                    "body",
                    "collection",
                    "pagination_field",
                    "pagination",
                    "optimistic",
                ),
                "a group of endpoints",
            ),
            ParameterUnless("path", "singleton"),
        ),
    ),
    "endpoint": Section(
        "An endpoint",
        "Under the name of a standard member, changes to it; under another name, an additional endpoint. Keys that are "
        "not given are inherited from the member in `extends`, else from the resource.",
        """
        endpoints:
          get_list: {options: {poll_frequency: 30s}}
          search:
            extends: get_list
            path: /search/articles
            search_params: {q: string}
            schema: {results: [Article], total: integer}
          publish: {method: POST, path: "/articles/:id/publish", body: null, schema: Article}
        """,
    ),
    "collection": Section(
        "`collection` of a resource",
        "Which arguments distinguish the lists of a resource, and whether the lists follow changes.",
        """
        search_params: {order_by: string?}
        collection: {non_filter_arguments: [order_by]}
        """,
        rules=(OneOrMore(("non_filter_arguments", "follow"), "add 'non_filter_arguments: …'"),),
    ),
    "pagination": Section(
        "`pagination`",
        "How `iterate()` finds the next page.",
        """
        pagination_field: cursor
        pagination: {style: cursor, next: last.id, size: {param: limit, value: 50}}
        """,
        rules=(
            OnlyWithValue(
                "next",
                "style",
                tuple(style.name for style in STYLES.values() if style.needs_next),
                "to find the next page's cursor",
                "add 'next: …', a path in the response, header:NAME or last.<field>",
            ),
        ),
    ),
    "page_size": Section(
        "`size` of a pagination",
        "A parameter that requests the number of items of a page, and the value that is sent unless a call passes one.",
        """
        size: {param: limit, value: 50}
        """,
    ),
    "body": Section(
        "A form or multipart body",
        "A body that is not sent as JSON. A mapping without `form` and `multipart` is a JSON body with these fields.",
        """
        body: {multipart: {title: string, photo: bytes}}
        """,
    ),
    "example": Section(
        "An example",
        "One call, checked against the spec by `restencil lint`, shown in docstrings and served by `restencil mock`.",
        """
        examples:
          get: {params: {id: 1}, response: {id: 1, title: First, author: ada}}
        """,
    ),
    "entity_field": Section(
        "A field of an entity",
        "A type, or a mapping that describes the field.",
        """
        fields:
          id: {type: integer, read_only: true}
          title: {type: string, default: untitled, description: Shown in lists.}
          tags: [string]
          kind: {const: article}
        """,
        rules=_DECLARED_RULES,
        family="field",
        instead=_NO_FILTER,
    ),
    "object_field": Section(
        "A field of an object",
        "A type, or a mapping that describes the field. Objects have no identity: they are part of the record that "
        "contains them.",
        """
        objects:
          Money: {amount: decimal, currency: {type: string, default: EUR}}
        """,
        rules=_DECLARED_RULES,
        family="field",
        instead=_NO_FILTER,
    ),
    "body_field": Section(
        "A field of a body",
        "A type, or a mapping that describes the field.",
        """
        body: {title: string, note: {type: string, optional: true}}
        """,
        rules=_field_rules(),
        family="field",
        instead=_NOT_REQUIRED | _NO_FILTER,
    ),
    "form_field": Section(
        "A field of a form",
        "A type, or a mapping that describes the field.",
        """
        body: {form: {user: string, remember: {type: boolean, default: false}}}
        """,
        rules=_field_rules(),
        family="field",
        instead=_NOT_REQUIRED | _NO_FILTER,
    ),
    "file_field": Section(
        "A field of a multipart body",
        "A type, `bytes` for a file, or a mapping that describes the field. Each item of a list is a separate part, "
        "and an object is a part with JSON.",
        """
        body: {multipart: {title: {type: string, optional: true}, photos: [bytes]}}
        """,
        rules=_field_rules(),
        family="field",
        instead=_NOT_REQUIRED | _NO_FILTER,
    ),
    "path_param": Section(
        "A parameter of a path",
        "A scalar, an enum or a list of them, whose items are joined with commas, or a mapping that describes the "
        "parameter. Without an entry a parameter has the type of the entity's field with the same name, else it is a "
        "string or an integer.",
        """
        params: {id: {type: uuid, description: Which one.}}
        """,
        rules=(
            OneOrMore(("type", "const", "field"), "add 'type: …'"),
            _const_alone("type"),
            Excludes(
                ("slashes",), ("field",), "key-not-here", "{owner} has 'slashes', so it is not a field: it has no {key}"
            ),
        ),
        family="field",
        instead=_NO_FILTER | {"optional": "write ':name?' in the path", "required": "write ':name' in the path"},
    ),
    "search_param": Section(
        "A search parameter",
        "A type, or a mapping that describes the parameter.",
        """
        search_params: {author: string?, order_by: {type: string, optional: true, wire: sort}}
        """,
        rules=_field_rules(),
        family="field",
        instead=_NOT_REQUIRED,
    ),
    "header_param": Section(
        "A header parameter",
        "A header that is an argument of the call: a type, or a mapping that describes it; `null` resets an inherited"
        " one. The name of the header is the capitalized name of the field: `accept_language` is `Accept-Language`. A"
        " list is joined with commas. The header is part of the key of reading endpoints, so its values have separate"
        " lists and results; a header that changes the values of entities has `partition: true`, and a separate store"
        " for each value.",
        """
        header_params:
          scope: {type: string, optional: true, wire: X-Scope}
          accept_language: string?
          idempotency_key: {type: string, optional: true, in_key: false, auto: uuid}
        """,
        rules=_TYPED,
        family="field",
        instead=_NO_FILTER,
    ),
    "client_header": Section(
        "A header parameter of the spec",
        "A header that is an argument of the client, sent with every request to the API's own origin. An endpoint with "
        "the same header replaces it, and `header_params: null` of an endpoint leaves it out. Keys do not contain it. "
        "With `auto` it is an argument of each call instead, and only then `in_key` and `partition` have an effect.",
        """
        header_params: {tenant: {type: uuid, wire: X-Tenant-Id, env: SHOP_TENANT}}
        """,
        rules=_TYPED,
        family="field",
        instead=_NO_FILTER,
    ),
    "client_param": Section(
        "A search parameter of the spec",
        "A search parameter that is an argument of the client, sent with every request to the API's own origin. An "
        "endpoint with the same parameter replaces it. Keys do not contain it.",
        """
        search_params: {api_version: {type: string, default: "2024-06", wire: api-version}}
        """,
        rules=_TYPED,
        family="field",
        instead=_NO_FILTER,
    ),
    "server": Section(
        "A server",
        "A server of the API: a URL, or a mapping with a URL that has variables. `Shop(server='region', region='us')` "
        "selects one; the first is the default. Keys contain the URL of the default, whichever is selected.",
        """
        servers:
          production: https://api.shop.example/v1
          region: {url: "https://{region}.shop.example/v1", variables: {region: {type: string, default: eu}}}
        """,
    ),
    "server_variable": Section(
        "A variable of a server",
        "A part of its URL that is an argument of the client: a type, or a mapping that describes it.",
        """
        servers:
          region:
            url: https://{region}.shop.example/v1
            variables: {region: {type: string, default: eu, env: SHOP_REGION}}
        """,
        rules=_TYPED,
        family="field",
        instead=_NO_FILTER,
    ),
    "values_form": Section(
        "`{values: X}`",
        "An object with any keys, whose values are of one type: `dict[str, X]`.",
        """
        views: {values: integer}
        """,
    ),
    "object_form": Section(
        "`{object: {…}}`",
        "An object with declared members, a TypedDict. In the schema of an endpoint, `{a: X, b: Y}` is short for "
        "`{object: {a: X, b: Y}}` if no member has the name of a form, such as `values`.",
        """
        schema: {object: {values: [Article], next: string}, wire: {next: "@odata.nextLink"}, optional: [next]}
        """,
    ),
    "one_of_form": Section(
        "`{one_of: […]}`",
        "One of several types: scalars, enums, constants, objects, entities, `{object: …}`, lists and `values`. The "
        "type of a value is selected by its JSON kind; among scalars it is the first type that decodes. Objects are "
        "distinguished by `attribute`: its value selects an alternative through `values`, else through the constants "
        "of the alternatives, else by their names. Without `attribute` the first alternative whose constants all "
        "match is selected, then the first one with all required fields. Other values are kept unchanged. This is a "
        "form only if its value is a list of two or more.",
        """
        schema: {one_of: [Link, Post, string], attribute: type, values: {link: Link, post: Post}}
        """,
        rules=(RequiresKey("values", "attribute"),),
    ),
    "enum_form": Section(
        "`{enum: […]}`",
        "One of some strings or integers. Unknown values are kept unchanged. This is a form only if its value is a "
        "list of two or more: for one value use `const`.",
        """
        schema: {states: {values: {enum: [open, settled]}}}
        """,
    ),
    "union_form": Section(
        "`{union: {…}, attribute: …}`",
        "One of several entities, distinguished by a field or a function. `{one_of: […]}` also allows other types.",
        """
        schema: {union: {link: Link, post: Post}, attribute: type}
        """,
    ),
    "collection_form": Section(
        "`{collection: …}`",
        "A list or mapping of entities that others can join and leave: a created entity is added to it. The list of a "
        "resource is a collection by default; this form is for lists inside of objects, and for those of an entity.",
        """
        todos: {collection: [Todo], nest: {user: id}, non_filter_arguments: [order_by]}
        """,
    ),
    "all_form": Section(
        "`{all: …}`",
        "All entities of a type that are in the store, whichever responses contained them.",
        """
        schema: {all: {link: Link, post: Post}, attribute: type}
        """,
        rules=(OnlyWithMapping("attribute", "all", _ATTRIBUTE_NEED, _ATTRIBUTE_ADD, _ATTRIBUTE_EXTRA),),
    ),
    "invalidate_form": Section(
        "`{invalidate: …}`",
        "A response that removes an entity from the store and from all lists: the one that the response names, as a "
        "record or as its primary key, else the one that the path or the body identifies.",
        """
        schema: {invalidate: Todo}
        """,
    ),
    "query_form": Section(
        "`{query: …, process: …}`",
        "A view that is computed from the data in the store.",
        """
        schema: {query: {all: Todo}, process: "python:shop_code:open_only", returns: [Todo]}
        """,
    ),
    "entity_form": Section(
        "`{entity: …}`",
        "An entity that is declared inline, with the keys of an entity.",
        """
        schema: {entity: Todo, fields: {id: integer, title: string, done: boolean}}
        """,
        rules=(OneOrMore(("fields", "extends"), "add 'fields: …' or 'extends: …'"),),
    ),
}


# ----------------------------------------------------------------------------------------------------------------- rows

BODY_WORDS: Final = ("any", "bytes", "text")
"""Bodies that are a single word."""


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One key: the names of its sections, the kind of its value, and its description in one line.

    `default` is the value if the key is not given; `otherwise` describes it if it depends on something else. `position`
    is the only position in which the key has a meaning, if its section is a form. `others` are synonyms that users
    write for the key. `label` is the name of the value in messages, `need` and `add` are message and hint if a required
    key is missing. `check` is a further check of the value.
    """

    where: str
    key: str
    kind: Kind
    help: str
    required: bool = False
    default: Any = None
    otherwise: str = ""
    position: str = ""
    others: tuple[str, ...] = ()
    label: str = ""
    need: str = "{owner} needs the key '{key}'"
    add: str = "add '{key}: …'"
    check: Check | None = None

    def subject(self, owner: Subject) -> Subject:
        """Return the name of its value in messages; a key of the spec itself is named without an owner."""
        return Subject(self.label or f"'{self.key}'", None if self.where == "spec" else owner)


_DEPRECATED: Final = "Whether it is deprecated, or why, in docstrings and warnings."
_PERSIST: Final = OrNull(Either((Whole(least=1), Flag(others="an integer from 1 on"))))
_PERSIST_NUMBER: Final = "Increase a number if data that is stored already would be misread; `true` is 1."

_ALL: Final = "spec resource endpoint"
_ENTITY: Final = "entity entity_form"
_DECLARED: Final = "entity_field object_field"
_OF_BODIES: Final = "body_field form_field file_field"
_SENT: Final = f"{_OF_BODIES} search_param"
_OF_CALLS: Final = "header_param client_header"
_OF_CLIENTS: Final = "client_header client_param"
_ARGUMENTS: Final = "header_param client_header client_param"
_EVERY_FIELD: Final = f"{_DECLARED} {_SENT} path_param {_ARGUMENTS} server_variable"

# Rows are aligned by hand, one key after the other, as in a table.
# fmt: off
ROWS: Final = (
    # -------------------------------------------------------------------------------------------------------- the spec
    Row("spec", "restencil", Version(VERSION), "The version of the spec language.", required=True,
        add=f"add 'restencil: {VERSION}'"),
    Row("spec", "package", Name("the package", taken=TAKEN_PACKAGES), "The import name of the generated package.",
        required=True, default="", add="add 'package: name'", check=not_a_library),
    Row("spec", "title", Text(), "The name of the API.", default=""),
    Row("spec", "client", Name("the client"),
        "The name of the client class. The asynchronous client has `Async` before it.",
        otherwise="`package` in PascalCase"),
    Row("spec", "wire_names", Word(get_args(d.WireNames)),
        "The style of names in JSON and in search strings: with `camelCase`, `created_at` is sent as `createdAt`.",
        default="as_is"),
    Row("spec", "absent", Word(get_args(d.Absent)),
        "Reading a missing field without `default`: `raise` raises `MissingFieldError` for all types, `zero` returns "
        "the zero value of the type.",
        otherwise="zero for strings, numbers, booleans, lists and mappings, an error for other types"),
    Row("spec", "auth", Subsection("auth", "write for example {header: NAME}"), "How the client authenticates."),
    Row("spec", "servers", Table("", Either((Subsection("server"), Text(empty=False, pattern=patterns.URL)))),
        "The servers of the API by name, instead of `url_prefix`."),
    Row("server", "url", Text(empty=False, pattern=patterns.URL), "Its URL, in which `{name}` represents a variable.",
        required=True),
    Row("server", "variables", Fields("server_variable"), "The variables in its URL, by name."),
    Row("spec", "version", Text(empty=False, pattern=patterns.PRODUCT),
        "The version of the package, which requests send in their `User-Agent`: `shop/1.2.0 restencil/…`."),
    Row("spec", "user_agent",
        Either((Fixed(value=False, others="a string"), Text(empty=False, pattern=patterns.AGENT))),
        "The `User-Agent` of requests; with `false` that of the HTTP library.",
        otherwise="package, version and libraries"),
    Row("spec", "request_id", Text(empty=False, pattern=patterns.HEADER),
        "The response header with the ID of the request: `request_id` of responses and errors.",
        otherwise="the first of the common ones, such as `X-Request-Id`"),
    Row("spec", "inert_headers", Texts(noun="header", pattern=patterns.HEADER),
        "Headers that do not change responses, in addition to common ones such as `X-Request-Id`: "
        "`with_options(headers=…)` with them uses the client's own store."),
    # ------------------------------------------------------------------------------------------------------------ auth
    Row("auth scheme", "header", Text(empty=False, pattern=patterns.HEADER), "The secret is sent under this header."),
    Row("auth scheme", "bearer", Fixed(value=True, hint="the secret itself is never written in a spec"),
        "The secret is sent as a bearer token."),
    Row("auth scheme", "basic", Fixed(value=True, hint="the secret itself is never written in a spec"),
        "The secret is sent as `user:password`."),
    Row("auth scheme", "cookie", Text(empty=False, pattern=patterns.COOKIE), "The secret is sent in this cookie."),
    Row("auth scheme", "query", Text(empty=False), "The secret is sent as this search parameter."),
    Row("scheme", "oauth2", Subsection("oauth2", "write {token_url: https://…}"),
        "The client requests tokens, and sends them as bearer tokens."),
    Row("auth scheme", "prefix", Text(empty=False, pattern=patterns.PREFIX),
        "The prefix of the secret in its header or cookie."),
    Row("auth", "env", Text(empty=False, pattern=patterns.VARIABLE),
        "The environment variable with the secret, if the client gets none as argument."),
    Row("scheme", "env",
        Either((Pairs(CREDENTIALS, patterns.VARIABLE), Text(empty=False, pattern=patterns.VARIABLE))),
        "The environment variable with the credential, if the client gets none as argument; for `oauth2` a mapping "
        "from the names of its credentials to variables."),
    Row("scheme", "deprecated", Reason(), _DEPRECATED),
    Row("auth", "schemes", Table("scheme_name", Subsection("scheme", "write for example {header: NAME}")),
        "Authentication schemes by name, which is also the client's keyword argument."),
    Row("auth", "use", Use(whole=True),
        "The schemes that requests use: alternatives in order; the first one whose credentials are given is used. An "
        "inner list combines schemes, and `none`, as the last one, sends nothing.",
        otherwise="each scheme alone, in order"),
    Row("oauth2", "token_url", Text(empty=False, pattern=patterns.TOKEN_URL),
        "The URL for token requests, and the only URL to which the credentials are sent.", required=True),
    Row("oauth2", "grant", Word(get_args(d.Grant)), "The grant type of token requests.",
        default="client_credentials"),
    Row("oauth2", "scopes", Texts(noun="scope", pattern=patterns.SCOPE), "The scopes that are requested."),
    Row("oauth2", "client_auth", Word(get_args(d.ClientAuth)),
        "How the client authenticates at `token_url`: by basic authentication, or in the body.", default="basic"),
    Row("oauth2", "params",
        Pairs(secrets=(*CREDENTIALS, "password", "client_assertion"), taken=("grant_type", "scope")),
        "Additional parameters, such as `audience`."),
    # ------------------------------------------------------------------- what the spec, a resource and an endpoint have
    Row("endpoint", "extends", Text(empty=False), "The member that it inherits from.", otherwise="the resource"),
    Row("resource", "path", PathText(), "The path of one entity, with at least one parameter; that of a singleton "
        "may have none.", otherwise="none: the resource is a group of endpoints"),
    Row("endpoint", "path", PathText(), "The path: `:name` is a parameter, `:name?` an optional one.",
        otherwise="inherited"),
    Row("resource", "schema", OneEntity(), "The value of `get`: an entity, or one of a union.",
        otherwise="none: the resource is a group of endpoints"),
    Row("resource", "singleton", Flag(), "Whether there is one record at its path: `get`, `update`, `partial_update` "
        "and `delete`, and no list.", default=False),
    Row("resource", "class", Name("a class"), "The name of its class.",
        otherwise="its key in PascalCase; if that is the name of a singleton's entity, followed by `Resource`"),
    Row("resource", "members", Texts(words=MEMBERS), "The standard members; `push` adds `create`.",
        otherwise="all that fit, without `move` and `remove`", check=standard_members),
    Row("endpoint", "members", Texts(words=d.EXTENDERS), "The list operations, if its schema contains a collection.",
        otherwise="all that fit, without `move` and `remove`; in a group `get_page`", check=list_operations),
    Row("endpoint", "method", Text(empty=False, pattern=patterns.METHOD), "The HTTP method.",
        otherwise="inherited; POST with `side_effect: true`"),
    Row(_ALL, "url_prefix", Text(pattern=patterns.URL), "The prefix of the paths; the nearest level wins.",
        others=("base_url", "server")),
    Row(_ALL, "headers", Headers(),
        "Headers that requests send: those of the spec, the resource and the endpoint; of several with one name the "
        "nearest level wins. Secrets are never written in a spec."),
    Row("spec resource", "endpoint", Code(), "The class of its endpoints, derived from `restencil.RestEndpoint`."),
    Row("resource endpoint", "params", Fields("path_param"), "Types of the parameters of its paths.",
        others=("path_params",)),
    Row("spec", "header_params", Fields("client_header"), "Headers that are arguments of the client."),
    Row("resource endpoint", "header_params", Fields("header_param", nullable=True),
        "Headers that are arguments of the call. Those of an endpoint are merged with those of its resource, one by "
        "one."),
    Row("spec", "search_params", Fields("client_param"), "Search parameters that are arguments of the client."),
    Row("resource", "search_params", Fields("search_param"),
        "The parameters after the `?` of its list: of `get_list`, its list operations, and endpoints that extend it.",
        others=("query_params", "query")),
    Row("endpoint", "search_params", Fields("search_param"),
        "The parameters after the `?`, in place of all inherited ones.", others=("query_params", "query")),
    Row(_ALL, "search_style", OrNull(Either((Subsection("search_style"), Word(d.LIST_STYLES)))),
        "How lists and objects are written in search strings.", otherwise="lists `comma`",
        others=("collection_format", "array_format")),
    Row("search_style", "lists", OrNull(Word(d.LIST_STYLES)), "How lists are written.", otherwise="`comma`"),
    Row("search_style", "objects", OrNull(Word(d.OBJECT_STYLES)), "How objects are written.",
        otherwise="not supported"),
    Row("resource endpoint", "body", Body(("form", "multipart"), BODY_WORDS),
        "The request body: `null` for none, an entity's name for its fields.",
        otherwise="inherited; the fields of the resource's entity; none for GET and DELETE"),
    Row("endpoint", "schema", Response(), "The type of responses; `null` for none.",
        otherwise="inherited"),
    Row("endpoint", "returns", Type("returns"), "The type of the value, if `process` changes it.",
        otherwise="the type of the schema; `any` without one"),
    Row("endpoint", "content", Word(get_args(d.Content)),
        "How responses are read; `stream` is a body that is not read yet.",
        otherwise="depends on `Content-Type`"),
    Row("endpoint", "side_effect", Flag(),
        "Whether a call changes something on the server, so that its response is never cached.",
        otherwise="inherited; if `method` is given, false for GET only"),
    Row("endpoint", "follow_see_other", Flag(),
        "Whether a 303 after a mutation is followed with a GET; otherwise it is an error.",
        otherwise="inherited, else false"),
    Row("resource", "collection",
        Either((Subsection("collection"), Code())),
        "Settings of its lists, or the class of its collections."),
    Row("resource endpoint", "pagination_field",
        Name("the pagination field of {owner}", keyword=True, otherwise=_PAGED),
        "The parameter for the page; with `in: body`, a member of the body.",
        others=("page_param", "cursor_param")),
    Row("resource endpoint", "pagination", Subsection("pagination", "write {style: …}"),
        "How the next page is found."),
    Row("resource", "optimistic", Flag(),
        "Whether mutations are optimistic: visible before the server responds.", default=False),
    Row(_ALL, "options", Subsection("options"), "How responses are requested and cached."),
    Row("resource endpoint", "auth", Use(),
        "How requests authenticate: `none`, a scheme, or a list as in `use`; with `null` as the spec says.",
        otherwise="as `use` of the spec"),
    Row(_ALL, "request", OrNull(Subsection("request", "write {content_type: …}")), "How bodies are sent."),
    Row(_ALL, "response", OrNull(Subsection("response", "write {empty: none}")),
        "The position of the value in responses, and the value of empty responses."),
    Row("endpoint", "expires", Either((Texts(noun="target"), Word((d.NOTHING,), others="a list of targets"))),
        "What a mutation makes stale in addition: `self` is the entity that the path identifies, `get_list` a member "
        "of the resource, `orders.get` one of another resource, and `orders` all that this resource reads. If both "
        "paths have a parameter with the same name, only reads with the same value become stale; but the name of the "
        "own resource means all its records, such as all folders of a tree whose folder is deleted. `nothing` if the "
        "mutation makes nothing stale, whatever its response contains."),
    Row("spec endpoint", "redirects", Subsection("redirects", "write {cross_origin_body: true}"),
        "The redirects that are followed."),
    Row("redirects", "cross_origin_body", Flag(),
        "Whether a 307 or 308 to another origin is followed with the body of the request; otherwise it is an error.",
        required=True),
    Row(_ALL, "errors", Errors(), "The bodies of errors: `data` of the error that a call raises.",
        others=("exceptions",)),
    Row("error_choice", "one_of", Texts(least=2, noun="object"),
        "The possible objects: the first whose constants all match, else the first with all required fields.",
        required=True),
    Row("endpoint", "process", Code(), "A function `process(value, *args)` that converts the JSON of a response before "
        "it is stored and returned. `args` are the parameters of the call as a dict, and the body, with JSON names."),
    Row("endpoint", "update", Code(), "A function `update(value, *args)` that changes other cached results after a "
        "success: it returns a mapping from keys to functions of the old result. `value` and results have primary keys "
        "in place of records. Name these results in `expires` too, since it does not run if the outcome of the change "
        "is not known."),
    Row("endpoint", "get_optimistic_response", Code(),
        "A function `(snapshot, *args)` that returns the expected response, which is visible until the server "
        "responds."),
    Row("resource", "endpoints", Table("endpoint_name", Subsection("endpoint")),
        "Changes to standard members, and additional endpoints, by name."),
    Row("resource", "examples", Table("", Subsection("example", "write {response: …}")),
        "An example call of each endpoint, by name."),
    # --------------------------------------------------------------------------------------------------------- entities
    Row("entity_form", "entity", EntityName(new=True), "The name of the entity.", required=True),
    Row(_ENTITY, "fields", Fields("entity_field"), "The fields, in order.",
        others=("properties", "attributes")),
    Row(_ENTITY, "pk", Either((Texts(noun="field"), Text(empty=False))),
        "The primary key: a field, or a list of fields; dots for fields in objects. `[]` if there is only one record.",
        otherwise="`id`, or the pk of the base entity", others=("primary_key",)),
    Row(_ENTITY, "pk_optional", Flag(),
        "Whether a record without a primary key is allowed, which is not shared between responses; otherwise it is an "
        "error.", default=False),
    Row(_ENTITY, "key", Text(empty=False), "The name of its table in the store. Entities with the same `key` share "
        "their records.",
        otherwise="that of the nearest base entity that declares one, else its own name"),
    Row(_ENTITY, "extends", EntityName(), "The base entity, whose fields it inherits.", others=("inherits", "base")),
    Row(_ENTITY, "abstract", Flag(), "Whether it is only a base for other entities.", default=False),
    Row(_ENTITY, "indexes", Texts(noun="field"),
        "Fields whose value identifies a record, as the primary key does: `get(slug=…)` finds it in the store."),
    Row(_ENTITY, "validate", Code(),
        "A function `validate(record)` that returns an error message or `None`. With a message the call raises a "
        "`ProcessingError`, and nothing of its response is stored."),
    # ------------------------------------------------------------------------------------------------------ the tables
    Row("spec", "enums", Table("type_name", EnumValues()),
        "Types with known values, by name. Other values from the server are kept."),
    Row("spec", "objects", Table("type_name", Fields("object_field")),
        "Values without an identity, by name: they are part of the record that contains them."),
    Row("spec", "entities", Table("type_name", Subsection("entity")), "Records with an identity, by name."),
    Row("spec", "resources", Table("resource_name", Subsection("resource")), "The resources of the API, by name."),
    # --------------------------------------------------------------------------------------------------------- options
    Row("options", "data_expiry_length", OrNull(Duration()), "How long a response is fresh.", otherwise="1m",
        others=("ttl", "max_age", "stale_time")),
    Row("options", "error_expiry_length", OrNull(Duration()),
        "How long the error of a read is raised again without a request.", otherwise="1s"),
    Row("options", "poll_frequency", OrNull(Duration(least=1)),
        "How often a live read sends a request.", otherwise="never", others=("refetch_interval",)),
    Row("options", "invalid_if_stale", OrNull(Flag()),
        "Whether a call waits for fresh data if the cached data is stale; `false` returns the stale data and fetches "
        "in the background (stale-while-revalidate).",
        otherwise="true"),
    Row("options", "needs", OrNull(Either((Texts(noun="field"), Word(("all", "required"), others="a list of fields")))),
        "The fields that a record from another response must have, so that `get` returns it without a request: `all` "
        "that are declared, a list of them (not in the spec, which has no entity), or `required`: those that "
        "cannot be null, so without `?`, `default: null` and the type `any`, for servers that omit null values, where "
        "each other field that is missing is null.",
        otherwise="`all`"),
    Row("options", "conditional", OrNull(Flag()),
        "Whether the next request for a response with `ETag` or `Last-Modified` is conditional.", otherwise="true",
        others=("etag", "etags", "if_none_match")),
    Row("options", "freshness", OrNull(Either((Subsection("freshness"), Word(get_args(d.Freshness))))),
        "How long a response is fresh: as `data_expiry_length` declares (`client`), or as the response declares "
        "(`server`).", otherwise="client", others=("cache_control",)),
    Row("freshness", "server", Subsection("server_freshness", "write {at_least: 5s}"),
        "Bounds of the freshness in the response.", required=True),
    Row("server_freshness", "at_least", Duration(), "Minimum time that a response is fresh."),
    Row("server_freshness", "at_most", Duration(), "Maximum time that a response is fresh."),
    Row("options", "concurrency", OrNull(Either((Subsection("concurrency"), Word(("etag",))))),
        "How `update`, `partial_update` and `delete` identify the version that they change: with the ETag of the last"
        " response as `If-Match`.", otherwise="not at all", others=("if_match", "optimistic_locking", "lock")),
    Row("concurrency", "etag", Word(("required",)), "Updates without a known ETag are not sent."),
    Row("concurrency", "field", Text(empty=False), "The field of the entity with its ETag."),
    Row("options", "error_policy", OrNull(Either((Code(), Word(get_args(d.ErrorPolicy))))),
        "What a read does with cached data after an error: `hard` raises the error, `soft` returns the data, "
        "`soft_on_server_error` returns it after a status from 500 on or a failed connection. A function gets the "
        "error, and returns `'hard'` or `'soft'`.", otherwise="hard"),
    Row("options", "validate", OrNull(Word(get_args(d.Validate))),
        "What happens to responses that do not fit the declared types: `strict` makes them errors, `warn` logs each "
        "kind once.", otherwise="off"),
    Row("options", "timeout", OrNull(Duration(least=1)),
        "The limit of an attempt, from connecting to the end of the body.",
        otherwise="that of the client, else 5s for each step"),
    Row("options", "retries", OrNull(Whole()), "The number of retries of a failed request.",
        otherwise="that of the client, else 0"),
    Row("options", "strict_shape", OrNull(Flag()),
        "Whether an object instead of a list, or a list instead of an object, is an error.", otherwise="true"),
    Row("options", "replace", OrNull(Flag()), "Whether a response replaces the record instead of being merged into it.",
        otherwise="true for `update`"),
    Row("request", "content_type", OrNull(Text(empty=False, pattern=patterns.MEDIA_TYPE)),
        "The content type of a JSON, text or bytes body.", otherwise="depends on the body"),
    Row("request", "envelope", OrNull(Text(pattern=patterns.ENVELOPE)),
        "The member that contains the body, with dots for nested members."),
    Row("request", "optional", OrNull(Flag()), "Whether a call may leave the body out.", otherwise="false"),
    Row("request", "style", OrNull(Either((Subsection("search_style"), Word(d.LIST_STYLES)))),
        "How lists and objects are written in a form.", otherwise="lists `repeat`, objects `brackets`"),
    Row("request", "in_key", OrNull(Flag()),
        "Whether the body is part of the key of a reading endpoint: a search by POST then has a result for each body.",
        otherwise="false"),
    Row("response", "envelope", OrNull(Text(pattern=patterns.ENVELOPE)),
        "The position of the value in a response: names of members, and indexes of items, with dots. For a resource "
        "or the spec, it applies to responses that are a single entity or object."),
    Row("response", "list_envelope", OrNull(Text(pattern=patterns.ENVELOPE)),
        "The same for responses that are a list or a mapping."),
    Row("response", "ignore", OrNull(Flag()),
        "Whether the content of a successful response is ignored.", otherwise="false"),
    Row("response", "empty", OrNull(Word(get_args(d.Empty))),
        "The value of an empty response: an error, nothing (`none`), or, for mutations, the request body (`merge`).",
        otherwise="`error` for reads; `merge` for `update`, `partial_update` and `create`; else `none`"),
    Row("options", "persist", _PERSIST, f"Whether a storage keeps the results. {_PERSIST_NUMBER}", otherwise="true"),
    Row(_ENTITY, "persist", _PERSIST, f"Whether a storage keeps its records. {_PERSIST_NUMBER}", otherwise="true"),
    Row(_DECLARED, "persist", _PERSIST, f"Whether a storage keeps its values. {_PERSIST_NUMBER}",
        otherwise="true, but false for names of secrets such as `password`"),
    # ------------------------------------------------------------------------------------- collections, pages, examples
    Row("pagination", "style", Word(tuple(STYLES)),
        f"How requests name a page: {'; '.join(f'`{style.name}`: {style.help}' for style in STYLES.values())}.",
        required=True),
    Row("pagination", "in", Word(("query", "body")),
        "Where `pagination_field` and the `param` of `size` are sent. `body` is for lists that are read by POST: the "
        "other members of the body identify the list, the position does not.", default="query"),
    Row("pagination", "next", Text(empty=False, pattern=patterns.CURSOR),
        "The position of the next cursor: a path in the response, `header:NAME`, or `last.<field>` of the last item. "
        "For the style `url`, the position of the URL of the next page."),
    Row("pagination", "more", Text(empty=False),
        "The position of a flag for further pages: iteration ends if it is false, null or absent."),
    Row("pagination", "total", Text(empty=False),
        "The position of the total number of items; it is updated as items are added and removed."),
    Row("pagination", "start", Whole(least=0), "The number of the first page, or the first offset.",
        otherwise=", ".join(f"{style.start} for `{style.name}`" for style in STYLES.values() if style.is_counted)),
    Row("pagination", "size", Either((Subsection("page_size", "write {param: limit, value: 50}"), Text(empty=False))),
        "The number of items per page: the parameter that requests it, or its position in the response."),
    Row("pagination", "remove_cursor", Code(),
        "A function `(*args)` that returns the arguments of a list without the position of a page, as a list.",
        otherwise="removes `pagination_field`"),
    Row("page_size", "param", Name("{label}", keyword=True), "The parameter; with `in: body`, a member of the body.",
        required=True),
    Row("page_size", "value", Whole(least=1), "Its value.", required=True),
    Row("body", "form", Fields("form_field"), "Fields that are sent as a form, URL-encoded."),
    Row("body", "multipart", Fields("file_field"), "Fields and files that are sent as a multipart body."),
    Row("example", "params", Json(mapping=True), "The arguments of the call, except the body."),
    Row("example", "body", Json(), "The body."),
    Row("example", "response", Json(),
        "The response as the API sends it. Members may have the names of the spec or of JSON, and datetimes with a "
        "`format` may also be RFC 3339 strings: `1767225600` or `2026-01-01T00:00:00Z` for `unix`."),
    # ---------------------------------------------------------------------------------------------------------- fields
    Row(_DECLARED, "type", Type(must=True), "Its type.", others=("schema",)),
    Row(_SENT, "type", Type(), "Its type.", others=("schema",)),
    Row("path_param", "type", Type(), "Its type.", otherwise="that of `field`"),
    Row("path_param", "field", Text(empty=False),
        "The field of the entity that has its value, with dots for fields in objects: it gives the parameter its type, "
        "and identifies the record.", otherwise="the field with its name"),
    Row("search_param", "field", Text(empty=False),
        "The field of the entity that has its value, with dots for fields in objects. A read of one record finds the "
        "record in the store by it, if it is written.",
        otherwise="for the filters of a list the field with its name"),
    Row("body_field form_field", "field", Text(empty=False),
        "The field of the entity that has its value, with dots for fields in objects: it identifies the record that a "
        "call changes.",
        otherwise="the field with its name"),
    Row("search_param", "filter", Word(get_args(d.Filter)),
        "How it filters a list: `equals` selects entities whose field has exactly this value, so that the client can "
        "update the list; `unknown` if only the server knows.",
        otherwise="`equals` if it and the field with its name are both boolean, the same enum, integer, uuid or a "
        "reference, else `unknown`"),
    Row(f"{_ARGUMENTS} server_variable", "type", Type(), "Its type.", others=("schema",)),
    Row("path_param", "slashes", Flag(),
        "Whether a `/` in its value is not escaped, so that it can span several segments.",
        default=False),
    Row(f"{_ARGUMENTS} server_variable", "default", Json(),
        "The default value, as in JSON."),
    Row(_OF_CALLS, "wire", Text(empty=False, pattern=patterns.HEADER_WIRE), "The name of the header.",
        otherwise="its name, capitalized with hyphens", others=("alias", "header")),
    Row("client_param", "wire", Text(empty=False), "Its name in URLs.", otherwise="as in `wire_names`",
        others=("alias",)),
    Row(_ARGUMENTS, "optional", Flag(), "Whether it may be omitted, like `?` after the type.", default=False,
        others=("nullable",)),
    Row(f"{_OF_CLIENTS} server_variable", "env", Text(empty=False, pattern=patterns.VARIABLE),
        "The environment variable with its value, if the client gets none as argument."),
    Row("search_param client_param form_field", "style", Word(get_args(d.Style)), "How a list or an object is written.",
        otherwise="as in `search_style`; in forms lists `repeat`, objects `brackets`",
        others=("collection_format", "explode")),
    Row(_OF_CALLS, "in_key", Flag(), "Whether it is part of the key of reading endpoints.",
        otherwise="true, except with `secret` or `partition`"),
    Row(_OF_CALLS, "partition", Flag(),
        "Whether it changes the values of entities: each value of the header has a separate store.",
        otherwise="true for `Accept`, `Accept-Language` and names with tenant, account, organization or version"),
    Row(_OF_CALLS, "secret", Flag(), "Whether its value is hidden in keys, logs and errors.", default=False),
    Row(_OF_CALLS, "auto", Word(("uuid",)),
        "The generated value if a call gives none: a UUID, the same in retries. The call may then be repeated."),
    Row(_DECLARED, "const", Literal(), "The constant value, which distinguishes the types of a union.",
        others=("literal",)),
    Row(f"{_SENT} path_param", "const", Literal(), "The only value that a call may pass.", others=("literal",)),
    Row(_DECLARED, "default", Json(), "The value of a missing field, as in JSON, with Python names.",
        otherwise="depends on the [type](#types)"),
    Row("search_param", "default", Json(), "The value that is sent if a call passes none, as in JSON."),
    Row(_OF_BODIES, "default", Json(),
        "The value that the server assumes, as in JSON: a body may leave the member out, and it is not sent."),
    Row(_DECLARED, "wire", Text(empty=False), "Its name in JSON.", otherwise="as in `wire_names`",
        others=("alias", "json_name")),
    Row(_SENT, "wire", Text(empty=False), "Its name in the request.", otherwise="as in `wire_names`",
        others=("alias", "json_name")),
    Row(f"{_DECLARED} {_SENT}", "optional", Flag(), "Whether it may be null or absent, like `?` after the type.",
        default=False, others=("nullable",)),
    Row(_DECLARED, "required", Flag(),
        "Whether bodies require it, like `!` after the type. Bodies of `partial_update` do not require it, and "
        "reading is not affected.", default=False, others=("mandatory",)),
    Row(_EVERY_FIELD, "format", Word(get_args(d.Format)),
        "The format of its datetimes in JSON and URLs: a string, seconds or milliseconds since 1970, or as in RFC "
        "2822.",
        otherwise="`rfc3339`"),
    # ----------------------------------------------------------------------------------------------------------- forms
    Row("values_form", "values", Type(), "The type of the values.", required=True),
    Row("object_form", "object", Members(), "The members, by name.", required=True),
    Row("object_form", "wire", Renames("members to names"),
        "The JSON names of members that differ from `wire_names`.",
        otherwise="as in `wire_names`"),
    Row("object_form", "optional", Texts(noun="member"),
        "Members that may be absent or null, like `?` after the type."),
    Row("one_of_form", "one_of", Alternatives(), "The types.", required=True),
    Row("one_of_form", "attribute", Text(empty=False), "The field that distinguishes objects and entities.",
        otherwise="by constants and required fields"),
    Row("one_of_form", "values", Choices(), "The objects and entities, by value of the attribute.",
        otherwise="the constants of the field, else the names"),
    Row("enum_form", "enum", SomeValues(), "The known values.", required=True),
    Row("union_form", "union", Choices(), "The entities, by value of the attribute.", required=True),
    Row("collection_form", "collection", Items(), "The contents: `[Entity]` or `{values: Entity}`.", required=True),
    Row("collection_form", "nest", Renames("arguments to fields"),
        "Whose list it is: arguments of the list, each with the field of this entity that has its value, such as "
        "`{user: id}` in an entity `User`.",
        position="entity_field"),
    Row("collection collection_form", "non_filter_arguments", Texts(noun="argument"),
        "Arguments that do not filter the list, such as its order: they do not decide which entities it contains."),
    Row("collection collection_form", "follow", Flag(),
        "Whether an entity that changes joins and leaves its lists; with `false` the change makes them stale instead.",
        default=True),
    Row("all_form", "all", Choices(or_one=True), "An entity, or the entities of a union.", required=True),
    Row("union_form", "attribute", Either((Code(), Text(empty=False))),
        "The field that distinguishes the entities, or a function.", required=True, label="the attribute",
        need=_ATTRIBUTE_NEED, add=_ATTRIBUTE_ADD),
    Row("all_form", "attribute", Either((Code(), Text(empty=False))),
        "The field that distinguishes the entities of a union, or a function.", label="the attribute"),
    Row("invalidate_form", "invalidate", OneEntity(), "The removed entity.", required=True),
    Row("query_form", "query", Source(("collection", "all")), "A collection, or all entities of a type.",
        required=True),
    Row("query_form", "process", Code(),
        "A function `process(value, *args)` that computes the view.", required=True, need="{owner} needs 'process'",
        add="add 'process: python:…'"),
    Row("query_form", "returns", Type("returns"), "The type of the view.", otherwise="`any`"),
    # ------------------------------------------------------------------------------------- documentation and direction
    Row(f"{_ALL} {_ENTITY} {_EVERY_FIELD} server", "description", Text(),
        "The description, which is used in docstrings.", default="", others=("doc", "help", "summary")),
    Row(f"resource endpoint {_ENTITY} path_param search_param {_ARGUMENTS} server_variable server", "deprecated",
        Reason(), _DEPRECATED),
    Row(f"{_DECLARED} {_OF_BODIES}", "deprecated", Reason(), "Whether it is deprecated, or why, in docstrings."),
    Row(_DECLARED, "read_only", Flag(), "Whether it is omitted from bodies.", default=False),
    Row(_DECLARED, "write_only", Flag(),
        "Whether only bodies have it, so that it is not an attribute of the class.", default=False),
    Row("entity_field", "param", Text(empty=False),
        "The path parameter that provides its value if the record does not have it; it is never sent.", default=""),
    Row(_DECLARED, "send", Word(("pk",)),
        "With `pk`, bodies contain the primary key of the entity instead of the entity.",
        otherwise="the value as given"),
    Row(_DECLARED, "decode", Code(), "A function from JSON to its value."),
    Row(_DECLARED, "encode", Code(), "A function from its value to JSON."),
)
# fmt: on


# -------------------------------------------------------------------------------------------------------------- look up


@functools.cache
def rows(section: str) -> Mapping[str, Row]:
    """Return the rows of a section by key, in order."""
    return {row.key: row for row in ROWS if section in row.where.split()}


@functools.cache
def defaults(section: str) -> Mapping[str, Any]:
    """Return the defaults of the keys of a section."""
    return {key: row.default for key, row in rows(section).items()}


@functools.cache
def relatives(section: str) -> frozenset[str]:
    """Return the keys that only other sections of the family have."""
    family = SECTIONS[section].family
    words = {key for other, its in SECTIONS.items() if family and its.family == family for key in rows(other)}
    return frozenset(words - set(rows(section)))


@functools.cache
def synonyms(section: str) -> Mapping[str, str]:
    """Return the synonyms of the keys of a section, each with its key."""
    return {other: row.key for row in rows(section).values() for other in row.others if other not in rows(section)}
