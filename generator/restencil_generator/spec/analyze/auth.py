"""`auth`: the declared authentication schemes, and which of them requests use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restencil_generator.diagnostics.model import Related, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.keys import AUTH_KINDS, NO_AUTH, SCHEME_KINDS
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.names import CLIENT_ARGUMENTS
from restencil_generator.spec.source.nodes import Node, ScalarNode, SequenceNode, is_null

if TYPE_CHECKING:
    from restencil_generator.spec.analyze.types import Types

SHORT: Final = "token"
"""The name of the scheme if the spec gives it none: the client's keyword argument."""


def read_auth(types: Types, given: ParsedSection | None) -> d.Auth | None:
    """Read how the client authenticates; None if nothing is declared, or if it is invalid."""
    if given is None:
        return None
    node, written = given.node("schemes"), given.node("use")
    if node is None:
        scheme = _short(given)
        types.schemes = () if scheme is None else (SHORT,)
        if written is not None:
            read_use(types, written, Subject("'use'"), whole=True)
        return None if scheme is None else d.Auth((scheme,), ((SHORT,),), short=True)
    mapping = types.mapping(node, "'schemes' of 'auth'", "write for example {name: {header: NAME}}")
    if mapping is None:
        return None
    if not mapping.entries:
        types.report("wrong-type", "'schemes' of 'auth' is empty", node, "add one, or remove 'auth'")
    found = {name: _scheme(types, name, entry.key, entry.value) for name, entry in mapping}
    types.schemes = tuple(found)
    schemes = {name: scheme for name, scheme in found.items() if scheme is not None}
    use = (
        tuple((name,) for name in found) if written is None else read_use(types, written, Subject("'use'"), whole=True)
    )
    return d.Auth(tuple(scheme for _, scheme in sorted(schemes.items())), use or ())


def read_use(types: Types, node: Node, label: Subject, *, whole: bool = False) -> d.Use | None:
    """Read the alternatives of a level; None for null, which resets them, and if they are invalid."""
    if is_null(node) and not whole:
        return None
    if isinstance(node, ScalarNode) and not whole:
        return _alternatives(types, [node], label)
    if not isinstance(node, SequenceNode):
        expected = "a list of schemes" if whole else "'none', the name of a scheme, or a list of them"
        types.wrong(label, expected, node, "write [name, [name, other]]")
        return None
    if not node.items:
        hint = "write [none] for no credential" if whole else "write none for no credential"
        types.report("wrong-type", f"{label} is empty", node, hint)
    return _alternatives(types, node.items, label)


def _alternatives(types: Types, items: list[Node], label: Subject) -> d.Use | None:
    found: dict[tuple[str, ...], Node] = {}
    for item in items:
        names = _together(types, item, label)
        if names is None:
            continue
        if names in found:
            shown = quoted(NO_AUTH) if not names else " with ".join(map(quoted, names))
            related = [Related(found[names].place, "first named here")]
            types.report("given-twice", f"{label} names {shown} twice", item, "keep one of them", related)
        elif () in found:
            message = f"'{NO_AUTH}' of {label} must be the last alternative: those after it are never used"
            types.report("auth-scheme", message, found[()], "move it to the end")
        found.setdefault(names, item)
    return tuple(found)


def _together(types: Types, node: Node, label: Subject) -> tuple[str, ...] | None:
    """Return the schemes of one alternative, sorted; empty for `none`, None if it is invalid."""
    if not isinstance(node, SequenceNode):
        name = types.text(node, label if label.owner is not None else f"an item of {label}", empty=False)
        if name == NO_AUTH:
            return ()
        return (name,) if name is not None and _known(types, name, node, label) else None
    if not node.items:
        types.report("wrong-type", f"an item of {label} is empty", node, f"write {NO_AUTH}, as the last item")
        return None
    names = types.texts(node, f"an item of {label}")
    usable = [name for name, item in names if _known(types, name, item, label)]
    return tuple(sorted(usable)) if usable and len(usable) == len(node.items) else None


def _known(types: Types, name: str, node: Node, label: Subject) -> bool:
    if name in types.schemes:
        return True
    if name == NO_AUTH:
        message = f"'{NO_AUTH}' cannot be combined with other schemes in an item of {label}"
        types.report("auth-scheme", message, node, "remove it, or make it the last alternative")
        return False
    hint = f"declared: {', '.join(types.schemes)}" if types.schemes else "declare it under 'schemes' of 'auth'"
    message = f"the scheme {quoted(name)} in {label} is not declared"
    types.report("auth-scheme", message, node, hint, near=(name, types.schemes))
    return False


def _short(given: ParsedSection) -> d.Scheme | None:
    kinds: list[d.AuthKind] = [kind for kind in AUTH_KINDS if kind in given]
    if len(kinds) != 1 or given[kinds[0]] is None:
        return None
    return _of_kind(SHORT, kinds[0], given, given["env"])


def _of_kind(
    name: str, kind: d.AuthKind, given: ParsedSection, env: str | None, deprecated: str | None = None
) -> d.Scheme:
    value = given[kind]
    parameter = "" if value is True else value
    return d.Scheme(
        name, kind, parameter, given["prefix"] or "", env, deprecated=deprecated, place=given.key(kind).place
    )


def _scheme(types: Types, name: str, key: ScalarNode, node: Node) -> d.Scheme | None:
    what = Subject(f"scheme {quoted(name)}")
    _check_name(types, name, key, what)
    mapping = types.mapping(node, what, "write for example {header: NAME}")
    if mapping is None:
        return None
    given = types.section("scheme", mapping, what, key)
    kinds: list[d.AuthKind] = [kind for kind in SCHEME_KINDS if kind in given]
    if len(kinds) != 1 or given[kinds[0]] is None:
        return None
    env = given["env"]
    if kinds[0] != "oauth2":
        return _of_kind(name, kinds[0], given, env, given["deprecated"])
    oauth2 = _oauth2(given["oauth2"], env or {})
    return d.Scheme(name, "oauth2", oauth2=oauth2, deprecated=given["deprecated"], place=key.place)


def _oauth2(given: ParsedSection, env: dict[str, str]) -> d.OAuth2:
    node = given.node("token_url")
    return d.OAuth2(
        token_url=given["token_url"] or "",
        grant=given["grant"],
        scopes=tuple(name for name, _ in given["scopes"] or ()),
        client_auth=given["client_auth"],
        params=given["params"] or {},
        env=env,
        url_place=d.NOWHERE if node is None else node.place,
    )


def _check_name(types: Types, name: str, key: ScalarNode, what: Subject) -> None:
    """Report a name that cannot be a keyword argument of the client."""
    if name == NO_AUTH:
        types.report("reserved-name", f"a scheme cannot be called '{NO_AUTH}', which means no credentials", key)
    elif types.name(key, "a scheme", keyword=False) and name in CLIENT_ARGUMENTS - {SHORT}:
        message = f"the {what} is already an argument of every client"
        types.report("taken-name", message, key, "choose another name for it")
