"""Parsing of request bodies: JSON, the typed fields of a form, or bytes.

Every body is parsed or rejected with a reason: parsed values can be stored, compared and serialized as JSON.
"""

from __future__ import annotations

import dataclasses
import email.parser
import email.policy
import json
import math
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl

from restencil_generator.mock import styles
from restencil_generator.mock.call import Sent
from restencil_generator.mock.errors import Refusal
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import bare

DEPTH: Final = 100
"""Maximum nesting of lists and mappings in a body."""


def parse(spec: d.Spec, body: d.Body | None, content_type: str, raw: bytes) -> Sent:
    """Parse a body as declared by the endpoint; `MISSING` if there is none. Raises `Refusal` if it is invalid."""
    kind = content_type.partition(";")[0].strip().lower()
    if not raw:
        return d.MISSING
    if kind == "application/x-www-form-urlencoded":
        pairs = parse_qsl(_decoded(content_type, raw, "replace"), keep_blank_values=True)
        return _usable(_fields(spec, body, pairs))
    if kind == "multipart/form-data":
        return _usable(_parts(body, _multipart(content_type, raw)))
    if body is not None and (body.kind in ("bytes", "text") or (body.kind == "any" and "json" not in kind)):
        return raw
    try:
        parsed: d.Json = json.loads(_decoded(content_type, raw))
    except (ValueError, RecursionError) as error:
        raise _refused(f"is not valid JSON: {error}") from error
    return _usable(parsed)


def unwrapped(sent: Sent, request: d.Request) -> Sent:
    """Return the body in its envelope. Raises `Refusal` if it is missing."""
    if sent is d.MISSING:
        return sent
    for step in request.envelope:
        if not isinstance(sent, dict) or step not in sent:
            path = ".".join(request.envelope)
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"the body has no {path!r}, which should contain it")
        sent = sent[step]
    return sent


def _refused(why: str) -> Refusal:
    return Refusal(HTTPStatus.BAD_REQUEST, f"the body {why}")


# -------------------------------------------------------------------------------------------------------------- charset


def _decoded(content_type: str, raw: bytes, errors: str = "strict") -> str:
    """Decode a body, which must be UTF-8 whatever its Content-Type says."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        charset = value.strip().strip("\"'")
        if name.strip().lower() == "charset" and charset.lower() not in ("utf-8", "utf8", "us-ascii"):
            raise _refused(f"has the charset {charset!r}, which the mock server does not support: send UTF-8")
    try:
        return raw.decode("utf-8-sig", errors)
    except UnicodeError as error:
        raise _refused(f"is not UTF-8: {error}") from error


# ------------------------------------------------------------------------------------------------------------- limits


def _usable(value: d.Json) -> d.Json:
    """Return a value that JSON can represent: valid Unicode, numbers within the range of floats, limited nesting."""
    pending: list[tuple[d.Json, int]] = [(value, 0)]
    while pending:
        part, depth = pending.pop()
        match part:
            case str():
                _check_text(part)
            case bool() | None:
                pass
            case int() | float():
                _check_number(part)
            case _ if depth >= DEPTH:
                raise _refused(f"is nested more than {DEPTH} deep")
            case list():
                pending.extend((item, depth + 1) for item in part)
            case dict():
                for key, item in part.items():
                    _check_text(key)
                    pending.append((item, depth + 1))
    return value


def _check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refused(f"contains a lone surrogate, U+{ord(text[error.start]):04X}, which is not a character") from None


def _check_number(number: int | float) -> None:
    try:
        finite = math.isfinite(number)
    except OverflowError:
        finite = False
    if not finite:
        raise _refused("contains a number that is too large: the limit is about 1.8e308")


# --------------------------------------------------------------------------------------------------------------- forms


def _multipart(content_type: str, raw: bytes) -> list[tuple[str, str]]:
    """Return the parts of a form. Files are represented by their names: the mock server does not store contents."""
    try:
        head = b"Content-Type: " + content_type.encode("latin-1") + b"\r\n\r\n"
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + raw)
        pairs = [*_pairs(message)] if message.is_multipart() else None
    except Exception as error:  # the e-mail parser may raise any exception
        raise _refused(f"is not a multipart form: {type(error).__name__}: {error}") from error
    if pairs is None:
        raise _refused("is not a multipart form: its Content-Type has no usable boundary")
    return pairs


def _pairs(message: Any) -> Sequence[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for part in message.iter_parts():
        disposition = part.get("content-disposition")
        name = None if disposition is None else disposition.params.get("name")
        if name is not None:
            content = part.get_payload(decode=True)
            text = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
            pairs.append((name, part.get_filename() or text))
    return pairs


def _fields(spec: d.Spec, body: d.Body | None, pairs: Sequence[tuple[str, str]]) -> d.Json:
    """Parse the fields of a form, with lists and objects in their styles; undeclared fields are kept."""
    declared = body.type.members if body is not None and isinstance(body.type, d.ObjectType) else ()
    found: dict[str, d.Json] = {}
    taken: set[str] = set()
    for field in declared:
        type = bare(field.type)
        listed = d.list_in(type)
        if field.style is None and (listed is not None or isinstance(type, d.ObjectRef | d.ObjectType | d.ValuesOf)):
            is_flat = listed is not None and not isinstance(bare(listed.item), d.ListOf | d.ObjectRef | d.ObjectType)
            field = dataclasses.replace(field, style="repeat" if is_flat else "brackets")
        value = styles.read(spec, field, pairs, "repeat")
        named = {*styles.names(spec, field)}
        taken.update(name for name, _ in pairs if name.partition("[")[0] in named)
        if value is not d.MISSING:
            found[field.wire] = _typed(spec, field.type, value)
    return {**{name: text for name, text in pairs if name not in taken}, **found}


def _typed(spec: d.Spec, type: d.Type, value: d.Json | d.Missing) -> d.Json:
    """Convert the strings in a value to the JSON types of its declared type."""
    type = bare(type)
    match value:
        case str():
            return _value(type, value)
        case list() if (listed := d.list_in(type)) is not None:
            return [_typed(spec, listed.item, item) for item in value]
        case dict():
            members = styles.members(spec, type)
            types = {member.wire: member.type for member in members}
            item = type.item if isinstance(type, d.ValuesOf) else d.Scalar("any")
            return {name: _typed(spec, types.get(name, item), part) for name, part in value.items()}
        case _:
            return None if value is d.MISSING else value


def _parts(body: d.Body | None, pairs: Sequence[tuple[str, str]]) -> d.Json:
    """Parse the parts of a multipart body. A list has a part for each item, and an object is a part with JSON."""
    fields = {} if body is None or not isinstance(body.type, d.ObjectType) else {f.wire: f for f in body.type.members}
    found: dict[str, d.Json] = {}
    for name, text in pairs:
        field = fields.get(name)
        type = None if field is None else bare(field.type)
        if isinstance(type, d.ListOf):
            held = found.setdefault(name, [])
            assert isinstance(held, list)
            held.append(_value(type.item, text))
        else:
            found[name] = _value(type, text)
    return found


def _value(type: d.Type | None, text: str) -> d.Json:
    """Convert a string of a form to the JSON type of its field; unchanged if it does not fit."""
    type = None if type is None else bare(type)
    is_json = isinstance(type, d.ObjectRef | d.ObjectType | d.ValuesOf | d.OneOf)
    if is_json or (isinstance(type, d.Scalar) and type.name in ("integer", "number", "boolean")):
        try:
            parsed: d.Json = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return parsed
    return text
