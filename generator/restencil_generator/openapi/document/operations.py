"""Reader of operations: paths, parameters, bodies, responses, security."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_plus

from restencil_generator.diagnostics.model import quoted
from restencil_generator.openapi.document.containment import contained
from restencil_generator.openapi.document.content import Contents
from restencil_generator.openapi.document.json_schema import OneOf, malformed
from restencil_generator.openapi.document.json_types import is_list, is_table, texts
from restencil_generator.openapi.document.model import (
    Body,
    Content,
    Finding,
    LeftOut,
    Operation,
    Parameter,
    ParameterPlace,
    Part,
    Requirement,
    Response,
    Result,
    Server,
    Where,
)
from restencil_generator.openapi.document.pointer import child, within
from restencil_generator.openapi.document.refs import References
from restencil_generator.openapi.document.schemas import Schemas
from restencil_generator.openapi.document.select import Choice, OperationKey
from restencil_generator.spec.model import METHODS

_PLACES: Final[Mapping[str, ParameterPlace]] = {
    "path": "path", "query": "query", "header": "header", "cookie": "cookie", "querystring": "querystring"
}  # fmt: skip
_COLLECTION_STYLES: Final = {
    "csv": ("form", False),
    "multi": ("form", True),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "tsv": ("tabDelimited", False),
}
_PREFIXES: Final = {"label": ".", "matrix": ";{}="}
"""What precedes the value of a path parameter, by its style."""
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_PARAMETERS: Final = 100
_EMPTY: Final = ("204", "205")
"""Statuses of responses without content, whatever the document declares for them."""
_OPERATORS: Final = "+#./;?&*"
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_OWN_WORDS: Final = frozenset(("name", "in", "required", "allowEmptyValue", "collectionFormat", "style", "explode"))


@dataclasses.dataclass(frozen=True, slots=True)
class Whole:
    """The settings of the document for all operations: `old` is true for 2.0, which has `consumes` and `produces`."""

    old: bool
    consumes: tuple[str, ...]
    produces: tuple[str, ...]
    servers: Callable[[Part], tuple[Server, ...]]


class _Written(NamedTuple):
    """An operation in the document, and the path item that contains it."""

    selector: OperationKey
    item: Part
    part: Part


class Operations:
    """Reader of the operations of a document."""

    def __init__(
        self,
        references: References,
        schemas: Schemas,
        report: Callable[[Finding], None],
        whole: Whole,
        choice: Choice,
    ) -> None:
        self._references = references
        self._schemas = schemas
        self._report = report
        self._whole = whole
        self._choice = choice
        self._contents = Contents(references, schemas, report)
        self.found = 0
        self.left_out: list[LeftOut] = []

    def read(self, paths: Part) -> list[Operation]:
        """Read the operations under `paths`, sorted by path, with methods in their order."""
        if not is_table(paths.value):
            if paths.value is not None:
                self._malformed(paths.where, "an object of paths", paths.value)
            return []
        every = [
            written
            for key in sorted(paths.value)
            if not key.startswith("x-")
            for written in self._written(child(paths, paths.value[key], key), key)
        ]
        self._choice.check([written.selector for written in every])
        chosen = [written for written in every if self._choice.has(written.selector)]
        self.found = len(chosen)
        read = [self._contained(written) for written in chosen if self._is_usual(written)]
        return self._each_once([operation for operation in read if operation is not None])

    def _contained(self, written: _Written) -> Operation | None:
        """Read an operation; returns None, with a finding, if that fails."""
        text, where = f"{written.selector.method} {written.selector.path}", written.part.where
        operation = contained(self._report, text, where, lambda: self._operation(written), None)
        if operation is None:
            self.left_out.append(LeftOut(text, "reading it failed", where))
        return operation

    def _is_usual(self, written: _Written) -> bool:
        parameters = written.selector.path.count("{")
        if not _TOKEN.match(written.selector.method):
            reason = f"{quoted(written.selector.method)} is not a valid HTTP method"
        elif parameters > _MOST_PARAMETERS:
            reason = f"its path has {parameters:,} parameters, and at most {_MOST_PARAMETERS} are read"
        elif "}{" in written.selector.path:
            reason = "its path has two parameters without text between them: nothing tells where the first one ends"
        else:
            return True
        text = f"{written.selector.method} {quoted(written.selector.path, 200)[1:-1]}"
        self.left_out.append(LeftOut(text, reason, written.part.where))
        return False

    def _each_once(self, operations: list[Operation]) -> list[Operation]:
        """Remove operations that read the same path as another one, and report duplicate operation IDs."""
        kept: dict[tuple[str, str, tuple[tuple[str, str], ...], object], Operation] = {}
        ids: dict[str, Operation] = {}
        for operation in operations:
            distinction = operation.headers or (operation.where.pointer if operation.method != "GET" else ())
            shown = (operation.method, _BRACES.sub("{}", operation.path), operation.query, distinction)
            first = kept.setdefault(shown, operation)
            if first is not operation:
                message = f"{operation.text} has the path of {first.text} with other parameter names; it is left out"
                self._found("path-twice", message, operation.where)
                self.left_out.append(LeftOut(operation.text, f"it has the path of {first.text}", operation.where))
                continue
            known = ids.setdefault(operation.operation_id, operation) if operation.operation_id else operation
            if known is not operation:
                message = f"the operationId {quoted(operation.operation_id)} is also that of {known.text}"
                self._found("operation-id-twice", message, within(operation.where, "operationId"))
        return list(kept.values())

    # ----------------------------------------------------------------------------------------------------------- a path

    def _written(self, part: Part, key: str) -> Iterator[_Written]:
        """Yield the operations of a path item."""
        item = self._references.table(part, "a path item")
        if item is None:
            return
        siblings = part.value if is_table(part.value) and item is not part else {}
        for name in [*METHODS, *_extra_methods(item.value)]:
            method, at = _method(item, name)
            value = siblings.get(name.lower(), at.value)
            if value is None:
                continue
            written = self._references.follow(Part(value, at.where)) or Part({}, at.where)
            if not is_table(written.value):
                self._malformed(written.where, "an operation", written.value)
                continue
            tags = tuple(tag for tag in texts(written.value.get("tags")) if tag.strip())
            yield _Written(OperationKey(method, key, tags), item, written)

    def _operation(self, written: _Written) -> Operation:
        (method, key, tags), item, part = written
        value: dict[str, Any] = part.value
        path, query = self._template(key, part.where)
        bodies: list[Part] = []
        parameters = self._parameters(item, part, bodies)
        path, parameters = self._in_path(path, parameters, part.where)
        parameters, query = self._in_query(parameters, query, fragment="#" in key)
        self._report_cookies(parameters)
        fixed = [(one, self._only_value(one)) for one in parameters if one.place == "header" and one.required]
        headers = tuple((one.name, only) for one, only in fixed if only is not None)
        static = {name for name, _ in headers}
        parameters = [one for one in parameters if one.place != "header" or one.name not in static]
        responses = self._responses(part)
        result, errors = self._result(method, responses, part.where)
        return Operation(
            method=method,
            path=path,
            key=key,
            where=part.where,
            operation_id=_text(value, "operationId"),
            tags=tags,
            summary=_text(value, "summary") or _text(item.value, "summary"),
            description=_text(value, "description") or _text(item.value, "description"),
            deprecated=value.get("deprecated") is True,
            query=query,
            headers=headers,
            parameters=tuple(parameters),
            body=self._body(part, bodies),
            result=result,
            errors=errors,
            security=requirements(value.get("security")),
            servers=self._whole.servers(part) or self._whole.servers(item),
        )

    def _template(self, key: str, where: Where) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Split a path key into the path and the query that it contains."""
        path, hashed, _ = key.partition("#")
        path, selector, text = path.partition("?")
        if hashed or selector:
            what = "a fragment, which is cut off" if hashed else "a query, which is sent with every call"
            self._found("path-fragment", f"the path {quoted(key)} contains {what}", where)
        pairs = (pair.partition("=") for pair in text.split("&") if pair)
        query = tuple((unquote_plus(name), unquote_plus(value)) for name, _, value in pairs)
        return path if path.startswith("/") else f"/{path}", query

    # ------------------------------------------------------------------------------------------------------- parameters

    def _parameters(self, item: Part, part: Part, bodies: list[Part]) -> list[Parameter]:
        """Read the parameters of an operation, which override those of its path item; bodies of 2.0 go to `bodies`."""
        found: dict[tuple[str, str], Parameter] = {}
        held: dict[tuple[str, str], Part] = {}
        for holder in (item, part):
            written = holder.value.get("parameters")
            if written is not None and not is_list(written):
                self._malformed(within(holder.where, "parameters"), "a list of parameters", written)
                continue
            for index, value in enumerate(written or ()):
                each = self._references.table(child(holder, value, "parameters", index), "a parameter")
                if each is None:
                    continue
                place, name = each.value.get("in"), each.value.get("name")
                if place in ("body", "formData"):
                    held[str(place), str(name)] = each
                elif place == "header" and isinstance(name, str) and name and not _TOKEN.match(name):
                    self._malformed(each.where, "a header with a valid name", name)
                elif isinstance(name, str) and name and isinstance(place, str) and place in _PLACES:
                    text = Parameter(
                        name, _PLACES[place], each.where, place == "path", Part({}, each.where, made=True), "form", True
                    )
                    found[place, name] = contained(
                        self._report,
                        f"the parameter {quoted(name)}",
                        each.where,
                        functools.partial(self._parameter, each, name, _PLACES[place]),
                        text,
                    )
                else:
                    self._malformed(each.where, "a parameter with `name` and `in`", each.value)
        bodies += held.values()
        return list(found.values())

    def _parameter(self, part: Part, name: str, place: ParameterPlace) -> Parameter:
        value: dict[str, Any] = part.value
        content = self._contents.read(part) if is_table(value.get("content")) else []
        schema = child(part, value["schema"], "schema") if "schema" in value else _own_schema(part)
        media = ""
        if content:
            media = content[0].type
            schema = content[0].schema or child(part, {}, "content")
        style, explode = self._style(value, place)
        return Parameter(
            name=name,
            place=place,
            where=part.where,
            required=value.get("required") is True or place == "path",
            schema=schema,
            style=style,
            explode=explode,
            content_type=media,
            description=_text(value, "description"),
            deprecated=value.get("deprecated") is True,
        )

    def _style(self, value: Mapping[str, Any], place: str) -> tuple[str, bool]:
        plain = "form" if place in ("query", "cookie") else "simple"
        if self._whole.old:
            style, explode = _collection_style(value)
            return (style, explode) if plain == "form" else (plain, False)
        written = value.get("style")
        style = written if isinstance(written, str) and written else plain
        exploded = value.get("explode")
        return style, exploded if isinstance(exploded, bool) else style == "form"

    def _in_path(self, path: str, parameters: list[Parameter], where: Where) -> tuple[str, list[Parameter]]:
        """Return the template with the names of its parameters, which come first; undeclared ones are strings."""
        declared = {one.name: one for one in parameters if one.place == "path"}
        for name in declared:
            if f"{{{name}}}" not in path:
                path = re.sub(rf"(?<=/):{re.escape(name)}(?=/|\Z)", lambda _, name=name: f"{{{name}}}", path)  # type: ignore[misc]  # a default is no overload
        used: dict[str, Parameter] = {}

        def named(match: re.Match[str]) -> str:
            name = _declared_name(match[1], declared)
            if name not in used:
                used[name] = declared.get(name) or self._undeclared(name, path, where)
            return f"{_PREFIXES.get(used[name].style, '').format(name)}{{{name}}}"

        path = _BRACES.sub(named, path)
        for name, one in declared.items():
            if name not in used:
                message = f"the path {quoted(path)} has no parameter {quoted(name)}; it is left out"
                self._found("parameter-unused", message, one.where)
        return path, [*used.values(), *(one for one in parameters if one.place != "path")]

    def _report_cookies(self, parameters: Iterable[Parameter]) -> None:
        for one in parameters:
            if one.place == "cookie" or (one.place == "header" and one.name.lower() == "cookie"):
                advice = "set cookies at the HTTP client, or declare `auth: {cookie: …}`"
                self._found("parameter-cookie", f"the cookie {quoted(one.name)} is left out ({advice})", one.where)

    def _undeclared(self, name: str, path: str, where: Where) -> Parameter:
        message = f"the parameter {quoted(name)} of the path {quoted(path)} is not declared; read as string"
        self._found("parameter-undeclared", message, where)
        schema = Part({"type": "string"}, within(where, "parameters", name), made=True)
        return Parameter(name, "path", where, True, schema, "simple", False)

    def _in_query(
        self, parameters: list[Parameter], query: tuple[tuple[str, str], ...], *, fragment: bool
    ) -> tuple[list[Parameter], tuple[tuple[str, str], ...]]:
        """Return the parameters and the literal query, with placeholders in the query moved to parameters."""
        by_name = {one.name: one for one in parameters}
        literal: list[tuple[str, str]] = []
        for name, value in query:
            inner = _BRACES.fullmatch(value)
            if inner is None:
                literal.append((name, value))
                continue
            known = by_name.get(inner[1]) or by_name.get(name)
            if known is not None:
                moved = dataclasses.replace(known, name=name, place="query", style="form", explode=True)
                parameters = [moved if one is known else one for one in parameters]
        if fragment:
            fixed = [(one, self._only_value(one)) for one in parameters if one.place == "query" and one.required]
            literal += [(one.name, only) for one, only in fixed if only is not None]
        names = {name for name, _ in literal}
        return [one for one in parameters if one.place != "query" or one.name not in names], tuple(literal)

    def _only_value(self, parameter: Parameter) -> str | None:
        """Return the only value that a parameter can have, or None."""
        const = self._schemas.read(parameter.schema).const
        if const is None:
            return None
        return str(const).lower() if isinstance(const, bool) else str(const)

    # ----------------------------------------------------------------------------------------------------------- bodies

    def _body(self, part: Part, held: list[Part]) -> Body | None:
        if self._whole.old:
            return self._old_body(part, held)
        written = part.value.get("requestBody")
        if written is None:
            return None
        body = self._references.table(child(part, written, "requestBody"), "a request body")
        if body is None:
            return None
        contents = self._contents.read(body)
        content = self._contents.sent(contents, body.where)
        if content is None:
            return None
        return Body(content, body.value.get("required") is True, self._contents.file(contents))

    def _old_body(self, part: Part, held: list[Part]) -> Body | None:
        types = texts(part.value.get("consumes")) or self._whole.consumes
        whole = next((each for each in held if each.value.get("in") == "body"), None)
        if whole is not None:
            schema = child(whole, whole.value.get("schema", {}), "schema")
            contents = self._contents.of(types or ("application/json",), schema)
            content = self._contents.sent(contents, whole.where)
            if content is None:
                return None
            return Body(content, whole.value.get("required") is True)
        if not held:
            return None
        fields = {str(each.value.get("name")): _own_schema(each).value for each in held}
        required = [str(each.value.get("name")) for each in held if each.value.get("required") is True]
        files = any(each.value.get("type") == "file" for each in held)
        forms = [kind for kind in types if kind.startswith(("multipart/", "application/x-www-form-urlencoded"))]
        kind = "multipart/form-data" if files or not forms else forms[0]
        if not files and not forms:
            kind = "application/x-www-form-urlencoded"
        where = within(part.where, "parameters")
        made: dict[str, Any] = {"type": "object", "properties": fields, "required": required}
        schema = Part(made, Where(held[0].where.file, where.pointer), made=True)
        content = dataclasses.replace(self._contents.of((kind,), schema)[0], encoding=_old_encoding(held))
        return Body(content, bool(required))

    # -------------------------------------------------------------------------------------------------------- responses

    def _responses(self, part: Part) -> list[Response]:
        written = part.value.get("responses")
        if not is_table(written):
            if written is not None:
                self._malformed(within(part.where, "responses"), "an object of responses", written)
            return []
        found: list[Response] = []
        for status, value in written.items():
            if status.startswith("x-"):
                continue
            each = child(part, {} if value is None else value, "responses", status)
            each = self._references.table(each, "a response") or Part({}, within(part.where, "responses", status))
            found.append(self._response(part, status, each))
        return sorted(found, key=lambda response: response.status)

    def _response(self, part: Part, status: str, each: Part) -> Response:
        if self._whole.old:
            types = texts(part.value.get("produces")) or self._whole.produces or ("application/json",)
            schema = child(each, each.value["schema"], "schema") if is_table(each.value.get("schema")) else None
            contents = [] if schema is None else self._contents.of(types, schema)
        else:
            contents = self._contents.read(each)
        content, stream = self._contents.of_response(contents, each.where)
        status = "default" if status.lower() == "default" else status.upper()
        headers = each.value.get("headers")
        return Response(
            status=status,
            content=content,
            stream=stream,
            headers=tuple(headers) if is_table(headers) else (),
        )

    def _result(self, method: str, responses: list[Response], where: Where) -> tuple[Result, tuple[Response, ...]]:
        """Combine the successful responses, and return the others as errors."""
        exact = [one for one in responses if re.fullmatch(r"2\d\d", one.status)]
        success = exact or [one for one in responses if one.status == "2XX"]
        success = success or [one for one in responses if one.status == "default"]
        errors = tuple(
            one for one in responses if one not in success and (one.status[:1] in "45" or one.status == "default")
        )
        if not success or success[0].status == "default":
            read_as = "'default' is read as one" if success else "it is read as one without schema"
            self._found("no-success", f"this operation has no success response; {read_as}", where)
        if not success:
            return Result(), errors
        full = [one for one in success if one.content is not None and one.status not in _EMPTY]
        if method == "GET" and not full:  # a read without content would return nothing: the status is a mistake
            full = [one for one in success if one.content is not None]
        headers = tuple(dict.fromkeys(name for one in success for name in one.headers))
        statuses = tuple(one.status for one in success)
        stream = next((one.stream for one in success if one.stream is not None), None)
        if not full:
            return Result(statuses=statuses, headers=headers, stream=stream), errors
        first = min(full, key=lambda one: self._contents.rank(one.content))
        assert first.content is not None
        alike = [one.content for one in full if one.content is not None and one.content.kind == first.content.kind]
        schema = self._one_of(alike, where)
        optional = any(one.content is None or one.status in _EMPTY for one in success)
        return Result(first.content, schema, optional, stream, statuses, headers), errors

    def _one_of(self, contents: Iterable[Content], where: Where) -> Part | None:
        """Return the schema of several contents: their common one, else a `one_of`."""
        parts = [content.schema for content in contents if content.schema is not None]
        different: list[tuple[Where, Any, Part]] = []
        for part in parts:
            at = self._schemas.read(part).at
            if not any(at == known or part.value == value for known, value, _ in different):
                different.append((at, part.value, part))
        if len(different) < 2:
            return parts[0] if parts else None
        return Part(OneOf(tuple(part for _, _, part in different)), within(where, "responses"), made=True)

    # --------------------------------------------------------------------------------------------------------- findings

    def _malformed(self, where: Where, expected: str, value: object) -> None:
        self._report(malformed(where, expected, value))

    def _found(self, code: str, message: str, where: Where) -> None:
        self._report(Finding(code, message, where))


def requirements(value: object) -> tuple[Requirement, ...] | None:
    """Read `security`; None if it is not declared."""
    if not is_list(value):
        return None
    return tuple(
        {name: tuple(str(scope) for scope in scopes) if is_list(scopes) else () for name, scopes in each.items()}
        for each in value
        if is_table(each)
    )


def _extra_methods(item: Mapping[str, Any]) -> list[str]:
    """Return the methods that OpenAPI has no keywords for, as 3.2 declares them."""
    others = item.get("additionalOperations")
    return sorted(f"+{name}" for name in others) if is_table(others) else []


def _method(item: Part, name: str) -> tuple[str, Part]:
    """Return a method and its operation."""
    if name.startswith("+"):
        return name[1:], child(item, item.value["additionalOperations"][name[1:]], "additionalOperations", name[1:])
    return name, child(item, item.value.get(name.lower()), name.lower())


def _declared_name(written: str, declared: Mapping[str, Parameter]) -> str:
    """Return the declared name of a parameter that a template writes with operators, or in another case."""
    if written in declared:
        return written
    plain = written.strip().lstrip(_OPERATORS).partition(":")[0].rstrip("*").strip()
    if plain in declared:
        return plain
    return next((name for name in declared if name.lower() == plain.lower()), plain or written)


def _own_schema(part: Part) -> Part:
    """Return the schema of a parameter that is one itself, as in 2.0."""
    return Part(
        {key: value for key, value in part.value.items() if key not in _OWN_WORDS}, within(part.where, "schema")
    )


def _collection_style(value: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the style of a list of 2.0, and whether each item is a parameter of its own."""
    return _COLLECTION_STYLES.get(str(value.get("collectionFormat")), ("form", False))


def _old_encoding(held: list[Part]) -> dict[str, dict[str, Any]]:
    """Return the encoding of the lists in a form of 2.0, by property."""
    lists = [each.value for each in held if each.value.get("type") == "array"]
    styles = {str(value.get("name")): _collection_style(value) for value in lists}
    return {name: {"style": style, "explode": explode} for name, (style, explode) in styles.items()}


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
