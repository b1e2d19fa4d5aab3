"""Endpoints derived from a list endpoint, which add to its collection, change it, or fetch its pages."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..base.bodies import Form, Multipart
from ..base.values import described, is_mapping
from ..schema.collection import Collection, find_collection, paginated_schema, with_collections
from .bodies import body_digest
from .call_options import with_options

if TYPE_CHECKING:
    from ..cache.request import Request
    from .options import EndpointOptions, HttpOptions

_REMOVALS: Final = ("move", "remove")


def changer(listing: HttpOptions, member: str, derived: dict[str, Any]) -> Any:
    """Return a derived endpoint of a list: push, unshift, assign, remove or move; `derived` caches them.

    Raises ValueError if the schema of the list has no collection.
    """
    found = derived.get(member)
    if found is None:
        schema: Any = getattr(_collection(listing, member), member)
        removal = member in _REMOVALS
        options: dict[str, Any] = {
            "remove_cursor": None,
            "body_in_key": None,
            "send_body": None,
            "method": "PATCH" if removal else "POST",
            "schema": schema,
            "name": f"{listing.name}.{member if removal else 'create'}",
            "signature": _signature(listing, member),
            "siblings": listing.siblings,
        }
        if removal:
            options["path"] = listing.item_path or listing.path
        else:
            options["optimistic_payload"] = "entries" if member == "assign" else "merged"
            # Only an explicit `empty` counts: a strict list that is read by POST has a default.
            empty = listing.__dict__["_options"].get("empty") or getattr(type(listing), "empty", None)
            if listing.strict and empty is None and member != "assign":
                options["empty"] = "merge"
        options.update(_options(listing, member))
        found = listing.extend(**options)
        found.__dict__["_member"] = member
        derived[member] = found
    return found


def pager(listing: HttpOptions, derived: dict[str, Any]) -> Any:
    """Return the endpoint that fetches another page of a list, using its pagination options; `derived` caches it.

    Each page of a strict list without a collection is a separate result. Raises AttributeError without pagination
    options, and ValueError if a list that is not strict has no collection.
    """
    cursor: Any = listing.pagination_field
    pagination: Mapping[str, Any] | None = listing.pagination if is_mapping(listing.pagination) else None
    if pagination is not None and pagination.get("remove_cursor") is not None:
        cursor = pagination["remove_cursor"]
    if cursor is None:
        raise AttributeError(
            f"endpoint {listing.name!r} has no get_page; set pagination_field to the query parameter of the page"
        )
    found = derived.get("get_page")
    if found is None:
        is_plain = listing.strict and find_collection(listing.schema) is None
        page = listing.extend(name=f"{listing.name}.get_page") if is_plain else paged(listing, cursor)
        options = {"signature": _signature(listing, "get_page"), "siblings": listing.siblings}
        found = page.extend(**options, **_options(listing, "get_page"))
        found.__dict__["_member"] = "get_page"
        derived["get_page"] = found
    return found


def paged(listing: HttpOptions, cursor: str | Callable[..., Any]) -> Any:
    """Return an endpoint whose responses are pages of a list.

    `cursor` is the parameter that identifies a page, or a function from the arguments of a page to those of its list.
    """
    remove_cursor: Callable[..., Any]
    if not isinstance(cursor, str):
        remove_cursor = cursor
    elif listing.page_member is None:
        remove_cursor = _field_remover(cursor)
    else:
        remove_cursor = _unchanged  # the position is not part of key or identity
    return listing.extend(
        schema=paginated_schema(listing.schema, remove_cursor),
        name=f"{listing.name}.get_page",
        remove_cursor=remove_cursor,
    )


def page_params(listing: EndpointOptions, args: tuple[object, ...]) -> Mapping[str, Any]:
    """Return the arguments of a call that may contain a page and its size: query parameters, or members of its body.

    Raises TypeError for a body that is not a mapping.
    """
    if listing.page_member is None:
        params: Any = args[0] if args and not (listing.has_body and len(args) == 1) else None
    else:
        params = args[-1] if args else None
        if params is not None and not is_mapping(params):
            raise TypeError(
                f"the body of endpoint {listing.name!r} is {described(params)}; expected a mapping, whose member "
                f"{listing.page_member!r} selects the page"
            )
    return params if is_mapping(params) else {}


def with_page_params(
    listing: EndpointOptions, args: tuple[object, ...], params: Mapping[str, object]
) -> tuple[Any, ...]:
    """Return the arguments of a call with these parameters instead of its `page_params`."""
    if listing.page_member is None:
        return with_options(args, (params, *(args if listing.has_body and len(args) == 1 else args[1:])))
    body = args[-1] if args else None
    kind: type[dict[str, Any]] = type(body) if isinstance(body, Form | Multipart) else dict
    return with_options(args, (args[0] if len(args) > 1 else {}, kind(params)))


def is_page_of(listing: Any, args: tuple[Any, ...]) -> bool:
    """Return whether the arguments of a list contain the position of a page."""
    params = args[0] if listing.page_member is None else args[-1]
    return is_mapping(params) and params.get(listing.pagination_field) is not None


def page_request(listing: Any, args: tuple[Any, ...], *, located: bool) -> Request | None:
    """Return the request for a page of a list that was called with its pagination parameter.

    The first page is the request of the list; None if its position is sent in the body, which needs no change.
    """
    from .page_styles import pagination_of

    field: str = listing.pagination_field
    params = page_params(listing, args)
    in_body = listing.page_member is not None
    first = pagination_of(listing).first_position if in_body else listing.first_page
    page: Request | None
    if first is None or str(params[field]) != str(first):
        page = listing.get_page.request(args, located=located)
    elif in_body:
        page = None
    else:
        rest = {name: value for name, value in params.items() if name != field}
        page = listing.request(with_options(args, (rest, *args[1:])), located=located)
    return page


def keyed_body(body: object, page_member: str | None) -> Any:
    """Return the part of a body that belongs to keys and identities, without the position of a page; None if empty."""
    if page_member is None or not is_mapping(body):
        return body
    return {name: value for name, value in body.items() if name != page_member} or None


def _collection(listing: HttpOptions, member: str) -> Collection:
    found = find_collection(listing.schema)
    if found is None:
        raise ValueError(
            f"Missing Collection: {member} of endpoint {listing.name!r} needs a Collection in its schema, "
            f"but the schema is {listing.schema!r}; declare it as Collection([S])"
        )
    return found


def _signature(listing: HttpOptions, member: str) -> Any:
    return (listing.signatures or {}).get(member)


def _options(listing: HttpOptions, member: str) -> Mapping[str, Any]:
    """Return the options of the list for this derived endpoint."""
    return getattr(listing, f"{member}_options", None) or {}


def _unchanged(*args: object) -> tuple[Any, ...]:
    return args


def _field_remover(field: str) -> Callable[..., tuple[Any, ...]]:
    def remove(*args: object) -> tuple[Any, ...]:
        first = args[0] if args else None
        if not is_mapping(first):
            return ()
        return ({name: value for name, value in first.items() if name != field}, *args[1:])

    return remove


def searched_schema(raw: object, owner: str, page_member: str | None) -> Any:
    """Return the schema with the body of the call added to the identity of its collections, as member `body`.

    So two searches never share a list, and pushed entities join none of them. `page_member` is the member of the body
    that identifies a page, which is not part of the identity.
    """
    return with_collections(raw, lambda collection: _searched(collection, owner, page_member))


def _searched(collection: Collection, owner: str, page_member: str | None) -> Collection:
    if "args_key" in vars(collection):
        return collection  # the collection of a page, whose list has the body in its identity already
    found = copy.copy(collection)

    def args_key(*args: object) -> Mapping[str, Any]:
        identity = collection.args_key(*args)
        body = keyed_body(args[-1], page_member) if len(args) > 1 else None
        return identity if body is None else {**identity, "body": body_digest(body, owner)}

    vars(found)["args_key"] = args_key
    return found
