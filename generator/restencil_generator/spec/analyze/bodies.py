"""Request bodies of endpoints."""

from __future__ import annotations

from typing import cast

from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.fields import read_fields
from restencil_generator.spec.analyze.type_forms import Context
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.grammar.keys import BODY_WORDS, rows
from restencil_generator.spec.grammar.type_words import form_word
from restencil_generator.spec.grammar.value_kinds import Fields
from restencil_generator.spec.grammar.value_reader import Subject
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, SequenceNode, described, is_null


def read_body(types: Types, node: Node, what: Subject, type_name: str) -> d.Body | None:
    """Read the body of a level; None for null."""
    what = Subject("the body", what)
    if isinstance(node, SequenceNode):
        type = types.type(node, Context(what, "body_field", type_name))
        return d.Body("json", type) if type is not None else None
    if isinstance(node, ScalarNode):
        return None if is_null(node) else _word(types, node, what)
    assert isinstance(node, MappingNode)
    if form_word(node) == "one_of":
        type = types.type(node, Context(what, "body_field", type_name))
        return d.Body("json", type) if type is not None else None
    kind, position, fields = "json", "body_field", node
    for word, row in rows("body").items():
        inner = node.get(word)
        if isinstance(inner, MappingNode) and len(node.entries) == 1 and isinstance(row.kind, Fields):
            kind, position, fields = word, row.kind.position, inner
    found = read_fields(types, fields, what, position, type_name)
    types.claim(type_name, "typed_dict", f"the type of {what}", fields.place, "rename the other one, or use 'class:'")
    return d.Body(cast("d.BodyKind", kind), d.ObjectType(found, type_name))


def _word(types: Types, node: ScalarNode, what: Subject) -> d.Body | None:
    word = node.value
    hint = "write an entity's or object's name, a mapping of fields, [X], any, bytes, text or null"
    if not isinstance(word, str):
        types.wrong(what, "a name, a mapping or a list", node, hint)
        return None
    kind = types.kinds.get(word)
    if word in BODY_WORDS and kind not in ("entity", "object"):
        return d.Body(cast("d.BodyKind", word))
    if kind not in ("entity", "object"):
        message = f"{what} cannot be {described(node)}"
        types.report("bad-body", message, node, hint, near=(word, types.kinds))
        return None
    return d.Body("json", d.EntityRef(word) if kind == "entity" else d.ObjectRef(word))
