"""The codes of all problems, each with its rule in one sentence. Codes are stable: tools may name them."""

from __future__ import annotations

from typing import Final

ERRORS: Final = {
    # Files and YAML
    "unreadable-file": "A file of a spec can be read.",
    "no-spec-files": "A folder of a spec holds YAML files.",
    "not-utf8": "A spec is UTF-8.",
    "empty-spec": "A spec is not empty.",
    "merge-conflict": "A merge was finished: no marker of a conflict is left.",
    "yaml-syntax": "A spec is YAML that parses.",
    "yaml-documents": "A file holds one YAML document.",
    "yaml-tag": "A spec uses no YAML tags.",
    "yaml-key": "A key is a text.",
    "yaml-alias": "An alias names an earlier anchor and stands for a bounded amount of text.",
    "yaml-depth": "Collections are not nested without bound.",
    "yaml-number": "A number is one that JSON can hold.",
    "yaml-loader": "PyYAML is installed with its C parser.",
    "duplicate-key": "A key is given once.",
    # Structure
    "wrong-type": "A value has the form that its key asks for.",
    "unknown-key": "A key is one that the spec language knows at its place.",
    "missing-key": "Required keys are given.",
    "key-not-here": "A key has a meaning at its place.",
    "unknown-value": "A value is one of those that its key allows.",
    "given-twice": "A list names nothing twice.",
    "language-version": "The generator knows the language version of the spec.",
    "bad-duration": "A duration is milliseconds, or a number with ms, s, m or h.",
    "bad-reference": "Hand-written code is named as python:package.module:name.",
    "bad-header": "A header is one that HTTP allows.",
    "bad-method": "A method is one that HTTP allows.",
    "bad-url": "A URL prefix holds no spaces and no control characters.",
    "secret-header": "No header carries a secret.",
    "auth-kind": "Authentication is of one kind.",
    # Names
    "bad-name": "A name is one that Python code can use.",
    "reserved-name": "The words of the spec language name no entity, object or enum.",
    "taken-name": "A name is not taken by a library or by the client.",
    "name-clash": "Two things do not get one name.",
    # Types and fields
    "unknown-type": "A type is known.",
    "type-not-here": "A type can stand at its place.",
    "object-not-here": "An object with members is written {object: …} outside of an endpoint's schema.",
    "list-type": "A list names the type of its items.",
    "collection-items": "A collection holds entities.",
    "query-of": "A query is computed from a collection or from all entities of a type.",
    "schema-kind": "An endpoint's schema is an object, a list or an entity.",
    "const-alone": "A field that is fixed by 'const' has no other type and no default.",
    "bad-default": "A default fits its type.",
    # Entities
    "unknown-entity": "A named entity exists.",
    "not-an-entity": "What is named as an entity is one.",
    "unknown-field": "A named field exists.",
    "abstract-entity": "An abstract entity is not a type.",
    "pk-not-a-field": "A pk consists of fields.",
    "pk-type": "A field of a pk has one text.",
    "extends-cycle": "Nothing extends itself.",
    "field-override": "A field keeps the type of the one that it overrides, or a narrower one.",
    "object-cycle": "An object has a default that ends.",
    "union-attribute": "The entities of a union are told apart by a field.",
    "union-value": "A union names an entity under the value that its field is fixed to.",
    # Resources and endpoints
    "bad-path": "A path follows the grammar of templates.",
    "path-without-parameter": "A resource's path has a parameter.",
    "duplicate-parameter": "A path has each parameter once.",
    "unknown-parameter": "A named parameter exists.",
    "parameter-clash": "A parameter has one role.",
    "resource-schema": "A resource's schema is an entity or a union of entities.",
    "bad-body": "A body is a name, a mapping of fields, a list, any, bytes or null.",
    "body-not-sent": "A body is written only where one is sent.",
    "content-with-schema": "A schema applies to JSON alone.",
    "returns-without-process": "The type of a result is given only where the schema does not give it.",
    "unknown-member": "A named member is a standard one.",
    "member-needs-list": "What hangs on the list needs the list.",
    "member-not-fitting": "A member fits the list that it hangs on.",
    "member-left-out": "Only members that exist are overridden.",
    "unknown-endpoint": "A named endpoint exists.",
    "pagination-without-collection": "Pages are added to a collection.",
    "same-request": "Two endpoints that read the same URL have the same schema.",
}
"""Mistakes: nothing is generated until they are gone."""

ADVICE: Final = {
    "stdlib-package": "A package does not hide a module of the standard library.",
    "plain-http": "A secret travels encrypted.",
    "secret-looking": "No header looks like a secret.",
    "glued-path": "A prefix and a path have a slash between them.",
    "shared-key": "Entities that share a table extend one another.",
    "nested-collection": "A collection nested in an entity says whose it is.",
    "never-fetched-alone": "An entity that others need can be fetched by itself.",
    "union-field": "Every entity of a union has the field that tells it apart.",
    "no-effect": "What is written has an effect.",
    "stale-after-write": "What a mutation changes is changed in the cache.",
    "poll-whole-list": "A whole list is not polled often.",
    "no-iterate": "Where there are pages, the next one can be found.",
    "search-type": "A search parameter has a text.",
    "example-misfit": "An example fits the spec.",
    "deprecated-use": "Nothing uses what is deprecated.",
    "unused": "Everything declared is used.",
    "hook-missing": "Hand-written code that is named exists.",
    "hook-kind": "Hand-written code is what it is named as.",
    "hook-arity": "Hand-written code takes the arguments that it is called with.",
}
"""What `restencil lint` says about a spec without mistakes."""

CODES: Final = {**ERRORS, **ADVICE}
