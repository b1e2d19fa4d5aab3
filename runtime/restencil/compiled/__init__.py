"""Schemas compiled to straight-line functions; `normalize` and `denormalize` hold the interpreter that defines them.

A schema that is used much is turned into one Python function: the loops over lists, the members of objects and the
fields of entities stand in it as plain statements, for the case that the default hooks are in force. Everything else
(an overridden hook, another kind of schema, a value of an unexpected type, a record that is stored already) is handed
to the interpreter at that place, and the interpreter hands what is inside back. The source of every function can be
seen in tracebacks and debuggers.
"""

from .denormalizing import CompiledDenormalization as CompiledDenormalization
from .denormalizing import compile_denormalizer as compile_denormalizer
from .denormalizing import compile_entity as compile_entity
from .denormalizing import reader_of as reader_of
from .normalizing import CompiledNormalization as CompiledNormalization
from .normalizing import compile_normalizer as compile_normalizer
from .normalizing import normalization as normalization
from .source import PAYS as PAYS
