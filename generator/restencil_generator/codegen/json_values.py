"""Conversion of JSON values in the spec to Python code: defaults, headers, examples."""

from __future__ import annotations

import datetime as _datetime
import re
from typing import Final

from restencil_generator.codegen.imports import OBJECTS, Scope
from restencil_generator.codegen.pyexpr import call, items, literal, string, table
from restencil_generator.spec import model as d
from restencil_generator.spec.validate_value import fits

_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")


def json_value(value: d.Json, *, brief: bool = False) -> str:
    """Return JSON data as Python code; with `brief` only the first item of each list, and `...` for the others."""
    if isinstance(value, list):
        shown = [json_value(part, brief=brief) for part in (value[:1] if brief else value)]
        return items([*shown, "..."] if brief and len(value) > 1 else shown)
    if isinstance(value, dict):
        return table({string(key): json_value(part, brief=brief) for key, part in value.items()})
    return literal(value)


def default(type: d.Type, value: d.Json, scope: Scope) -> str:
    """Return a default (JSON with Python names) as Python code."""
    if value is None:
        return "None"
    match concrete(type, value, scope):
        case d.Scalar(name):
            return _scalar(name, value, scope)
        case d.ObjectRef(name) if isinstance(value, dict):
            fields = {field.name: field for field in scope.spec.objects[name].fields}
            given = {fields[key].python: default(fields[key].type, part, scope) for key, part in value.items()}
            return call(scope.sibling(OBJECTS, name, real=True), (), given)
        case d.ListOf(item) if isinstance(value, list):
            return items(default(item, part, scope) for part in value)
        case d.ValuesOf(item) if isinstance(value, dict):
            return table({string(key): default(item, part, scope) for key, part in value.items()})
        case _:
            return json_value(value)


def concrete(type: d.Type, value: d.Json, scope: Scope) -> d.Type:
    """Return the type of a default: without `?`, and of several alternatives the first that it fits."""
    bare = type.unwrap()
    if not isinstance(bare, d.OneOf):
        return bare
    fitting = (one for one in bare.alternatives if fits(scope.spec, one, value, "default"))
    return next(fitting, d.Scalar("any")).unwrap()


def _scalar(name: str, value: d.Json, scope: Scope) -> str:
    if name == "decimal":
        text = str(value)
        return f"{scope.use('decimal')}.Decimal({text if _INTEGER.fullmatch(text) else string(text)})"
    if name == "number" and isinstance(value, int):
        return literal(float(value))
    if name in ("datetime", "date", "time") and isinstance(value, str):
        return _moment(name, value, scope)
    if name == "uuid" and isinstance(value, str):
        nil = not value.replace("-", "").strip("0")
        return f"{scope.use('uuid')}.UUID({'int=0' if nil else string(value)})"
    return json_value(value)


def _moment(kind: str, text: str, scope: Scope) -> str:
    """Return the call that creates a date or time from RFC 3339; a naive one is in UTC."""
    module = scope.use("datetime")
    if kind == "date":
        date = _datetime.date.fromisoformat(text)
        return f"{module}.date({date.year}, {date.month}, {date.day})"
    if kind == "time":
        time = _datetime.time.fromisoformat(_short_fraction(text))
        zone = "" if time.tzinfo is None else f", tzinfo={_zone(module, time.utcoffset())}"
        return f"{module}.time({', '.join(map(str, _clock(time)))}{zone})"
    moment = _datetime.datetime.fromisoformat(_short_fraction(text))
    parts = [moment.year, moment.month, moment.day, *_clock(moment.time())]
    while len(parts) > 3 and parts[-1] == 0:
        del parts[-1]
    return f"{module}.datetime({', '.join(map(str, parts))}, tzinfo={_zone(module, moment.utcoffset())})"


def _clock(time: _datetime.time) -> list[int]:
    parts = [time.hour, time.minute, time.second, time.microsecond]
    while len(parts) > 2 and parts[-1] == 0:
        del parts[-1]
    return parts


def _short_fraction(text: str) -> str:
    """Shorten the fraction of a second to six digits, which is what Python keeps."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text)


def _zone(module: str, offset: _datetime.timedelta | None) -> str:
    if not offset:
        return f"{module}.UTC"
    minutes = int(offset.total_seconds() // 60)
    return f"{module}.timezone({module}.timedelta(minutes={minutes}))"
