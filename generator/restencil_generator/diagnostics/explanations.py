"""Explains codes: rule, meaning and remedy; for `restencil explain` and the page of each code."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final, NamedTuple

from restencil_generator.diagnostics.codes import ADVICE, DRIFT, ERRORS, IMPORTED
from restencil_generator.diff.rules import RULES, SEVERITIES, Rule


class Kind(NamedTuple):
    """Whose codes these are: the title over them, and what a code of this kind means."""

    title: str
    means: str


MISTAKE: Final = Kind("Mistakes", "A mistake of a spec: nothing is generated until it is gone.")
TIP: Final = Kind("Advice", "Advice of `restencil lint` about a spec without mistakes.")
FINDING: Final = Kind("Findings of imports", "A finding of `restencil import`: the document is read all the same.")
APART: Final = Kind("Drift", "A finding of `restencil check`: a package is not what its spec gives.")
CHANGE: Final = Kind(
    "Changes", "A finding of `restencil diff`: what a change of a spec means for those who rely on it."
)

KINDS: Final = (MISTAKE, TIP, FINDING, APART, CHANGE)


class Explained(NamedTuple):
    """A code, its kind, and its rule in a sentence."""

    code: str
    kind: Kind
    rule: str

    @property
    def text(self) -> str:
        """The whole explanation, as Markdown."""
        parts = [f"# `{self.code}`", self.rule, self.kind.means]
        if self.code in RULES:
            parts[2:] = [f"{self.kind.means} {_columns(RULES[self.code])}"]
        if more := MORE.get(self.code):
            parts.append(more)
        return "\n\n".join(parts) + "\n"


def _columns(rule: Rule) -> str:
    words = {
        "B": "it breaks",
        "R": "it behaves differently",
        "A": "something is new",
        "D": "documentation",
        "–": "none",
    }
    assert set(words) == set(SEVERITIES)
    return f"For callers: {words[rule.callers]}. On the wire: {words[rule.wire]}. In caches: {words[rule.cache]}."


@functools.cache
def explained() -> Mapping[str, Explained]:
    """Every code that is reported anywhere."""
    tables = {MISTAKE: ERRORS, TIP: ADVICE, FINDING: IMPORTED, APART: DRIFT}
    changes = {
        **{code: rule.help for code, rule in RULES.items()},
        "ignore-unused": "An entry of 'ignore' in the configuration matches something.",
    }
    return {
        code: Explained(code, kind, rule)
        for kind, table in {**tables, CHANGE: changes}.items()
        for code, rule in table.items()
    }


MORE: Final = {
    # Mistakes
    "merge-conflict": (
        "Resolve the conflict in the spec, and generate again with `--force`: generated files need no merging."
    ),
    "openapi-document": "An OpenAPI document says other things than a spec. `restencil import` makes a spec of one.",
    "yaml-tag": "Tags such as `!!python/object` could create arbitrary objects, so none is read.",
    "yaml-key": "Keys become names. YAML reads `1:` and `true:` as something else, so put them in quotes.",
    "yaml-alias": (
        "An alias that represents aliases can grow without bound, which would exhaust the memory of whoever reads the"
        " spec."
    ),
    "duplicate-key": "YAML would keep the last one silently, and the other would be lost.",
    "unknown-key": "A key with a slip of the pen would otherwise have no effect, silently.",
    "language-version": (
        "A spec of a newer version may say what this generator would misread. Install a newer restencil."
    ),
    "bad-envelope": "An envelope is the place of the value in a response: `data`, `data.items`, `results.0`.",
    "empty-merge": (
        "`empty: merge` takes what was sent as the new record. Only a mutation whose schema is an entity has one."
    ),
    "body-in-key": (
        "Without a body there is nothing to add to the key, and what has a side effect has no cached response."
    ),
    "expires-target": (
        "Name a reading member (`get_list`), one of another resource (`account.get`), a resource, or `self`."
    ),
    "singleton-list": "A singleton is the one record at its path. Take `singleton` away, or the list.",
    "secret-header": ("What is in a spec is checked in and generated. Say `auth:`, and give the secret to the client."),
    "secret-in-key": "Keys show in logs, and in stored caches. Take `secret` or `in_key` away.",
    "auth-secret": (
        "What is in a spec is checked in and generated. Give the secret to the client, or name a variable with `env`."
    ),
    "reserved-name": "The name is a word of the language, so `schema: <name>` could mean two things.",
    "taken-name": "The client or the library has a member of this name, which would be hidden.",
    "name-clash": (
        "Two things of the spec become one name in Python. Give one of them a name of its own; none is made up."
    ),
    "object-not-here": "Here a mapping could be a form or an object. `{object: {…}}` says which.",
    "collection-items": "A collection is a list that others can add to, which takes records with an identity.",
    "pk-type": (
        "A primary key is a string in a table: strings, integers, UUIDs and the like have one, floats and objects have "
        "none."
    ),
    "extends-cycle": "Follow the names: one of them must not extend another.",
    "field-override": "Who reads the one that is extended relies on its types.",
    "object-cycle": (
        "An object that needs another one of its kind would never end. Make a field in the circle optional (`?`)."
    ),
    "union-attribute": "Name the field that distinguishes the entities, or give each a constant field.",
    "path-without-parameter": (
        "The path is that of one record; the list lies at what is left without its last parameter."
    ),
    "parameter-clash": "A name is a keyword of the call, and can mean one thing only.",
    "content-with-schema": "Text, bytes and streams are handed over as they are.",
    "member-left-out": "`members` does not name it, so it is not made, and there is nothing to override.",
    "pagination-in-body": (
        "A list that is read by POST has `side_effect: false`, and a key for each body by `request: {in_key: true}`: "
        "else searches with different bodies would show the same list. Its position is left out of the key."
    ),
    "pagination-without-collection": (
        "Pages are added to the list that is there. Write `{collection: [Entity]}` in its schema. A list of plain "
        "values needs no collection: each page is a result of its own."
    ),
    "same-request": "One key has one result in a store. Two schemas would read the same stored form in two ways.",
    # Advice
    "stdlib-package": "`import NAME` would find one of the two, depending on the order of the path.",
    "plain-http": "Over `http:` everyone on the way can read the secret. Only this machine is exempt.",
    "secret-looking": (
        "Fixed headers are generated and checked in, and shown in keys and logs. `auth:` and `secret: true` are not."
    ),
    "header-in-key": (
        "The key of each call would be another one, so nothing would be found again, and the store would grow. "
        "`in_key: false` leaves it out."
    ),
    "header-partitions": (
        "If the header changes what entities say (a language, a tenant), values of one must not show in the other: "
        "each has a store of its own. If it does not, that only costs requests. The spec should say which it is."
    ),
    "glued-path": "Prefix and path are put together as they are, so `/v1` and `items` give `/v1items`.",
    "shared-key": (
        "Two entities in one table overwrite each other's records. That is meant where one extends the other, and "
        "hardly ever elsewhere."
    ),
    "nested-collection": (
        "Without `nest`, the lists inside of different parents are one list, and what is pushed to one shows in all "
        "of them."
    ),
    "never-fetched-alone": (
        "When the needed entity is invalidated (by a delete, say), every read that holds it becomes invalid too, and "
        "nothing can bring it back. A resource of its own can, and so can an optional field."
    ),
    "entity-in-object": (
        "An object is a plain value, kept with what holds it. An entity in one is of its class, and a copy all the "
        "same: no other read finds it, and no change of the entity shows in it. Members of a response that are written "
        "in the endpoint's schema are none, nor are fields of an entity."
    ),
    "union-order": (
        "The type of a value is found by its JSON kind, its constants and its fields. If these do not decide, the "
        "first one is taken."
    ),
    "param-out-of-reach": (
        "The field is filled from the path. A response of an endpoint whose path lacks the parameter leaves it open, "
        "so the record cannot be told from others."
    ),
    "union-field": "A record without the field cannot be distinguished when it comes from elsewhere.",
    "secret-not-stored": "A storage outlives the process. `persist` says whether it may keep what bears this name.",
    "stored-credential": "A storage outlives the process. `persist` says whether it may keep the response.",
    "no-effect": "What has no effect is a wish that is not met. Remove it, or write what it needs.",
    "delete-cannot-find-entity": (
        "A delete says which record is gone by its path or by its answer. Where neither tells it, the cache takes the"
        " record that `get` gave for the same path, and otherwise makes lists stale, which costs requests."
    ),
    "key-not-in-path": (
        "Only the last parameter of a path can be the primary key of what the path leads to. Where it has another name"
        " and no `field`, the cache does not know which record a URL means: `get` is found by its URL alone, and a"
        " record that came with a list does not answer it."
    ),
    "body-member-misfit": (
        "An optimistic update shows what was sent as a part of the record. What cannot be the field's value, such as"
        " names of users where the record has users, leaves the field as it was until the server has responded."
    ),
    "body-shares-key": "All searches would share one entry, so the response to one body is shown for another.",
    "poll-whole-list": "Each poll fetches, parses and normalizes all items, for as long as someone watches.",
    "no-iterate": "`iterate()` would raise an error, since nothing tells which page comes next.",
    "search-type": "A value of this type has no text that all servers agree on.",
    "search-no-field": (
        "A list that was asked for with `status=open` knows that a record with another status is none of its own. "
        "With a parameter that names no field it cannot know, and is fetched anew after each change."
    ),
    "shadowed-parameter": "A keyword of the call fills the path first, so the search parameter is never sent.",
    "retries-no-effect": (
        "A POST or PATCH that got no response may have been carried out; twice may be wrong. With a key of idempotency,"
        " which only some servers honour, it can be repeated."
    ),
    "example-misfit": "Examples feed `restencil mock` and docstrings, and would show what the API never says.",
    "deprecated-use": "A non-deprecated declaration uses a deprecated one.",
    "unused": "It may be a leftover, or a slip in the name of what should use it.",
    "hook-missing": "It would fail at the first call that needs it. `--no-hooks` does not look.",
    "hook-kind": "It would fail at the first call that needs it.",
    "hook-arity": "It would fail at the first call that needs it.",
    # Drift
    "spec-changed": "`restencil generate` writes the package anew; check its diff in together with the spec.",
    "spec-file-renamed": "The header of each module names the spec. `restencil generate` writes it anew.",
    "edited-by-hand": (
        "Take what was wanted into the spec, or into code of your own beside the package; then `restencil generate "
        "--force`. Without `--force` an edited file is never written over."
    ),
    "formatting-only": "A formatter has come along. Exclude the package from it, then `restencil generate --force`.",
    "missing": "`restencil generate` writes it.",
    "orphan": "`restencil generate` removes it.",
    "generator-changed": "`restencil generate` writes the package anew. Versions that change what is generated say so.",
    "foreign-file": "Nothing of yours is ever written over. Move the file away, then `restencil generate`.",
    "orphan-package": (
        "Its spec is gone, or no pattern of the configuration finds it. Bring it back, or remove the folder."
    ),
    # Findings of imports
    "malformed": "It is read as if it were not there. Correct the document, by an overlay if it is not yours.",
    "version-newer": "What the new version added is not read. The rest is read as the newest known version has it.",
    "ref-missing": "What it should be is not known, so it is `any`.",
    "ref-outside": "A document must not read your files. `--root` names another folder, if that is what you want.",
    "ref-remote": "A document must not make your machine ask others. Fetch the file, and refer to it by a path.",
    "ref-cycle": "What refers to itself alone describes nothing, so it is `any`.",
    "type-unknown": "It is `any`: values are handed out as they come.",
    "enum-empty": "Nothing could be valid, so the type without the enum is taken.",
    "enum-mixed": "The message says what it is read as.",
    "default-misfit": "The default is left out.",
    "allof-conflict": "No value fits both. The message says what was taken.",
    "parameter-undeclared": "It is taken as a string.",
    "parameter-unused": "It is left out, as there is no place for it.",
    "path-twice": "To a server these are the same path. The first one is taken.",
    "path-fragment": "A fragment is never sent. What is in a query belongs to its parameters.",
    "operation-id-twice": "Names are not taken from it, where they would clash.",
    "no-success": "What it answers when it succeeds is not known. The message says what was taken for it.",
    "content-left-out": "Of several forms JSON is taken, else the first that can be.",
    "xml-as-text": "XML has no schema here: it is handed over as a string.",
    "server-relative": "The address of the document counts, if it has one; else give the client its `url_prefix`.",
    "overlay-unused": "The document may have changed, or the target has a slip.",
    "exclude-unused": "The document may have changed, or the pattern has a slip.",
    "pk-guessed": "Identity decides which records are one. Look whether the field is unique, and delete the comment.",
    "pk-from-path": "Nothing in the record says which one it is, so its key is the parameter of the path.",
    "name-changed": "The client has a member of this name already.",
    "auth-not-carried": (
        "What it needs (a person who says yes, a signature) is not for a spec. Give your own HTTP client."
    ),
    "no-resources": "Without any path with a record there is nothing to cache; the operations are in groups.",
    "import-internal": (
        "The part that it names is read as `any` or left out; the rest is imported. Please report it with that part."
    ),
    "import-mistake": "This is a mistake of the importer, not of the document. Please report it, with the document.",
    "import-conflict": (
        "Both changed since the last import. Edit the spec, or settle it by `--ours NODE` or `--theirs NODE`."
    ),
    "import-rename-lost": (
        "What you renamed is gone upstream, or looks quite different. Remove it here, or keep it as yours."
    ),
    "removed-upstream": "You edited it, so it is not taken away. Remove it if you do not need it.",
    "removed-here": "You removed it, so it does not come back. `--theirs NODE` brings it.",
}
"""By code. Where nothing stands, the rule and the message say all."""
