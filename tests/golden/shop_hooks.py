"""What a user of the shop writes by hand: the `python:` references of specs/shop.yaml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from typing import Any

import restencil
from restencil import schema


class ShopEndpoint(restencil.RestEndpoint):
    """The base of all endpoints of the shop: it asks for one language."""

    def get_headers(self, headers: dict[str, str]) -> Any:
        return {**headers, "Accept-Language": "en"}


class LedgerCollection(schema.Collection):
    """Ledgers show in every list, whatever was asked for."""

    def non_filter_argument_keys(self, name: str) -> bool:
        return True


def valid_product(record: Mapping[str, Any]) -> str | None:
    """Products have a stock keeping unit."""
    return "a product needs a sku" if "sku" in record and not record["sku"] else None


def decode_rating(value: Any) -> float:
    """The server counts in fifths of a star."""
    return float(value) / 5


def encode_rating(value: float) -> int:
    """The way back."""
    return round(value * 5)


def stars_of(value: Any, *args: Any) -> int:
    """The number of stars that a rating was counted as: the server answers with it, as a text or a number."""
    return int(value)


def prices_of(value: Any, *args: Any) -> list[Any]:
    """The former prices, the latest first."""
    money: Any = import_module("shop").Money
    return [money.from_js(price) for price in reversed(value)]


def bargains(products: Sequence[Any], *args: Any) -> list[Any]:
    """Products of less than ten, whatever the currency."""
    return [product for product in products if product.price.amount < Decimal(10)]


def after_cancel(order: str, *args: Any) -> dict[str, Callable[[Any], Any]]:
    """Nothing else depends on it."""
    return {}


def cancelled(snapshot: Any, params: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """An order that is being cancelled shows as open until the server says otherwise."""
    return {"id": params["id"], "state": 10}
