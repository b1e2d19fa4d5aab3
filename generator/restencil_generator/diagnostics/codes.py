"""The codes of all problems, each with its rule in a sentence and an explanation. Codes are stable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Code(NamedTuple):
    """The rule of a code in one sentence; the explanation gives the reason or the fix."""

    rule: str
    explanation: str = ""


ERRORS: Final[Mapping[str, Code]] = {
    # Files and YAML
    "unreadable-file": Code("A file of a spec can be read."),
    "no-spec-files": Code("A folder of a spec holds YAML files."),
    "not-utf8": Code("A spec is UTF-8."),
    "empty-spec": Code("A spec is not empty."),
    "merge-conflict": Code(
        "A merge was finished: no marker of a conflict is left.",
        "Resolve the conflict in the spec, and generate again with `--force`: generated files need no merging.",
    ),
    "openapi-document": Code(
        "A spec is written in the spec language.",
        "An OpenAPI document says other things than a spec. `restencil import` makes a spec of one.",
    ),
    "yaml-syntax": Code("A spec is YAML that parses."),
    "yaml-documents": Code("A file holds one YAML document."),
    "yaml-tag": Code(
        "A spec uses no YAML tags.",
        "Tags such as `!!python/object` could create arbitrary objects, so none is read.",
    ),
    "yaml-key": Code(
        "A key is a string.",
        "Keys become names. YAML reads `1:` and `true:` as something else, so put them in quotes.",
    ),
    "yaml-alias": Code(
        "An alias names an earlier anchor and represents a bounded amount of text.",
        "An alias that represents aliases can grow without bound, which would exhaust the memory of whoever"
        " reads the spec.",
    ),
    "yaml-depth": Code("Collections are not nested without bound."),
    "yaml-number": Code("A number is one that JSON can hold."),
    "yaml-loader": Code("PyYAML is installed with its C parser."),
    "duplicate-key": Code(
        "A key is given once.",
        "YAML would keep the last one silently, and the other would be lost.",
    ),
    # Structure
    "wrong-type": Code("A value has the form that its key asks for."),
    "unknown-key": Code(
        "A key is one that the spec language knows at its place.",
        "A key with a slip of the pen would otherwise have no effect, silently.",
    ),
    "missing-key": Code("Required keys are given."),
    "key-not-here": Code("A key has a meaning at its place."),
    "unknown-value": Code("A value is one of those that its key allows."),
    "given-twice": Code("A list names nothing twice."),
    "language-version": Code(
        "The generator knows the language version of the spec.",
        "A spec of a newer version may say what this generator would misread. Install a newer restencil.",
    ),
    "bad-duration": Code("A duration is milliseconds, or a number with ms, s, m or h."),
    "bad-reference": Code("Hand-written code is named as python:package.module:name."),
    "bad-header": Code("A header is one that HTTP allows."),
    "bad-method": Code("A method is one that HTTP allows."),
    "bad-url": Code("A URL holds no spaces and no control characters, and secrets are sent to https or this machine."),
    "bad-envelope": Code(
        "An envelope is a path: names and numbers with dots.",
        "An envelope is the place of the value in a response: `data`, `data.items`, `results.0`.",
    ),
    "empty-merge": Code(
        "What was sent replaces the response of a mutation with an entity alone.",
        "`empty: merge` takes what was sent as the new record. Only a mutation whose schema is an entity has one.",
    ),
    "body-in-key": Code(
        "A body is part of a key where a call has a body and a cached response.",
        "Without a body there is nothing to add to the key, and what has a side effect has no cached response.",
    ),
    "expires-target": Code(
        "What a mutation leaves stale is an endpoint that reads, or the item of its path.",
        "Name a reading member (`get_list`), one of another resource (`account.get`), a resource, or `self`.",
    ),
    "freshness-length": Code("Data lives as long as the server says, or for a length of its own."),
    "freshness-bounds": Code("Data lives at least no longer than at most."),
    "concurrency-target": Code("Endpoints with `concurrency` change something, and its field is one of their entity."),
    "singleton-list": Code(
        "A singleton has no list.",
        "A singleton is the one record at its path. Take `singleton` away, or the list.",
    ),
    "error-status": Code("A key of `errors` is a status from 400 to 599, 4XX, 5XX or default."),
    "secret-header": Code(
        "No header carries a secret.",
        "What is in a spec is checked in and generated. Say `auth:`, and give the secret to the client.",
    ),
    "secret-in-key": Code(
        "What is secret is part of no key.",
        "Keys show in logs, and in stored caches. Take `secret` or `in_key` away.",
    ),
    "style-misfit": Code("A style fits the type of its parameter."),
    "server-variable": Code("The variables of a server are those in its URL."),
    "auth-kind": Code("Authentication is of one kind."),
    "auth-scheme": Code("A named scheme is declared, and counts."),
    "auth-secret": Code(
        "No secret is written in a spec.",
        "What is in a spec is checked in and generated. Give the secret to the client, or name a variable "
        "with `env`.",
    ),
    # Names
    "bad-name": Code("A name is one that Python code can use."),
    "reserved-name": Code(
        "The words of the spec language name no entity, object or enum.",
        "The name is a word of the language, so `schema: <name>` could mean two things.",
    ),
    "taken-name": Code(
        "A name is not taken by a library or by the client.",
        "The client or the library has a member of this name, which would be hidden.",
    ),
    "name-clash": Code(
        "Two things do not get one name.",
        "Two things of the spec become one name in Python. Give one of them a name of its own; none is made up.",
    ),
    # Types and fields
    "unknown-type": Code("A type is known."),
    "type-not-here": Code("A type is one that may be written in its place."),
    "object-not-here": Code(
        "An object with members is written {object: …} outside of an endpoint's schema.",
        "Here a mapping could be a form or an object. `{object: {…}}` says which.",
    ),
    "list-type": Code("A list names the type of its items."),
    "collection-items": Code(
        "A collection holds entities.",
        "A collection is a list that others can add to, which takes records with an identity.",
    ),
    "query-of": Code("A query is computed from a collection or from all entities of a type."),
    "const-alone": Code("A field that is fixed by 'const' has no other type and no default."),
    "bad-default": Code("A default fits its type."),
    # Entities
    "unknown-entity": Code("A named entity exists."),
    "not-an-entity": Code("What is named as an entity is one."),
    "unknown-field": Code("A named field exists."),
    "abstract-entity": Code("An abstract entity is not a type."),
    "pk-not-a-field": Code("A pk consists of fields."),
    "pk-type": Code(
        "A field of a pk has one text.",
        "A primary key is a string in a table: strings, integers, UUIDs and the like have one, floats and "
        "objects have none.",
    ),
    "field-both-ways": Code("The keys of a field do not exclude each other."),
    "param-position": Code("The path parameter that a field comes from is one of an endpoint that returns it."),
    "extends-cycle": Code(
        "Nothing extends itself.",
        "Follow the names: one of them must not extend another.",
    ),
    "field-override": Code(
        "A field keeps the type of the one that it overrides, or a narrower one.",
        "Who reads the one that is extended relies on its types.",
    ),
    "object-cycle": Code(
        "An object has a default that ends.",
        "An object that needs another one of its kind would never end. Make a field in the circle optional (`?`).",
    ),
    "union-attribute": Code(
        "The entities of a union are distinguished by a field.",
        "Name the field that distinguishes the entities, or give each a constant field.",
    ),
    "union-value": Code("A union names an entity under the value that its field is fixed to."),
    # Resources and endpoints
    "bad-path": Code("A path follows the grammar of templates."),
    "path-without-parameter": Code(
        "A resource's path has a parameter, unless it is a singleton's.",
        "The path is that of one record; the list lies at what is left without its last parameter.",
    ),
    "duplicate-parameter": Code("A path has each parameter once."),
    "unknown-parameter": Code("A named parameter exists."),
    "param-field": Code("The field that a path parameter is exists."),
    "parameter-clash": Code(
        "A parameter has one role.",
        "A name is a keyword of the call, and can mean one thing only.",
    ),
    "resource-schema": Code("A resource's schema is an entity or a union of entities."),
    "bad-body": Code("A body is a name, a mapping of fields, a list, any, bytes, text or null."),
    "content-with-schema": Code(
        "A schema applies to JSON alone.",
        "Text, bytes and streams are handed over as they are.",
    ),
    "returns-without-process": Code("The type of a result is given only where the schema does not give it."),
    "unknown-member": Code("A named member is a standard one."),
    "member-needs-list": Code("What hangs on the list needs the list."),
    "member-not-fitting": Code("A member fits the list that it hangs on."),
    "member-left-out": Code(
        "Only members that exist are overridden.",
        "`members` does not name it, so it is not made, and there is nothing to override.",
    ),
    "unknown-endpoint": Code("A named endpoint exists."),
    "needs-field": Code("A field that a record must have exists."),
    "pagination-in-body": Code(
        "Positions are sent in the body of a list that is read with one, as a part of its key.",
        "A list that is read by POST has `side_effect: false`, and a key for each body by `request: "
        "{in_key: true}`: else searches with different bodies would show the same list. Its position is "
        "left out of the key.",
    ),
    "pagination-without-collection": Code(
        "Pages are those of a collection, or of a list of plain values.",
        "Pages are added to the list that is there. Write `{collection: [Entity]}` in its schema. A list of"
        " plain values needs no collection: each page is a result of its own.",
    ),
    "same-request": Code(
        "Two endpoints that read the same URL have the same schema.",
        "One key has one result in a store. Two schemas would read the same stored form in two ways.",
    ),
}
"""Errors of specs: nothing is generated until they are fixed."""

ADVICE: Final[Mapping[str, Code]] = {
    "stdlib-package": Code(
        "A package does not hide a module of the standard library.",
        "`import NAME` would find one of the two, depending on the order of the path.",
    ),
    "plain-http": Code(
        "A secret travels encrypted.",
        "Over `http:` everyone on the way can read the secret. Only this machine is exempt.",
    ),
    "secret-looking": Code(
        "No header looks like a secret.",
        "Fixed headers are generated and checked in, and shown in keys and logs. `auth:` and `secret: true`"
        " are not.",
    ),
    "header-in-key": Code(
        "A header that differs in each call is not part of a key.",
        "The key of each call would be another one, so nothing would be found again, and the store would "
        "grow. `in_key: false` leaves it out.",
    ),
    "header-partitions": Code(
        "What changes what entities say has a store of its own.",
        "If the header changes what entities say (a language, a tenant), values of one must not show in the"
        " other: each has a store of its own. If it does not, that only costs requests. The spec should say"
        " which it is.",
    ),
    "glued-path": Code(
        "A prefix and a path have a slash between them.",
        "Prefix and path are put together as they are, so `/v1` and `items` give `/v1items`.",
    ),
    "shared-key": Code(
        "Entities that share a table extend one another.",
        "Two entities in one table overwrite each other's records. That is meant where one extends the "
        "other, and hardly ever elsewhere.",
    ),
    "nested-collection": Code(
        "A collection nested in an entity declares its owner with `nest`.",
        "Without `nest`, the lists inside of different parents are one list, and what is pushed to one "
        "shows in all of them.",
    ),
    "never-fetched-alone": Code(
        "An entity that others need can be fetched by itself.",
        "When the needed entity is invalidated (by a delete, say), every read that holds it becomes invalid"
        " too, and nothing can bring it back. A resource of its own can, and so can an optional field.",
    ),
    "union-order": Code(
        "The types of a union can be distinguished.",
        "The type of a value is found by its JSON kind, its constants and its fields. If these do not "
        "decide, the first one is taken.",
    ),
    "param-out-of-reach": Code(
        "What comes from the path is in the path of every response that holds it.",
        "The field is filled from the path. A response of an endpoint whose path lacks the parameter leaves"
        " it open, so the record cannot be distinguished from others.",
    ),
    "union-field": Code(
        "Every entity of a union has the field that distinguishes it.",
        "A record without the field cannot be distinguished when it comes from elsewhere.",
    ),
    "secret-not-stored": Code(
        "Where a name is that of a secret, the spec says whether a storage keeps what bears it.",
        "A storage outlives the process. `persist` says whether it may keep what bears this name.",
    ),
    "stored-credential": Code(
        "Where a response may be a credential, the spec says whether a storage keeps it.",
        "A storage outlives the process. `persist` says whether it may keep the response.",
    ),
    "no-effect": Code(
        "What is written has an effect.",
        "What has no effect is a wish that is not met. Remove it, or write what it needs.",
    ),
    "delete-cannot-find-entity": Code(
        "The path of `delete` identifies the entity.",
        "A delete identifies the record by its path or by its response. Where neither does, the cache"
        " takes the record that `get` gave for the same path, and otherwise makes lists stale, which costs "
        "requests.",
    ),
    "key-not-in-path": Code(
        "The last parameter of a path is the primary key, or says which field it is.",
        "Only the last parameter of a path can be the primary key of what the path leads to. Where it has "
        "another name and no `field`, the cache does not know which record a URL means: `get` is found by "
        "its URL alone, and a record that came with a list does not answer it.",
    ),
    "body-member-misfit": Code(
        "A body member that an optimistic update shows as a field has its type.",
        "An optimistic update shows what was sent as a part of the record. What cannot be the field's "
        "value, such as names of users where the record has users, leaves the field as it was until the "
        "server has responded.",
    ),
    "body-shares-key": Code(
        "What a read gets depends on its body, and so does its key.",
        "All searches would share one entry, so the response to one body is shown for another.",
    ),
    "poll-whole-list": Code(
        "A whole list is not polled often.",
        "Each poll fetches, parses and normalizes all items, for as long as someone watches.",
    ),
    "no-iterate": Code(
        "Where there are pages, the next one can be found.",
        "`iterate()` would raise an error, since nothing names the next page.",
    ),
    "search-type": Code(
        "A search parameter can be written into a URL.",
        "A value of this type has no text that all servers agree on.",
    ),
    "search-no-field": Code(
        "It is known which records a list holds, whatever search parameters it is requested with.",
        "A list that was requested with `status=open` does not hold a record with another status, so it follows "
        "each change without a request. What a parameter selects that names no field is not known, so a list "
        "that was requested with it is requested again after each change.",
    ),
    "shadowed-parameter": Code(
        "A search parameter is not a parameter of the path as well.",
        "A keyword of the call fills the path first, so the search parameter is never sent.",
    ),
    "retries-no-effect": Code(
        "Retries are given for requests that may be repeated.",
        "A POST or PATCH that got no response may have been carried out; twice may be wrong. With a key of "
        "idempotency, which only some servers honour, it can be repeated.",
    ),
    "example-misfit": Code(
        "An example fits the spec.",
        "Examples feed `restencil mock` and docstrings, and would show what the API never says.",
    ),
    "deprecated-use": Code(
        "Nothing uses what is deprecated.",
        "A non-deprecated declaration uses a deprecated one.",
    ),
    "unused": Code(
        "Everything declared is used.",
        "It may be a leftover, or a slip in the name of what should use it.",
    ),
    "hook-missing": Code(
        "Hand-written code that is named exists.",
        "It would fail at the first call that needs it. `--no-hooks` does not look.",
    ),
    "hook-kind": Code(
        "Hand-written code is what it is named as.",
        "It would fail at the first call that needs it.",
    ),
    "hook-arity": Code(
        "Hand-written code takes the arguments that it is called with.",
        "It would fail at the first call that needs it.",
    ),
}
"""Warnings of `restencil lint` about valid specs."""

IMPORTED: Final[Mapping[str, Code]] = {
    "malformed": Code(
        "A value of a document has the form that its key asks for.",
        "It is read as if it were not there. Correct the document, by an overlay if it is not yours.",
    ),
    "version-newer": Code(
        "A document is written in a version that is known.",
        "What the new version added is not read. The rest is read as the newest known version has it.",
    ),
    "ref-missing": Code(
        "A reference leads to something.",
        "What it should be is not known, so it is `any`.",
    ),
    "ref-outside": Code(
        "A reference leads to a file under the root.",
        "A document must not read your files. `--root` names another folder, if that is what you want.",
    ),
    "ref-remote": Code(
        "A reference leads to the origin of the document.",
        "A document must not make your machine ask others. Fetch the file, and refer to it by a path.",
    ),
    "ref-cycle": Code(
        "References do not lead in a circle, and no schema is a part of itself.",
        "What refers to itself alone describes nothing, so it is `any`.",
    ),
    "type-unknown": Code(
        "A type is one of JSON Schema.",
        "It is `any`: values are handed out as they come.",
    ),
    "enum-empty": Code(
        "An enum has values.",
        "Nothing could be valid, so the type without the enum is taken.",
    ),
    "enum-mixed": Code(
        "The values of an enum are strings or integers.",
        "The message says what it is read as.",
    ),
    "default-misfit": Code(
        "A default fits its schema.",
        "The default is left out.",
    ),
    "allof-conflict": Code(
        "The parts of `allOf` agree.",
        "No value fits both. The message says what was taken.",
    ),
    "parameter-undeclared": Code(
        "A parameter of a path is declared.",
        "It is taken as a string.",
    ),
    "parameter-unused": Code(
        "A declared parameter of a path is in it.",
        "It is left out, as there is no place for it.",
    ),
    "path-twice": Code(
        "Paths that read differ by more than the names of their parameters.",
        "To a server these are the same path. The first one is taken.",
    ),
    "path-fragment": Code(
        "A path holds neither fragment nor query.",
        "A fragment is never sent. What is in a query belongs to its parameters.",
    ),
    "operation-id-twice": Code(
        "An operationId is given once.",
        "Names are not taken from it, where they would clash.",
    ),
    "no-success": Code(
        "An operation has a response that is a success.",
        "What it answers when it succeeds is not known. The message says what was taken for it.",
    ),
    "content-left-out": Code(
        "A body or a response has one form that is read.",
        "Of several forms JSON is taken, else the first that can be.",
    ),
    "xml-as-text": Code(
        "A body or a response is no XML.",
        "XML has no schema here: it is handed over as a string.",
    ),
    "server-relative": Code(
        "A server has an address of its own.",
        "The address of the document counts, if it has one; else give the client its `url_prefix`.",
    ),
    "overlay-unused": Code(
        "The target of an overlay's action matches something.",
        "The document may have changed, or the target has a slip.",
    ),
    "exclude-unused": Code(
        "What is excluded is there.",
        "The document may have changed, or the pattern has a slip.",
    ),
    "pk-guessed": Code(
        "A primary key is more than a guess.",
        "Identity decides which records are one. Look whether the field is unique, and delete the comment.",
    ),
    "pk-from-path": Code(
        "Records have a primary key of their own.",
        "Nothing in the record says which one it is, so its key is the parameter of the path.",
    ),
    "name-changed": Code(
        "The name of a resource is no member of every client.",
        "The client has a member of this name already.",
    ),
    "auth-not-carried": Code(
        "A security scheme has a form in the language.",
        "What it needs (a person who says yes, a signature) is not for a spec. Give your own HTTP client.",
    ),
    "no-resources": Code(
        "An API has resources.",
        "Without any path with a record there is nothing to cache; the operations are in groups.",
    ),
    "import-mistake": Code(
        "What an import writes passes the check.",
        "This is a mistake of the importer, not of the document. Please report it, with the document.",
    ),
    "import-internal": Code(
        "Import reads every part of a document without an error of its own.",
        "The part that it names is read as `any` or left out; the rest is imported. Please report it with "
        "that part.",
    ),
    "import-conflict": Code(
        "What is changed upstream was not changed here in another way.",
        "Both changed since the last import. Edit the spec, or settle it by `--ours NODE` or `--theirs NODE`.",
    ),
    "import-rename-lost": Code(
        "What has another name here is still there upstream.",
        "What you renamed is gone upstream, or looks quite different. Remove it here, or keep it as yours.",
    ),
    "removed-upstream": Code(
        "What was edited here is still there upstream.",
        "You edited it, so it is not taken away. Remove it if you do not need it.",
    ),
    "removed-here": Code(
        "What was removed here does not change upstream.",
        "You removed it, so it does not come back. `--theirs NODE` brings it.",
    ),
}
"""Findings of `restencil import` about documents."""

DRIFT: Final[Mapping[str, Code]] = {
    "spec-changed": Code(
        "A package is generated anew when its spec changes.",
        "`restencil generate` writes the package anew; check its diff in together with the spec.",
    ),
    "spec-file-renamed": Code(
        "The modules of a package name the file of its spec.",
        "The header of each module names the spec. `restencil generate` writes it anew.",
    ),
    "edited-by-hand": Code(
        "Generated files are not edited.",
        "Take what was wanted into the spec, or into code of your own beside the package; then `restencil "
        "generate --force`. Without `--force` an edited file is never written over.",
    ),
    "formatting-only": Code(
        "Generated files keep the layout in which they were written.",
        "A formatter has come along. Exclude the package from it, then `restencil generate --force`.",
    ),
    "missing": Code(
        "Every file that a spec gives is there.",
        "`restencil generate` writes it.",
    ),
    "orphan": Code(
        "No file is left over that a spec gives no more.",
        "`restencil generate` removes it.",
    ),
    "generator-changed": Code(
        "A package is what this version of restencil gives, with these templates.",
        "`restencil generate` writes the package anew. Versions that change what is generated say so.",
    ),
    "foreign-file": Code(
        "No other file has the path of a generated one.",
        "Nothing of yours is ever written over. Move the file away, then `restencil generate`.",
    ),
    "orphan-package": Code(
        "Every generated package has its spec.",
        "Its spec is gone, or no pattern of the configuration finds it. Bring it back, or remove the folder.",
    ),
}
"""Findings of `restencil check` about packages. Merge conflicts in a package are `merge-conflict`."""
