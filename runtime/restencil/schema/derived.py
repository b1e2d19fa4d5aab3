"""`Invalidate` removes the entity that a response names; `Query` computes a value from stored entities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..base.errors import ProcessingError
from ..base.values import INVALID, UNDEFINED, is_mapping, read_only
from .containers import Attribute, OverItem, Union
from .entity import EntitySchema
from .notation import schema_of
from .protocol import Echo, Reader, Schema, Subject, ValueTypes, Writer, title_of


class Invalidate(OverItem):
    """A response that names a deleted entity, as an object with its primary key or as the key itself."""

    fingerprint_name = "invalidate"
    removes = True

    def __init__(self, schema: object, schema_attribute: Attribute | None = None) -> None:
        super().__init__(schema, schema_attribute, "Invalidate")

    @property
    def entities(self) -> Mapping[Any, EntitySchema]:
        return {} if self.item is None else self.item.entities

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        if not is_mapping(value):
            raise ProcessingError(
                f"expected one object or primary key to invalidate, found a list{writer.where}; for several write "
                f"[Invalidate({self.title})]"
            )
        item = self.item
        if isinstance(item, Union):
            name, chosen = item.select(value, parent, key)
            if chosen is None and item.undecided(value, parent, key):
                return self._invalidate_held(item, value, lambda schema: schema.lenient_pk(value, writer.args), writer)
            if not isinstance(chosen, EntitySchema):
                item.warn_of(value)
                return value
            writer.chosen[id(value), id(item)] = chosen
            return {"id": self._invalidate(chosen, value, parent, key, writer), "schema": name}
        if not isinstance(item, EntitySchema):
            return value
        return self._invalidate(item, value, parent, key, writer)

    def _invalidate(self, schema: EntitySchema, value: Any, parent: object, key: str | None, writer: Writer) -> str:
        process = schema.model.process
        processed = value if process is None else process(value, parent, key, writer.args)
        if processed is not None and processed is not value:
            writer.keep(value, processed, schema.table_key)
        pk = schema.invalidate(value if processed is None else processed, parent, key, writer)
        writer.visited(value, schema.table_key, pk)
        return pk

    def _invalidate_held(
        self, item: Union, value: object, pk_of: Callable[[EntitySchema], str | None], writer: Writer
    ) -> object:
        """Invalidate a value of unknown type in each table that has its primary key.

        This is how a `delete` with an empty response, or with the key alone, removes an entity of a polymorphic
        resource.
        """
        found: dict[str, Any] | None = None
        for name, schema in item.mapping.items():
            pk = pk_of(schema) if isinstance(schema, EntitySchema) else None
            if pk is None or not isinstance(schema, EntitySchema):
                continue
            if writer.is_stored(schema.table_key, pk):
                writer.write_invalid(schema.table_key, pk)
                if found is None:
                    found = {"id": pk, "schema": name}
                    writer.chosen[id(value), id(item)] = schema
        if found is None:
            item.warn_of(value)
        return value if found is None else found

    @property
    def subject(self) -> Schema | None:
        return self.item

    def subjects(self, result: object) -> Iterator[Subject]:
        return iter(()) if self.item is None else self.item.subjects(result)

    def normalize_scalar(self, value: object, writer: Writer) -> Any:
        item = self.item
        if isinstance(value, bool) or value == "":
            return value
        if isinstance(item, Union):
            return self._invalidate_held(item, value, lambda schema: schema.pk_of_scalar(value, writer), writer)
        if isinstance(item, EntitySchema):
            pk = item.pk_of_scalar(value, writer)
            writer.write_invalid(item.table_key, pk)
            return pk
        return value

    def denormalize(self, stored: object, reader: Reader) -> Any:
        return reader.visit(self.item, stored)

    def echo(self, value: Any, echo: Echo) -> Any:
        item = self.item
        if isinstance(item, Union) and is_mapping(value):
            item = item.chosen(value, echo)
        if isinstance(item, EntitySchema):
            return item.built_from(value, echo) if is_mapping(value) else None
        return read_only(value) if is_mapping(value) else None

    def query_key(self, args: tuple[object, ...], reader: Reader) -> Any:
        return UNDEFINED


class Deletion(Invalidate):
    """The response to `delete` of a resource: a success with any body.

    The response, the URL parameters or the store identify the deleted entity; the value is its last known state.
    """

    takes_anything = True


class Query(Schema):
    """The result of `process(value, *args)` for the value of another schema, computed on read and memoized."""

    def __init__(self, schema: object, process: Callable[..., Any]) -> None:
        self._raw = schema
        self.process = process

    @property
    def inner(self) -> Schema | None:
        """The schema whose value is processed."""
        return schema_of(self._raw)

    def children(self) -> Iterable[Schema | None]:
        return (self.inner,)

    def fingerprint(self, of: Callable[[Schema | None], object]) -> Any:
        return of(self.inner)  # the result of `process` is never stored

    def value_types(self, of: ValueTypes) -> None:
        of.value(self.inner)

    @property
    def title(self) -> str:
        return title_of(self.inner, "Query")

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        return writer.visit(self.inner, value, parent, key)

    def normalize_scalar(self, value: object, writer: Writer) -> Any:
        return writer.visit(self.inner, value, None, None)

    def denormalize(self, stored: object, reader: Reader) -> Any:
        found = reader.visit(self.inner, stored)
        if found is UNDEFINED or found is INVALID:
            return found
        return reader.computed(self, found, lambda: self.process(found, *reader.args))

    def echo(self, value: Any, echo: Echo) -> Any:
        found = echo.visit(self.inner, value)
        return found if found is UNDEFINED else read_only(self.process(found, *echo.reader.args))

    def query_key(self, args: tuple[object, ...], reader: Reader) -> Any:
        inner = self.inner
        return UNDEFINED if inner is None else inner.query_key(args, reader)
