"""Records: immutable classes of typed fields, their JSON names and conversions."""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import pickle
import sys
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from restencil import Entity, MissingFieldError, ProcessingError, Record, field, schema
from restencil.base.values import ReadOnlyList
from restencil.schema.record import to_wire

if TYPE_CHECKING:
    from fractions import Fraction


class Status(enum.Enum):
    DRAFT = "draft"
    LIVE = "live"


class Money(Record):
    amount: decimal.Decimal = decimal.Decimal(0)
    currency: str = field(default="EUR", wire="currencyCode")


class Everything(Record):
    """A field of each type that converts by itself."""

    when: datetime.datetime | None = None
    day: datetime.date | None = None
    hour: datetime.time | None = None
    price: decimal.Decimal | None = None
    token: uuid.UUID | None = None
    status: Status = Status.DRAFT
    cost: Money | None = None
    costs: list[Money] = []  # the base class sees that it is not shared
    by_name: dict[str, Money] = {}
    days: list[datetime.date | None] = []
    dates: Sequence[datetime.date] = []
    either: datetime.date | str = ""
    plain: list[int] = []
    unknown: Fraction | None = None


WIRE: dict[str, Any] = {
    "when": "2026-11-21T10:00:00+02:00",
    "day": "2026-11-21",
    "hour": "10:30:00",
    "price": "12.50",
    "token": "12345678-1234-5678-1234-567812345678",
    "status": "live",
    "cost": {"amount": 1.10, "currencyCode": "CHF"},
    "costs": [{"amount": "2"}, None],
    "by_name": {"x": {"amount": 3}},
    "days": ["2026-01-02", None],
    "dates": ["2026-01-03"],
    "either": "2026-01-02",
    "plain": [1],
    "unknown": "1/3",
}


def made(base: type[Any], **members: Any) -> type[Any]:
    """A class as its body would make it; a member given as a pair is a field of that type."""
    fields = {name: member for name, member in members.items() if isinstance(member, tuple)}

    def body(namespace: dict[str, Any]) -> None:
        namespace["__module__"] = __name__
        namespace["__annotations__"] = {name: kind for name, (kind, _) in fields.items()}
        namespace.update(members)
        namespace.update((name, default) for name, (_, default) in fields.items())

    return new_class("Made", (base,), {}, body)


# -- conversions -----------------------------------------------------------------------------------------------------


def test_records_types_convert_by_themselves() -> None:
    """JSON values become what the field's type says, in lists and dicts as well; unions of two types stay JSON."""
    value = Everything.from_js(WIRE)
    status: Status = value.status
    assert status is Status.LIVE
    assert value.when == datetime.datetime(2026, 11, 21, 8, tzinfo=datetime.UTC)
    assert value.day == datetime.date(2026, 11, 21)
    assert value.hour == datetime.time(10, 30)
    assert value.price == decimal.Decimal("12.50")
    assert value.token == uuid.UUID(WIRE["token"])
    assert value.cost == Money(amount=decimal.Decimal("1.1"), currency="CHF")
    assert [getattr(cost, "amount", None) for cost in value.costs] == [2, None]
    assert value.by_name["x"].amount == 3
    assert value.days == [datetime.date(2026, 1, 2), None]
    assert value.dates == [datetime.date(2026, 1, 3)]
    assert value.either == "2026-01-02"
    assert value.to_dict()["unknown"] == "1/3"  # a name under `if TYPE_CHECKING:` converts nothing


def test_records_conversions_go_back() -> None:
    """`to_wire` gives the JSON form again, with the JSON names."""
    value = Everything.from_js(WIRE)
    rebuilt = Everything(**{name: getattr(value, name) for name in WIRE})
    wire = to_wire(rebuilt)
    assert wire == WIRE


def test_records_value_that_the_enum_does_not_know_is_handed_out_unchanged() -> None:
    """New values of the server break no read."""
    assert Everything.from_js({"status": "gone"}).to_dict()["status"] == "gone"


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("when", "yesterday"),
        ("when", 5),
        ("day", "2026-13-01"),
        ("hour", "25:00"),
        ("price", "a"),
        ("price", True),
        ("price", []),
        ("token", "x"),
        ("token", 5),
        ("days", ["x"]),
    ],
)
def test_records_value_that_does_not_decode_is_named(member: str, value: Any) -> None:
    """The error names class, field and value."""
    with pytest.raises(ProcessingError) as caught:
        Everything.from_js({member: value})
    assert str(caught.value).startswith(f"field {member!r} of Everything does not decode: {value!r} (")


def test_records_decode_and_encode_of_a_field() -> None:
    """A field's own functions go before what its type says; each direction may be given alone."""

    class Job(Record):
        length: datetime.timedelta = field(
            default=datetime.timedelta(),
            wire="seconds",
            decode=lambda value: datetime.timedelta(seconds=value),
            encode=lambda value: value.total_seconds(),
        )
        day: datetime.date | None = field(default=None, encode=lambda value: value.strftime("%d.%m.%Y"))

    job = Job.from_js({"seconds": 90, "day": "2026-11-21"})
    assert job.length == datetime.timedelta(minutes=1, seconds=30)
    assert job.day == datetime.date(2026, 11, 21)
    wire = to_wire({"length": datetime.timedelta(seconds=5), "day": datetime.date(2026, 1, 2)}, Job)
    assert wire == {"seconds": 5.0, "day": "02.01.2026"}


@contextmanager
def module_of(source: str) -> Generator[Any]:
    """A module with this text, which can be found by its name in this block."""
    module: Any = type(sys)("written_elsewhere")
    sys.modules[module.__name__] = module
    try:
        exec(source, module.__dict__)
        yield module
    finally:
        del sys.modules[module.__name__]


def test_records_inherited_field_keeps_the_type_that_its_own_module_means() -> None:
    """The annotation of an inherited field is looked up where the field was declared."""
    source = """
from __future__ import annotations
import enum
from restencil import Record
class Status(enum.Enum):
    OTHER = 'other'
class Base(Record):
    status: Status | None = None
"""
    with module_of(source) as module:

        class Here(module.Base):  # type: ignore[misc, name-defined]  # known at run time alone
            pass

        assert Here.from_js({"status": "other"}).status is module.Status.OTHER


def test_records_annotations_without_the_future_import_convert() -> None:
    """Types that are objects already, and texts inside of them, are understood."""
    source = """
import datetime
from restencil import Record
class Part(Record):
    day: datetime.date | None = None
class Whole(Record):
    day: datetime.date | None = None
    parts: list['Part'] = []
"""
    with module_of(source) as module:
        whole = module.Whole.from_js({"day": "2026-11-21", "parts": [{"day": "2026-11-22"}]})
        assert whole.day == datetime.date(2026, 11, 21)
        assert whole.parts[0].day == datetime.date(2026, 11, 22)


def test_records_undeclared_member_named_like_a_member_of_the_class_is_in_to_dict_alone() -> None:
    """Python has one namespace for both; the class's member stays what it is."""
    value = Money.from_js({"replace": 1, "from_js": 2, "_record": 3})
    assert callable(value.replace)
    assert value.to_dict() == {"amount": 0, "currency": "EUR", "replace": 1, "from_js": 2, "_record": 3}


# -- names -----------------------------------------------------------------------------------------------------------


def test_records_field_that_does_not_exist_names_the_nearest() -> None:
    """Reading it is an AttributeError with the nearest name."""
    with pytest.raises(AttributeError, match=r"^Money has no field 'curency'; did you mean 'currency'\?$"):
        getattr(Money(), "curency")  # noqa: B009
    with pytest.raises(AttributeError, match=r"^Money has no field 'zzz'$"):
        getattr(Money(), "zzz")  # noqa: B009


def test_records_attribute_error_inside_a_property_is_shown_as_it_is() -> None:
    """What a property raises itself is not hidden behind a guess about the property's name."""

    class Odd(Record):
        name: str = ""

        @property
        def shown(self) -> str:
            return str(getattr(self.name, "nothing"))  # noqa: B009

    with pytest.raises(AttributeError, match="'str' object has no attribute 'nothing'"):
        Odd().shown  # noqa: B018


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"replace": (str, "")}, r"call it 'replace_' and declare it with field\(wire='replace'\)"),
        ({"a": (str, field(default="", wire="b")), "b": (str, "")}, "two fields of Made have the same JSON name 'b'"),
        ({"wire": {"title": "Title"}}, r"Made\.wire renames 'title', which is not a field"),
    ],
    ids=["named like a method", "two of one JSON name", "no field"],
)
def test_records_names_that_cannot_be_are_rejected(members: dict[str, Any], message: str) -> None:
    """The error names the field, and the way to keep the JSON name."""
    with pytest.raises(TypeError, match=message):
        made(Record, **members)


@pytest.mark.parametrize(
    ("word", "value", "text"),
    [
        ("wire", ["a"], "expected a mapping from field names"),
        ("schema", 5, "expected a mapping from field names"),
        ("indexes", "slug", "expected a list or tuple of field names, found 'slug'"),
        ("key", property(repr), "expected a string, the name of the table"),
        ("decode", len, "expected a mapping from field names"),
    ],
)
def test_records_setting_of_a_wrong_kind_is_rejected(word: str, value: Any, text: str) -> None:
    """Settings are checked when the class is made, so that a method of such a name shows at once."""
    with pytest.raises(TypeError, match=text):
        made(Entity, **{word: value})


def test_records_class_variables_are_no_fields() -> None:
    """`ClassVar` annotations are left out, also behind a prefix; a type whose name begins alike is a field."""

    class ClassVariant(Record):
        pass

    class Holder(Record):
        count: ClassVar[int] = 3
        one: ClassVariant | None = None

    assert list(Holder.__model__.fields) == ["one"]
    assert Holder().to_dict() == {"one": None}


# -- instances -------------------------------------------------------------------------------------------------------


def test_records_instances_are_read_only() -> None:
    """Setting and deleting raise AttributeError and point at `replace`."""
    value = Money.from_js({"amount": 1})
    changes: list[Callable[[], object]] = [
        lambda: setattr(value, "currency", "USD"),
        lambda: delattr(value, "currency"),
    ]
    for change in changes:
        with pytest.raises(
            AttributeError, match=r"Money is read-only: all readers share one copy; \.replace\(currency="
        ):
            change()


def test_records_from_js_takes_nothing_or_a_mapping() -> None:
    """Without members all fields have their defaults; only absent members get them."""
    assert Money.from_js() == Money()
    assert Money.from_js({"currencyCode": None}).to_dict() == {"amount": 0, "currency": None}
    assert Money.from_dict({"amount": 2}).amount == 2


def test_records_keywords_must_be_fields() -> None:
    """An unknown keyword is a TypeError that names the nearest field."""
    with pytest.raises(TypeError, match="Made has no field 'ammount'; did you mean 'amount'?"):
        made(Record, amount=(int, 0))(ammount=1)
    with pytest.raises(TypeError, match="Money has no field 'ammount'"):
        Money().replace(ammount=1)


def test_records_replace_gives_a_changed_copy() -> None:
    """The copy has the new values and all others; `copy.replace` of newer Pythons does the same."""
    before = Money.from_js({"amount": 1, "note": "x"})
    after = before.replace(currency="USD")
    assert (after.currency, before.currency) == ("USD", "EUR")
    assert after.amount == 1
    assert after.to_dict()["note"] == "x"
    assert to_wire(after) == {"amount": 1, "currencyCode": "USD", "note": "x"}
    assert before.__replace__(currency="USD") == after
    if sys.version_info >= (3, 13):
        assert copy.replace(before, currency="USD") == after


def test_records_default_that_can_change_is_not_shared() -> None:
    """Each instance has a default of its own where it is neither a list nor a dict nor immutable."""

    class Bag(Record):
        items: set[int] = set()

    one, two = Bag(), Bag()
    one.items.add(1)
    assert one.items == {1}
    assert two.items == set()


def test_records_required_field_must_be_given() -> None:
    """A keyword form without it is a TypeError; reading it where the record lacks it is a MissingFieldError."""

    class Job(Record):
        name: str = field(required=True)

    with pytest.raises(TypeError, match="Job needs the field 'name', which has no default"):
        Job()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    job = Job.from_js({})
    with pytest.raises(MissingFieldError, match="Job has no value for its required field 'name'"):
        job.name  # noqa: B018
    assert not hasattr(job, "name")
    assert job.to_dict() == {} and repr(job) == "Job()" and job == Job.from_js({}) and job != Job(name="a")


def test_records_field_rejects_contradictions() -> None:
    """Two kinds of default, or a default for a required field, are mistakes."""
    with pytest.raises(TypeError, match="default or default_factory, not both"):
        field(default=1, default_factory=int)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    with pytest.raises(TypeError, match="a required field has no default"):
        field(default=1, required=True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_records_compare_by_class_and_members() -> None:
    """Equal members of the same class are equal; they have no hash, as they have no primary key."""

    class Other(Money):
        pass

    assert Money.from_js({"amount": "1.10"}) == Money(amount=decimal.Decimal("1.1"))
    assert Money() != Other()
    assert Money() != {"amount": 0}
    with pytest.raises(TypeError, match="unhashable: Money has no primary key"):
        hash(Money())


def test_records_repr_shows_members_shortly() -> None:
    """Long lists are cut, nested records are named."""
    value = Everything.from_js({"plain": list(range(9)), "cost": {"amount": 1}})
    assert "plain=[0, 1, 2, 3, 4, … 4 more]" in repr(value)
    assert "cost=<Money>" in repr(value)


def test_records_pickle() -> None:
    """Members and the record they came from survive, read-only as before."""
    value = Everything.from_js(WIRE)
    again = pickle.loads(pickle.dumps(value))
    assert again == value
    assert to_wire(again) == WIRE
    assert isinstance(again.plain, ReadOnlyList)


def test_records_dir_lists_the_fields() -> None:
    """Completion in an interpreter finds fields that have no value on the class."""

    class Job(Record):
        name: str = field(required=True)

    assert "name" in dir(Job.from_js({}))


class Item(Entity, key="RecordsItem"):
    id: int = 0
    price: decimal.Decimal | None = None


class Row(Record):
    """As generated packages have it: the type is there for type checkers alone, and the schema says it later."""

    item: Fraction = field(schema=schema.Lazy(lambda: Item), required=True)
    more: Sequence[Fraction] = field(schema=schema.Lazy(lambda: [Item]), default=())
    named: Mapping[str, Fraction] = field(schema=schema.Lazy(lambda: schema.Values(Item)), default={})


def test_records_entity_in_a_plain_record_is_of_its_class() -> None:
    """It is a value of its own there, decoded by its class, also where that is said by a schema alone."""
    row: Any = Row.from_js(
        {"item": {"id": 1, "price": "1.50"}, "more": [{"id": 2, "price": "2"}], "named": {"a": {"id": 3}}}
    )
    assert (type(row.item), row.item.price) == (Item, decimal.Decimal("1.50"))
    assert ([type(one) for one in row.more], row.more[0].price) == ([Item], decimal.Decimal(2))
    assert row.named["a"].id == 3
    assert to_wire(Row(item=Item(id=4, price=decimal.Decimal("0.5")))) == {"item": {"id": 4, "price": "0.5"}}  # type: ignore[arg-type]
    assert to_wire(row)["more"] == [{"id": 2, "price": "2"}]


class Shelf(Entity, key="RecordsShelf"):
    items: Any = field(default=None, schema=schema.Collection([Item]))
    page: Any = field(default=None, schema=schema.Object({"first_item": Item, "total": 0}, {"first_item": "firstItem"}))
    best: Any = field(default=None, schema=schema.Union({"item": Item}, "type"))
    sent: Any = field(default=None, schema=schema.codec(datetime.date))
    id: int = 0


def test_records_values_of_every_schema_are_built_without_a_store() -> None:
    """`from_js` builds what a read shows, in collections, objects and unions too; encoding returns the JSON."""
    wire = {
        "items": [{"id": 1, "price": "1.50"}],
        "page": {"firstItem": {"id": 2}, "total": 1},
        "best": {"type": "item", "id": 3, "price": "2"},
        "sent": "2026-11-21",
    }
    shelf = Shelf.from_js(wire)
    assert shelf.items == [Item(id=1, price=decimal.Decimal("1.50"))]
    assert shelf.page == {"first_item": Item(id=2), "total": 1}
    assert (type(shelf.best), shelf.best.price) == (Item, decimal.Decimal(2))
    assert shelf.sent == datetime.date(2026, 11, 21)
    assert to_wire(Shelf(items=shelf.items, page=shelf.page, sent=shelf.sent)) == {
        "items": wire["items"],
        "page": wire["page"],
        "sent": "2026-11-21",
    }
