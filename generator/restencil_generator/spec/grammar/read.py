"""Reader of the sections of a spec by the language's table: known keys, their values, and the rules of each section."""

from __future__ import annotations

from restencil_generator.diagnostics.model import Place, did_you_mean, quoted
from restencil_generator.spec.grammar import keys
from restencil_generator.spec.grammar.type_words import POSITIONS
from restencil_generator.spec.grammar.value_kinds import OrNull, Subsection, Value
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject, ValueContext, ValueReader
from restencil_generator.spec.source.nodes import Entry, MappingNode, Node, ScalarNode, is_null


class Reader(ValueReader):
    """Reader of sections and values that do not depend on names of the spec. It collects problems."""

    def section(
        self, name: str, mapping: MappingNode, what: Subject, at: Node | Place, *, report_unknown: bool = True
    ) -> ParsedSection:
        """Read the keys of a mapping in a section of the language, as their rows declare.

        Reports broken rules of the section, and unknown keys unless `report_unknown` is false. `at` is the place for
        missing keys.
        """
        known = keys.rows(name)
        entries: dict[str, Entry] = {}
        values: dict[str, object] = {}
        for key, entry in mapping:
            row = known.get(key)
            if row is None:
                if report_unknown:
                    self.unknown_key(name, entry.key, what)
                continue
            entries[key] = entry
            if isinstance(row.kind, Value):
                value = self.value(row, row.kind, ValueContext(entry.value, row.subject(what), what, entry.key))
                if value is not None or (isinstance(row.kind, OrNull) and is_null(entry.value)):
                    values[key] = value
        for key, row in known.items():
            if row.required and key not in entries:
                message = row.need.format(owner=what, key=key)
                self.report("missing-key", message, at, row.add.format(key=key))
        section = ParsedSection(name, keys.defaults(name), entries, values)
        for rule in keys.SECTIONS[name].rules:
            rule.check(self, section, what, at)
        return section

    def value(self, row: keys.Row, kind: Value, context: ValueContext) -> object:
        """Read the value of a key, and check it with the function of its row."""
        value: object = kind.read(self, context)
        return row.check(self, value, context) if row.check is not None and value is not None else value

    def unknown_key(self, section: str, key: ScalarNode, what: Subject) -> None:
        """Report a key that a section does not have: a typo, or the key of another section of its family."""
        if key.text in keys.SECTIONS[section].secrets:
            self.secret(key)
            return
        if key.text in keys.relatives(section):
            message = f"'{key.text}' is not allowed in {POSITIONS[section].shown}: {what}"
            self.report("key-not-here", message, key, keys.SECTIONS[section].instead.get(key.text, "remove it"))
            return
        message = f"unknown key {quoted(key.text)} in {what}"
        self.report("unknown-key", message, key, self.key_hint(section, key.text) or known_keys(section))

    def key_hint(self, section: str, word: str) -> str:
        """Return the hint for an unknown key with the key that is most likely meant; empty if none is similar."""
        meant = keys.synonyms(section).get(word)
        if meant:
            return f"did you mean {quoted(meant)}?"
        return keys.OF_OTHERS.get(word) or _one_level_down(section, word) or did_you_mean(word, keys.rows(section))


def _one_level_down(section: str, word: str) -> str:
    """Return the hint for a key that belongs in the only subsection with this key; empty if there is not one."""
    inner = [
        row.key
        for row in keys.rows(section).values()
        if isinstance(row.kind, Subsection) and word in keys.rows(row.kind.section)
    ]
    return f"write it under {quoted(inner[0])}: {{{word}: …}}" if len(inner) == 1 else ""


def known_keys(section: str) -> str:
    """Return the hint that lists all keys of a section."""
    return f"known keys: {', '.join(keys.rows(section))}"
