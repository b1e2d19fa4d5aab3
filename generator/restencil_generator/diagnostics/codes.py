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
    "unreadable-file": Code("The files of a spec can be read."),
    "no-spec-files": Code("The folder of a spec contains YAML files."),
    "not-utf8": Code("A spec is encoded in UTF-8."),
    "empty-spec": Code("A spec is not empty."),
    "merge-conflict": Code(
        "A file has no conflict markers of an unfinished merge.",
        "Resolve the conflict in the spec, and generate again with `--force`: generated files need no merging.",
    ),
    "openapi-document": Code(
        "A spec is written in the spec language.",
        "This is an OpenAPI document. `restencil import` creates a spec from it.",
    ),
    "yaml-syntax": Code("A spec is valid YAML."),
    "yaml-documents": Code("A file contains one YAML document."),
    "yaml-tag": Code(
        "A spec has no YAML tags.",
        "Tags such as `!!python/object` could create arbitrary objects, so none are supported.",
    ),
    "yaml-key": Code(
        "A key is a string.",
        "Keys become names. YAML reads `1:` and `true:` as other types, so put them in quotes.",
    ),
    "yaml-alias": Code(
        "An alias refers to an earlier anchor, and aliases expand to a limited number of nodes.",
        "Aliases of aliases can grow exponentially, which would exhaust the memory of every program that reads "
        "the spec.",
    ),
    "yaml-depth": Code("Nested collections have a maximum depth."),
    "yaml-number": Code("A number is valid in JSON."),
    "yaml-loader": Code("PyYAML is installed with its C parser."),
    "duplicate-key": Code(
        "A key is given once.",
        "YAML would silently use the last value and ignore the other.",
    ),
    # Structure
    "wrong-type": Code("A value has the type that its key expects."),
    "unknown-key": Code(
        "A key is known in its section.",
        "A misspelled key would otherwise be ignored silently.",
    ),
    "missing-key": Code("Required keys are given."),
    "key-not-here": Code("A key has a meaning in its section."),
    "unknown-value": Code("A value is one of the values that its key allows."),
    "given-twice": Code("A list has no duplicates."),
    "language-version": Code(
        "The generator supports the language version of the spec.",
        "This version could misread a spec of a newer version. Install a newer restencil.",
    ),
    "bad-duration": Code("A duration is a number of milliseconds, or a number with ms, s, m or h."),
    "bad-reference": Code("Hand-written code is referenced as python:package.module:name."),
    "bad-header": Code("A header is valid in HTTP."),
    "bad-method": Code("A method is valid in HTTP."),
    "bad-url": Code(
        "A URL has no spaces and no control characters, and secrets are only sent to https or this machine.",
    ),
    "bad-envelope": Code(
        "An envelope is a path: names and numbers with dots.",
        "An envelope is the position of the value in a response: `data`, `data.items`, `results.0`.",
    ),
    "empty-merge": Code(
        "Only a mutation whose schema is an entity has `empty: merge`.",
        "With `empty: merge`, the request body becomes the new record if the response is empty.",
    ),
    "body-in-key": Code(
        "A body is part of the key only if a call has a body and a cached response.",
        "Without a body there is nothing to add to the key, and responses of calls with side effects are not cached.",
    ),
    "expires-target": Code(
        "A target of `expires` is an endpoint that reads, or the item of the path.",
        "Name a reading member (`get_list`), one of another resource (`account.get`), a resource, or `self`.",
    ),
    "freshness-length": Code("Either the server or `data_expiry_length` determines how long data is fresh."),
    "freshness-bounds": Code("The minimum freshness is not longer than the maximum."),
    "concurrency-target": Code(
        "An endpoint with `concurrency` changes something, and the field belongs to its entity.",
    ),
    "singleton-list": Code(
        "A singleton has no list.",
        "A singleton is the only record at its path. Remove `singleton` or the list.",
    ),
    "error-status": Code("A key of `errors` is a status from 400 to 599, 4XX, 5XX or default."),
    "secret-header": Code(
        "No header in a spec contains a secret.",
        "Specs and generated code are committed. Declare `auth:`, and pass the secret to the client.",
    ),
    "secret-in-key": Code(
        "A secret is not part of a key.",
        "Keys appear in logs and in stored caches. Remove `secret` or `in_key`.",
    ),
    "style-misfit": Code("A style fits the type of its parameter."),
    "server-variable": Code("The variables of a server are in its URL."),
    "auth-kind": Code("An authentication scheme has exactly one kind."),
    "auth-scheme": Code("A named scheme is declared and used."),
    "auth-secret": Code(
        "A spec contains no secret.",
        "Specs and generated code are committed. Pass the secret to the client, or name an environment variable "
        "with `env`.",
    ),
    # Names
    "bad-name": Code("A name is valid in Python code."),
    "reserved-name": Code(
        "An entity, object or enum does not have the name of a word of the spec language.",
        "The name is a word of the language, so `schema: <name>` would be ambiguous.",
    ),
    "taken-name": Code(
        "A name does not hide a library or a member of the client.",
        "The client or a library has a member with this name, which would be hidden.",
    ),
    "name-clash": Code(
        "Each name in Python is unique.",
        "Two declarations of the spec get the same name in Python. Rename one of them; restencil does not invent "
        "names.",
    ),
    # Types and fields
    "unknown-type": Code("A type is known."),
    "type-not-here": Code("A type is allowed in its position."),
    "object-not-here": Code(
        "An object with members is written {object: …}, except in an endpoint's schema.",
        "A mapping here could be a form or an object, so `{object: {…}}` is required.",
    ),
    "list-type": Code("A list has the type of its items."),
    "collection-items": Code(
        "A collection contains entities.",
        "Records can be added to a collection, so they need an identity.",
    ),
    "query-of": Code("A query is computed from a collection or from all entities of a type."),
    "const-alone": Code("A field with 'const' has no other type and no default."),
    "bad-default": Code("A default fits its type."),
    # Entities
    "unknown-entity": Code("A referenced entity exists."),
    "not-an-entity": Code("A reference to an entity names an entity."),
    "unknown-field": Code("A referenced field exists."),
    "abstract-entity": Code("An abstract entity is not used as a type."),
    "pk-not-a-field": Code("A pk consists of fields."),
    "pk-type": Code(
        "A field of a pk has a unique string form.",
        "A primary key is a string in a table: strings, integers, UUIDs and similar types have a unique string "
        "form, floats and objects do not.",
    ),
    "field-both-ways": Code("The keys of a field do not exclude each other."),
    "param-position": Code("The path parameter that provides a field is in the path of an endpoint that returns it."),
    "extends-cycle": Code(
        "Nothing extends itself.",
        "Follow the names: one of them must not extend another.",
    ),
    "field-override": Code(
        "An overriding field has the type of the inherited field, or a narrower one.",
        "Code that uses the base entity relies on its types.",
    ),
    "object-cycle": Code(
        "The default of an object is finite.",
        "An object that requires another one of its kind would be infinite. Make a field in the cycle optional (`?`).",
    ),
    "union-attribute": Code(
        "The entities of a union are distinguished by a field.",
        "Name the field that distinguishes the entities, or give each a constant field.",
    ),
    "union-value": Code("A union lists an entity under the constant value of its field."),
    # Resources and endpoints
    "bad-path": Code("A path is a valid template."),
    "path-without-parameter": Code(
        "A resource's path has a parameter, unless it is a singleton's.",
        "The path is that of one record; the path of the list is the part before its last parameter.",
    ),
    "duplicate-parameter": Code("A path has each parameter once."),
    "unknown-parameter": Code("A referenced parameter exists."),
    "param-field": Code("The field of a path parameter exists."),
    "parameter-clash": Code(
        "A parameter has one role.",
        "A parameter is a keyword argument of the call, which can only have one meaning.",
    ),
    "resource-schema": Code("A resource's schema is an entity or a union of entities."),
    "bad-body": Code("A body is a name, a mapping of fields, a list, any, bytes, text or null."),
    "content-with-schema": Code(
        "Only JSON has a schema.",
        "Text, bytes and streams are returned unchanged.",
    ),
    "returns-without-process": Code("A type is only given by `returns` if the schema does not determine it."),
    "unknown-member": Code("A listed member is a standard member."),
    "member-needs-list": Code("List operations require `get_list`."),
    "member-not-fitting": Code("A list operation fits its list."),
    "member-left-out": Code(
        "Only existing members are overridden.",
        "`members` does not list it, so it does not exist and cannot be overridden.",
    ),
    "unknown-endpoint": Code("A referenced endpoint exists."),
    "needs-field": Code("A required field of a record exists."),
    "pagination-in-body": Code(
        "Only a list that is selected by a body has its position in the body, as a part of the key.",
        "A list that is read by POST has `side_effect: false`, and a key for each body by `request: {in_key: "
        "true}`: otherwise searches with different bodies would return the same list. The position is not part of"
        " the key.",
    ),
    "pagination-without-collection": Code(
        "Only collections and lists of plain values have pages.",
        "Pages are appended to a cached list. Write `{collection: [Entity]}` in the schema. A list of plain "
        "values needs no collection: each page is a separate result.",
    ),
    "same-request": Code(
        "Two endpoints that read the same URL have the same schema.",
        "The cache has one result for each key. Two schemas would read the same stored result differently.",
    ),
}
"""Errors of specs: nothing is generated until they are fixed."""

ADVICE: Final[Mapping[str, Code]] = {
    "plain-http": Code(
        "A secret is sent encrypted.",
        "Over `http:` everyone on the network path can read the secret. Only this machine is exempt.",
    ),
    "secret-looking": Code(
        "No header looks like a secret.",
        "Fixed headers are generated and committed, and appear in keys and logs. Use `auth:` or `secret: true`.",
    ),
    "header-in-key": Code(
        "A header that differs in each call is not part of the key.",
        "Each call would have a different key, so cached results would never be found, and the cache would grow. "
        "`in_key: false` excludes the header.",
    ),
    "header-partitions": Code(
        "A header that changes the values of entities has a store for each of its values.",
        "If the header changes values (a language, a tenant), values for one must not be used for another, so "
        "each has its own store. If it does not, this only costs requests. Declare `partition` to confirm or "
        "change it.",
    ),
    "shared-key": Code(
        "Entities that share a table extend one another.",
        "Two entities in one table overwrite each other's records. That is rarely intended unless one extends the"
        " other.",
    ),
    "nested-collection": Code(
        "A collection nested in an entity declares its owner with `nest`.",
        "Without `nest`, the lists in different parents are one list, and an item that is pushed to one appears "
        "in all of them.",
    ),
    "union-order": Code(
        "The types of a union can be distinguished.",
        "The type of a value is determined by its JSON kind, its constants and its fields. If these are "
        "ambiguous, the first type is used.",
    ),
    "param-out-of-reach": Code(
        "A field that comes from the path is in the path of every response that contains it.",
        "The field gets its value from the path. A response of an endpoint without the parameter does not set it,"
        " so the record cannot be distinguished from others.",
    ),
    "secret-not-stored": Code(
        "A field with the name of a secret declares whether a storage keeps it.",
        "A storage outlives the process. Set `persist` to declare whether it may keep the values of this field.",
    ),
    "stored-credential": Code(
        "An endpoint whose response may be a credential declares whether a storage keeps it.",
        "A storage outlives the process. Set `persist` to declare whether it may keep the response.",
    ),
    "no-effect": Code(
        "Every setting has an effect.",
        "This setting has no effect here. Remove it, or add what it requires.",
    ),
    "delete-cannot-find-entity": Code(
        "The path of `delete` identifies the entity.",
        "A delete identifies the record by its path or by its response. If neither does, the cache removes the "
        "record that `get` returned for the same path; if there is none, lists become stale, which costs "
        "requests.",
    ),
    "key-not-in-path": Code(
        "The last parameter of a path is the primary key, or declares its `field`.",
        "The last parameter of a path can be the primary key of the record. If it has another name and no "
        "`field`, the cache does not know which record a URL identifies: `get` is cached by its URL only, and a "
        "record from a list is not used for it.",
    ),
    "single-record": Code(
        "An entity with `pk: []` has only one record.",
        "All responses with this entity are the same record. If its path has a parameter, the settings of one user "
        "would be shown as those of another. Make the parameter a field with `param`, and the field the primary key.",
    ),
    "body-member-misfit": Code(
        "A body member that an optimistic update shows as a field has the type of the field.",
        "An optimistic update shows the request body as a part of the record. A value that does not fit the "
        "field, such as names of users in a field of users, leaves the field unchanged until the server responds.",
    ),
    "body-shares-key": Code(
        "The key of a read contains the body that the response depends on.",
        "All searches would share one cache entry, so a search could return the response for another body.",
    ),
    "no-iterate": Code(
        "The next page of a paginated list can be found.",
        "`iterate()` would raise an error, because nothing identifies the next page.",
    ),
    "search-type": Code(
        "A search parameter can be written in a URL.",
        "There is no common way to write a value of this type in a URL.",
    ),
    "search-no-field": Code(
        "All search parameters of a list show which records it contains.",
        "A list requested with `status=open` does not contain records with another status, so it can be updated "
        "after each mutation without a request. If a parameter matches no field, the cache cannot know which "
        "records it selects, so lists requested with it are fetched again after each mutation.",
    ),
    "example-misfit": Code(
        "An example fits the spec.",
        "`restencil mock` and docstrings use the examples, and would show responses that the API never returns.",
    ),
    "unused": Code(
        "Every declaration is used.",
        "It may be left over, or its name may be misspelled where it should be used.",
    ),
}
"""Warnings of `restencil lint` about valid specs."""

IMPORTED: Final[Mapping[str, Code]] = {
    "malformed": Code(
        "A value of a document has the type that its key expects.",
        "The value is ignored. Correct the document, or use an overlay if you cannot change it.",
    ),
    "version-newer": Code(
        "A document has a known version.",
        "Additions of the new version are ignored. Everything else is read as in the newest known version.",
    ),
    "ref-missing": Code(
        "The target of a reference exists.",
        "The target is unknown, so the type is `any`.",
    ),
    "ref-outside": Code(
        "A reference stays under the root folder.",
        "A document must not read arbitrary files. Allow another folder with `--root`.",
    ),
    "ref-remote": Code(
        "A remote reference has the origin of the document.",
        "A document must not make your machine send requests to other servers. Download the file, and refer to it"
        " by a path.",
    ),
    "ref-cycle": Code(
        "References are not cyclic, and no schema consists of itself.",
        "A schema that only refers to itself describes nothing, so it is `any`.",
    ),
    "type-unknown": Code(
        "A type is a type of JSON Schema.",
        "The type is `any`: values are returned unchanged.",
    ),
    "enum-empty": Code(
        "An enum has values.",
        "No value would be valid, so the type is used without the enum.",
    ),
    "enum-mixed": Code(
        "The values of an enum are strings or integers.",
        "The message says how the enum is read.",
    ),
    "default-misfit": Code(
        "A default fits its schema.",
        "The default is left out.",
    ),
    "allof-conflict": Code(
        "The parts of `allOf` are compatible.",
        "No value fits both. The message says which one is used.",
    ),
    "parameter-undeclared": Code(
        "A parameter of a path is declared.",
        "It is read as a string.",
    ),
    "parameter-unused": Code(
        "A declared parameter of a path is in the path.",
        "It is left out, because the path has no position for it.",
    ),
    "parameter-cookie": Code(
        "A parameter is not a cookie.",
        "It is left out: calls have no arguments for cookies.",
    ),
    "path-twice": Code(
        "Two paths differ by more than the names of their parameters.",
        "Servers cannot distinguish these paths. The first one is used.",
    ),
    "path-fragment": Code(
        "A path contains neither a fragment nor a query.",
        "A fragment is never sent. The query belongs to the parameters.",
    ),
    "operation-id-twice": Code(
        "An operationId is unique.",
        "Duplicate operationIds are not used for names.",
    ),
    "no-success": Code(
        "An operation has a success response.",
        "Its response after success is unknown. The message says which one is used.",
    ),
    "content-left-out": Code(
        "A body or a response has one content type that is read.",
        "Of several content types JSON is used, else the first that is supported.",
    ),
    "xml-as-text": Code(
        "A body or a response is not XML.",
        "There is no schema for XML: it is returned as a string.",
    ),
    "server-relative": Code(
        "The URL of a server is absolute.",
        "A relative URL is resolved against the URL of the document, if it has one; otherwise pass `url_prefix` "
        "to the client.",
    ),
    "overlay-unused": Code(
        "The target of an overlay's action matches something.",
        "The document may have changed, or the target may be misspelled.",
    ),
    "exclude-unused": Code(
        "A pattern of `exclude` matches something.",
        "The document may have changed, or the pattern may be misspelled.",
    ),
    "pk-guessed": Code(
        "A primary key is certain.",
        "The primary key decides which records are the same. Check whether the field is unique, and delete the "
        "comment.",
    ),
    "pk-from-path": Code(
        "A record contains its primary key.",
        "No field of the record identifies it, so its key is the parameter of the path.",
    ),
    "name-changed": Code(
        "The name of a resource is not a member of every client.",
        "The client already has a member with this name.",
    ),
    "auth-not-carried": Code(
        "The spec language supports a security scheme.",
        "The language does not support its flow, such as a login in a browser or a signature. Pass your own HTTP "
        "client.",
    ),
    "no-resources": Code(
        "An API has resources.",
        "Without a path of a record there is nothing to cache; the operations are in groups.",
    ),
    "import-mistake": Code(
        "An imported spec is valid.",
        "This is a bug of the importer, not an error in the document. Please report it, with the document.",
    ),
    "import-internal": Code(
        "The importer reads every part of a document without an internal error.",
        "The part that the message names is read as `any` or left out; the rest is imported. Please report it "
        "with that part.",
    ),
    "import-conflict": Code(
        "A change upstream does not conflict with a change in the spec.",
        "Both changed since the last import. Edit the spec, or resolve it with `--ours NODE` or `--theirs NODE`.",
    ),
    "import-rename-lost": Code(
        "A renamed declaration still exists upstream.",
        "The declaration that you renamed was removed upstream, or changed too much. Remove it from the spec, or "
        "keep it as your own.",
    ),
    "removed-upstream": Code(
        "An edited declaration still exists upstream.",
        "You edited it, so it is not removed. Remove it if you do not need it.",
    ),
    "removed-here": Code(
        "A declaration that was removed from the spec does not change upstream.",
        "You removed it, so it is not restored. `--theirs NODE` restores it.",
    ),
}
"""Findings of `restencil import` about documents."""

DRIFT: Final[Mapping[str, Code]] = {
    "spec-changed": Code(
        "A package is generated again when its spec changes.",
        "Run `restencil generate`, and commit the package together with the spec.",
    ),
    "edited-by-hand": Code(
        "Generated files are not edited.",
        "Move your changes into the spec, or into your own code next to the package; then run `restencil generate"
        " --force`. Without `--force` edited files are never overwritten.",
    ),
    "formatting-only": Code(
        "Generated files keep their formatting.",
        "A formatter has changed the file. Exclude the package from the formatter, then run `restencil generate "
        "--force`.",
    ),
    "missing": Code(
        "Every file of a package exists.",
        "`restencil generate` writes it.",
    ),
    "orphan": Code(
        "A package has no files that its spec no longer needs.",
        "`restencil generate` removes it.",
    ),
    "generator-changed": Code(
        "A package was generated by this version of restencil, with these templates.",
        "`restencil generate` updates the package. The changelog lists versions that change generated code. The headers"
        " of the modules also change if the file of the spec gets another name.",
    ),
    "foreign-file": Code(
        "No other file has the path of a generated file.",
        "Your own files are never overwritten. Move the file, then run `restencil generate`.",
    ),
    "orphan-package": Code(
        "Every generated package has a spec.",
        "Its spec was removed, or no pattern of the configuration matches it. Restore the spec, or remove the folder.",
    ),
}
"""Findings of `restencil check` about packages. Merge conflicts in a package are `merge-conflict`."""
