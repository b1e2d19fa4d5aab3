"""Conversion of the body of a call to wire form, and to JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, cast

from ..base.bodies import Form, Multipart, is_file
from ..base.json_text import encode_json
from ..base.values import UNDEFINED, described, is_items, is_list, is_mapping, is_sequence, kind_of
from ..schema.codec import sending
from ..schema.containers import Object, Values
from ..schema.notation import Lazy, body_model
from ..schema.protocol import Schema
from ..schema.record import Record, RecordMeta, class_record, is_instance, to_wire
from .options import ANY


def model_of(body: object, schema: object) -> object:
    """Return the model that names and converts the members of a body: a record class, an `Object`, or None.

    `body` is the option of the endpoint; `schema` is its schema, which is used without that option.
    """
    if isinstance(body, Lazy):
        body = body.raw
    if is_sequence(body) and len(body) == 1:
        return model_of(body[0], None)
    if isinstance(body, RecordMeta | Object | Values):
        return body
    if body is dict:
        return None
    if isinstance(body, type) and class_record(body) is not None:
        return class_record(body)
    if body is not ANY and isinstance(body, Schema):
        return body_model(body)
    return body_model(schema)


def is_wire_form(body: object) -> bool:
    """Return whether a body is sent unchanged: a string, bytes, a file, a stream."""
    if isinstance(body, str | bytes):
        return True
    if isinstance(body, Mapping | Record) or is_items(body):
        return False
    from ..schema.foreign import kind_of_instance

    return kind_of_instance(body) is None


_SCALARS: Final = (str, int, float)


def check_shape(body: object, model: object, *, is_list: bool, owner: str) -> None:
    """Raise TypeError for a scalar or list if an object is declared, and for an object if a list is declared.

    `model` is that of the object, or of the items of the list. Values without a model, such as bytes, are accepted.
    """
    if not isinstance(model, RecordMeta | Object | Values):
        return
    if not is_list:
        if isinstance(body, _SCALARS) or is_items(body):
            raise TypeError(
                f"the body of endpoint {owner!r} is {described(body)}; expected an object: pass a dict of its members "
                "or an instance of its class"
            )
        return
    if isinstance(body, _SCALARS) or is_mapping(body) or is_instance(body):
        raise TypeError(f"the body of endpoint {owner!r} is {described(body)}; expected a list")
    for place, item in enumerate(body if is_items(body) else ()):
        if isinstance(item, _SCALARS):
            raise TypeError(
                f"the body of endpoint {owner!r} has {described(item)} at [{place}]; expected an object: "
                "pass a dict of its members or an instance of its class"
            )


def body_to_wire(body: Any, model: Any, form: str | None, strict_for: str = "") -> object:
    """Convert a body to the wire form of its `model`; `form` is the option `body_format`.

    Raises ValueError for invalid values: entities without the primary key that must be sent, and, with `strict_for`
    (the name of a strict endpoint), datetimes without a time zone.
    """
    token = sending.set(strict_for)
    try:
        return _to_wire(body, model, form)
    finally:
        sending.reset(token)


def _to_wire(body: object, model: object, form: str | None) -> Any:
    if is_instance(body):
        record = class_record(kind_of(body))
        left_out = frozenset[str]() if record is None else record.read_only
        body = {name: value for name, value in to_wire(body).items() if name not in left_out}
    elif not isinstance(body, Mapping | list):
        from ..schema.foreign import members_of

        members = members_of(body, to_wire, "python" if form == "multipart" else "json")
        body = body if members is UNDEFINED else members
    if isinstance(body, Multipart) or (form == "multipart" and is_mapping(body)):
        return Multipart(_multipart_to_wire(body, model))
    if isinstance(body, Form) or (form == "form" and isinstance(body, Mapping | Record)):
        return Form(to_wire(body, model))
    return to_wire(body, model)


def _multipart_to_wire(body: Mapping[str, object], model: object) -> dict[str, Any]:
    """Convert names and other values of a multipart body to wire form; files are unchanged."""
    names = list(body)
    placed = to_wire(dict.fromkeys(names), model)
    texts = to_wire({name: value for name, value in body.items() if not _holds_file(value)}, model)
    renamed = dict(zip(placed, names, strict=True))
    return {wire: body[name] if _holds_file(body[name]) else texts[wire] for wire, name in renamed.items()}


def _holds_file(value: object) -> bool:
    return any(map(_holds_file, value)) if is_list(value) else is_file(value)


def is_json_body(body: object, form: str | None) -> bool:
    """Return whether a body is sent as JSON; `form` is the option `body_format`, which only decides for strings."""
    if isinstance(body, str):
        return form == "json"
    if isinstance(body, Form | Multipart | bytes | bytearray | memoryview):
        return False
    if isinstance(body, Mapping | list | tuple | Record):
        return True
    return not (hasattr(body, "read") or hasattr(body, "__next__") or hasattr(body, "__aiter__"))


def check_no_null(body: Mapping[str, object], styles: Mapping[str, str] | None, owner: str) -> None:
    """Raise ValueError for None in a form, which cannot represent null; omitting the member may mean something else.

    A field in the style `json`, and an object in a multipart body, is JSON and may contain None.
    """
    styles = styles or {}
    for name, value in body.items():
        style = styles.get(name)
        if style == "json" or (isinstance(body, Multipart) and is_mapping(value)):
            continue
        if style == "form" and is_mapping(value):
            inner = {member: word for member, word in styles.items() if word != "form"}
            check_no_null({str(member): item for member, item in value.items()}, inner, owner)
            continue
        place = _place_of_null(str(name), value, in_multipart=isinstance(body, Multipart))
        if place is not None:
            raise ValueError(
                f"the body of endpoint {owner!r} has None at {place!r}, but a form cannot represent null; omit the "
                "member, pass '' for an empty string, or send JSON"
            )


def _place_of_null(place: str, value: Any, *, in_multipart: bool) -> str | None:
    """Return the first path in a field of a form to None, such as `tags[1]` or `owner.name`; None without one."""
    if value is None:
        return place
    parts: list[tuple[str, Any]] = []
    if is_list(value) if in_multipart else is_items(value):  # a tuple in a multipart body is a file
        parts = [(f"{place}[{number}]", item) for number, item in enumerate(value)]
        if in_multipart:  # an object in the list is a part of JSON
            parts = [(inner, item) for inner, item in parts if not is_mapping(item)]
    elif is_mapping(value):
        parts = [(f"{place}.{name}", item) for name, item in value.items()]
    found = (_place_of_null(inner, item, in_multipart=in_multipart) for inner, item in parts)
    return next((inner for inner in found if inner is not None), None)


def body_digest(body: object, owner: str) -> str:
    """Return a digest of a body for keys: the first 32 hex digits of the SHA-256 of its JSON, or of its bytes.

    The JSON is compact, with sorted keys. Raises TypeError for a body that has no JSON form and is not bytes.
    """
    if isinstance(body, bytes | bytearray | memoryview):
        content = bytes(cast("bytes | bytearray", body))
    else:
        try:
            text = json.dumps(to_wire(body), sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=to_wire)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the body of endpoint {owner!r} cannot be part of its key: {error}") from error
        content = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:32]


_MANY_LEVELS: Final = 100
"""Fewer levels than this are sent on every Python with its default recursion limit."""


def refuse_nesting(what: str, value: object) -> None:
    """Raise ValueError if a value, which caused a RecursionError, contains itself or is nested too deep to be sent."""
    inside: list[tuple[str, object]] = []
    """The containers around the current one, each with its place in the one before."""
    seen: set[int] = set()
    levels = 0
    left: list[tuple[int, str, object]] = [(0, "", value)]
    while left:
        level, place, item = left.pop()
        del inside[level:]
        inside.append((place, item))
        if any(item is outer for _, outer in inside[:-1]):
            whole = "".join(place for place, _ in inside).removeprefix(".")
            raise ValueError(f"{what} contains itself at {whole!r}, so it cannot be sent; pass a copy without that")
        levels = max(levels, level + 1)
        if id(item) not in seen:
            seen.add(id(item))
            left.extend((level + 1, place, inner) for place, inner in _containers_in(item))
    if levels > _MANY_LEVELS:
        raise ValueError(f"{what} is nested {levels} levels deep, which is too deep to be sent; flatten it")


def _containers_in(value: object) -> list[tuple[str, object]]:
    """Return the containers directly in a value, each with its place: `.name` or `[number]`."""
    from ..schema.foreign import kind_of_instance

    parts: list[tuple[str, Any]] = []
    if is_items(value):
        parts = [(f"[{number}]", item) for number, item in enumerate(value)]
    elif is_mapping(value) or kind_of_instance(value) is not None:
        members: Mapping[Any, Any] = value if is_mapping(value) else getattr(value, "__dict__", {})
        parts = [(f".{name}", item) for name, item in members.items()]
    return [(place, item) for place, item in parts if not isinstance(item, str | bytes | int | float | None)]


def json_text(body: object, owner: str) -> str:
    """Encode a body as JSON. Raises TypeError or ValueError, with the owner in the message, if it has no JSON form."""
    try:
        return encode_json(to_wire(body), lambda item: to_wire(item))
    except (TypeError, ValueError) as error:
        raise type(error)(f"the body of endpoint {owner!r} cannot be sent as JSON: {error}") from error
