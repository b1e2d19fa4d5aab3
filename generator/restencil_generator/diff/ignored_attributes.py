"""Parts of a declaration that mean nothing to callers, on the wire or in caches, each with the reason.

`compare` looks at everything else: a test changes each part of a spec by itself and asks whether it was seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NAME: Final = "a type is found by it; where it is used tells of another one"
_WHERE: Final = "it says where something is written"
_DERIVED: Final = "it follows from the rest"
_RESOLVED: Final = "each endpoint has what it takes over from here"

SILENT: Final[Mapping[str, Mapping[str, str]]] = {
    "Spec": {
        "file": _WHERE,
        "language": "there is one version",
        "digest": _DERIVED,
        "async_client": _DERIVED,
        "namespace": _DERIVED,
        "has_errors": _DERIVED,
        "wire_names": "each field has its name in JSON",
        "base": _RESOLVED,
        "headers": _RESOLVED,
        "options": _RESOLVED,
        "errors": _RESOLVED,
        "request": _RESOLVED,
        "response": _RESOLVED,
        "url_prefix": _RESOLVED,
        "cross_origin_body": _RESOLVED,
    },
    "Resource": {
        "name": "it is the key in the spec, which is compared",
        "python": _DERIVED,
        "path": _RESOLVED,
        "schema": _RESOLVED,
        "url_prefix": _RESOLVED,
        "headers": _RESOLVED,
        "options": _RESOLVED,
        "optimistic": _RESOLVED,
        "members": "each member is an endpoint",
        "body": _RESOLVED,
        "search_params": _RESOLVED,
        "params": _RESOLVED,
        "pagination_field": _RESOLVED,
        "pagination": _RESOLVED,
        "base": _RESOLVED,
        "errors": _RESOLVED,
        "header_params": _RESOLVED,
        "without": _RESOLVED,
        "auth": _RESOLVED,
        "request": _RESOLVED,
        "response": _RESOLVED,
        "cross_origin_body": _RESOLVED,
        "singleton": "it decides which members there are",
    },
    "Endpoint": {
        "name": "it is the key in the resource, which is compared",
        "python": _DERIVED,
        "standard": _DERIVED,
        "params": "the path says which there are, and each is compared",
        "extends": "what is taken over is compared",
        "written": _WHERE,
        "collection": _DERIVED,
        "exact_filters": _DERIVED,
        "search_style": "each parameter has its style",
        "send_body": "whether there is a body is compared",
    },
    "HeaderParam": {"secret": "it says what is shown, and a secret one is in no key, which is compared"},
    "Request": {"style": "each field of a form has its style"},
    "Response": {"list_envelope": "each endpoint has the envelope that counts"},
    "Entity": {
        "name": _NAME,
        "fields": "it says which of all fields are its own",
        "pk_written": _WHERE,
        "key_written": _WHERE,
        "indexes_written": _WHERE,
        "validate_written": _WHERE,
        "resource": _WHERE,
        "body_name": _DERIVED,
        "partial_body_name": _DERIVED,
    },
    "Object": {"name": _NAME, "body_name": _DERIVED},
    "Enum": {"name": _NAME},
    "Field": {
        "python": _DERIVED,
        "written_default": _WHERE,
    },
    "ObjectType": {"name": "equal members make equal types"},
    "UnionOf": {"wire": "it is told with the attribute"},
    "PageOf": {"of": "its list is compared"},
    "OneOf": {"attribute": "its name in JSON is compared"},
    "AdderOf": {"how": "the member is compared", "of": "its list is compared"},
    "Path": {"parameters": _DERIVED, "text": "its parts are compared"},
    "Auth": {"short": "the scheme of the short form is called token in both forms"},
}
"""By class and part, why it is not compared."""
