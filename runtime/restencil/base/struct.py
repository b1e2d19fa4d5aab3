"""Plain values that never change: like frozen dataclasses, without the code that those generate at every import."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, dataclass_transform


@dataclass_transform(frozen_default=True)
class Struct:
    """Base of a class whose annotated names are its members, given by place or by name; a class attribute is a default.

    Equal to one of the same class with equal members. Raises TypeError for members that are missing or unknown, and
    AttributeError where one is to be changed.
    """

    __members: ClassVar[tuple[str, ...]] = ()
    __known: ClassVar[frozenset[str]] = frozenset()
    __required: ClassVar[frozenset[str]] = frozenset()
    __least: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        names = cls.__members = tuple(cls.__annotations__)
        cls.__known = frozenset(names)
        cls.__required = frozenset(name for name in names if name not in cls.__dict__)
        # So many members by place are enough.
        cls.__least = max((place for place, name in enumerate(names, 1) if name in cls.__required), default=0)

    def __init__(self, /, *args: Any, **members: Any) -> None:
        names, given = self.__members, self.__dict__
        given.update(zip(names, args))  # noqa: B905 - more are looked for below
        if not members and self.__least <= len(args) <= len(names):
            return
        given.update(members)
        if len(given) < len(args) + len(members) or not self.__required <= given.keys() <= self.__known:
            raise TypeError(self.__mistake(len(args), members))

    def __mistake(self, by_place: int, members: dict[str, Any]) -> str:
        names = self.__members
        missing = [name for name in names if name in self.__required and name not in self.__dict__]
        unknown = [name for name in members if name not in names]
        twice = [name for name in names[:by_place] if name in members]
        if missing:
            problem = f"lacks {', '.join(missing)}"
        elif unknown:
            problem = f"has no {', '.join(unknown)}"
        elif twice:
            problem = f"was given {', '.join(twice)} twice"
        else:
            problem = f"was given {by_place} members by place"
        return f"{type(self).__name__} {problem}; its members are: {', '.join(names) or 'none'}"

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} never changes; its member {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} never changes; its member {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__values() == other.__values()

    def __hash__(self) -> int:
        return hash((type(self), self.__values()))

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__members)
        return f"{type(self).__name__}({members})"

    def __values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.__members])
