"""Plain values that never change: like frozen dataclasses, without the code that those generate at every import."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, dataclass_transform


@dataclass_transform(frozen_default=True)
class Frozen:
    """Base of a class whose annotated names are its members, given by place or by name; a class attribute is a default.

    Equal to one of the same class with equal members. Raises TypeError for members that are missing or unknown, and
    AttributeError where one is to be changed.
    """

    __members: ClassVar[tuple[str, ...]] = ()
    __defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        names = cls.__members = cls.__match_args__ = tuple(cls.__dict__.get("__annotations__", ()))
        cls.__defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}

    def __init__(self, /, *args: Any, **members: Any) -> None:
        names = self.__members
        values = {**self.__defaults, **dict(zip(names, args, strict=False)), **members}
        if len(values) != len(names) or len(args) > len(names) or not members.keys().isdisjoint(names[: len(args)]):
            self.__refuse(values, len(args))
        self.__dict__.update(values)

    def __refuse(self, values: dict[str, Any], given: int) -> NoReturn:
        names = self.__members
        missing = [name for name in names if name not in values]
        unknown = [name for name in values if name not in names]
        problem = (
            f"lacks {', '.join(missing)}"
            if missing
            else f"has no {', '.join(unknown)}"
            if unknown
            else f"was given {given} members by place"
            if given > len(names)
            else "was given a member twice"
        )
        raise TypeError(f"{type(self).__name__} {problem}; its members are {', '.join(names) or 'none'}")

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} never changes; its member {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} never changes; its member {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in self.__members)))

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self.__members)
        return f"{type(self).__name__}({members})"
