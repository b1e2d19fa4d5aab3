"""Importing again: what becomes of each node that was edited here, changed upstream, or both."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from restencil_generator.openapi.merge.merge import Merged, merge
from restencil_generator.openapi.merge.three_way import Settled, names_of

HEAD = """\
# Imported by restencil from museum.yaml. Edits survive the next import; "check:" marks what was guessed.
restencil: 1
package: museum
wire_names: camelCase
"""
BASE = HEAD + """\
errors: {400: Problem, 404: Problem}                      # on 8 of 8 operations

enums:
  Kind: [day, night]

objects:
  Problem: {title: string, detail: string?}

entities:
  Ticket:
    pk: id                                                # pk: the id
    fields:
      id: integer
      price: number
      kind: {type: Kind, description: When it is for.}
      old: string
  Visit:
    pk: code                                              # check: pk guessed: code
    fields: {code: string, ticket: Ticket}

resources:
  tickets:
    path: /tickets/:id
    schema: Ticket
    members: [get, get_list, push]
    search_params: {limit: integer?, sort: string?}
    collection: {non_filter_arguments: [limit, sort]}
    endpoints:
      cancel: {method: POST, path: "/tickets/:id/cancel", schema: Ticket}
      get: {options: {needs: [price]}}
  visits:
    path: /visits/:code
    schema: Visit
"""


def merged(ours: str, theirs: str, base: str = BASE, settled: Settled | None = None) -> Merged:
    """What comes of three specs of one file."""
    return merge(base, {"museum.yaml": ours}, theirs, settled=settled)


def changed(*replaced: tuple[str, str], text: str = BASE) -> str:
    """A spec with words replaced, each of which stands there once."""
    for old, new in replaced:
        assert text.count(old) == 1, (text.count(old), old)
        text = text.replace(old, new)
    return text


def result(ours: str, theirs: str, base: str = BASE, settled: Settled | None = None) -> str:
    """The merged text of one file, where there is no conflict."""
    found = merged(ours, theirs, base, settled)
    assert not found.conflicts
    text = found.files["museum.yaml"]
    assert text is not None
    return text


def told(ours: str, theirs: str, base: str = BASE) -> list[tuple[str, str, str]]:
    """What is said: severity, code and message."""
    found = merged(ours, theirs, base)
    return [(problem.severity, problem.code, problem.message) for problem in (*found.conflicts, *found.notices)]


# -------------------------------------------------------------------------------------------------------- the table

PRICE = "      price: number\n"


DECIMAL = changed((PRICE, "      price: decimal\n"))
SHORTER = changed((PRICE, "      price: decimal   # exact\n"), ("      old: string\n", ""))
LONGER = changed((PRICE, PRICE + "      mine: string\n"))


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [(BASE, SHORTER, SHORTER), (SHORTER, BASE, SHORTER), (DECIMAL, DECIMAL, DECIMAL), (LONGER, BASE, LONGER)],
    ids=["only upstream changed it", "only we changed it", "both changed it alike", "only we added it"],
)
def test_merge_what_one_side_changed_or_both_alike_is_taken(ours: str, theirs: str, expected: str) -> None:
    """Byte for byte, removals too; nothing is reported."""
    assert (result(ours, theirs), told(ours, theirs)) == (expected, [])


def test_merge_what_is_new_upstream_stands_at_its_place() -> None:
    """-, -, b: it is added behind what it follows upstream."""
    theirs = changed((PRICE, PRICE + "      discount: number?\n"))
    ours = changed(("      old: string\n", "      old: string\n      mine: string\n"))
    assert result(ours, theirs) == changed((PRICE, PRICE + "      discount: number?\n"), text=ours)


@pytest.mark.parametrize(
    "edit",
    [
        ("      old: string\n", "      old: string?\n"),
        ("      old: string\n", "      # keep it\n      old: string\n"),
        ("      old: string\n", "      old: string   # keep it\n"),
    ],
    ids=["value", "comment above", "comment behind"],
)
def test_merge_what_was_edited_here_and_removed_upstream_stays(edit: tuple[str, str]) -> None:
    """a, b, removed: the result is ours, with a warning; a comment is an edit."""
    ours, theirs = changed(edit), changed(("      old: string\n", ""))
    assert result(ours, theirs) == ours
    message = "entities.Ticket.fields.old was removed upstream and edited here; it is kept"
    assert told(ours, theirs) == [("warning", "removed-upstream", message)]


def test_merge_what_was_edited_below_and_removed_upstream_stays() -> None:
    """a, edited below, removed: the whole resource stays."""
    ours = changed(("path: /visits/:code\n", "path: /visits/:code\n    options: {retries: 9}\n"))
    theirs = BASE[: BASE.index("  visits:")]
    assert result(ours, theirs) == ours
    message = "resources.visits was removed upstream and edited here; it is kept"
    assert told(ours, theirs) == [("warning", "removed-upstream", message)]


def test_merge_what_was_removed_here_and_changed_upstream_stays_removed() -> None:
    """a, removed, b: it stays removed, with a note."""
    ours, theirs = changed((PRICE, "")), changed((PRICE, "      price: decimal\n"))
    assert result(ours, theirs) == ours
    message = "entities.Ticket.fields.price was removed here, changed upstream; it stays removed"
    assert told(ours, theirs) == [("note", "removed-here", message)]


def test_merge_what_both_added_differently_is_a_conflict() -> None:
    """-, b, c: there is no last import to show."""
    ours = changed((PRICE, PRICE + "      discount: integer\n"))
    theirs = changed((PRICE, PRICE + "      discount: number?\n"))
    (conflict,) = merged(ours, theirs).conflicts
    assert conflict.message == "entities.Ticket.fields.discount changed here and upstream"
    assert conflict.hint == "here integer, not in the last import, upstream now number?"


# --------------------------------------------------------------------------------------------------------- conflicts


def test_merge_conflicts_are_settled_by_name() -> None:
    """`--ours` and `--theirs` take the node as it is printed, one around it, or all by `*`; the longest name counts."""
    ours = changed((PRICE, "      price: decimal\n"), ("[day, night]\n", "{DAY: day}\n"))
    theirs = changed((PRICE, "      price: string\n"), ("[day, night]\n", "[day, dusk]\n"))
    assert result(ours, theirs, settled=Settled(["*"])) == ours
    price = changed(("price: decimal", "price: string"), text=ours)
    assert result(ours, theirs, settled=Settled(["enums.Kind"], ["entities.Ticket"])) == price
    assert result(ours, theirs, settled=Settled(["*"], ["entities.Ticket.fields.price"])) == price
    every = changed(("{DAY: day}", "[day, dusk]"), text=price)
    assert result(ours, theirs, settled=Settled((), ["*"])) == every
    half = merged(ours, theirs, settled=Settled(["enums.Kind", "enums.Day"]))
    assert len(half.conflicts) == 1
    assert half.used == frozenset(["enums.Kind"])


def test_merge_conflict_ends_where_ours_is_made_equal() -> None:
    """Editing ours to what upstream says settles it."""
    theirs = changed((PRICE, "      price: string\n"))
    ours = changed((PRICE, "      price:   'string'   # as they say\n"))
    assert result(ours, theirs) == ours


# ------------------------------------------------------------------------------------------------- leaves and sets


def test_merge_field_alone_is_its_type() -> None:
    """A type and a mapping with a type are one form: a description comes to a field whose type was edited here."""
    ours = changed((PRICE, "      price: decimal\n"))
    theirs = changed((PRICE, "      price: {type: number, description: What it costs.}\n"))
    assert result(ours, theirs) == changed((PRICE, "      price: {type: decimal, description: What it costs.}\n"))


def test_merge_members_of_a_field_are_merged_one_by_one() -> None:
    """What is edited inside of braces stays when something else there changes."""
    ours = changed(("description: When it is for.", "description: 'Day, or night.'"))
    theirs = changed(("kind: {type: Kind,", "kind: {type: Kind?, deprecated: true,"))
    assert "      kind: {type: Kind?, deprecated: true, description: 'Day, or night.'}\n" in result(ours, theirs)


def test_merge_lists_of_names_are_ordered_sets() -> None:
    """`members`, values of enums, `indexes`, `needs`, `non_filter_arguments` are merged item by item."""
    ours = changed(
        ("[day, night]", "[day, night, dawn]"),
        ("[get, get_list, push]", "[get, get_list]"),
        ("[limit, sort]", "[limit]"),
        ("needs: [price]", "needs: [old, price]"),
    )
    theirs = changed(
        ("[day, night]", "[day, dusk, night]"),
        ("[get, get_list, push]", "[get, get_list, push, delete]"),
        ("[limit, sort]", "[sort, page]"),
        ("needs: [price]", "needs: [price, kind]"),
    )
    text = result(ours, theirs)
    assert "Kind: [day, dusk, night, dawn]" in text
    assert "members: [get, get_list, delete]" in text
    assert "non_filter_arguments: [page]" in text
    assert "needs: [old, price, kind]" in text


def test_merge_other_lists_and_types_are_leaves() -> None:
    """A type that both changed is a conflict, in whatever part of it."""
    ours = changed(("schema: Ticket}", "schema: {ticket: Ticket, mine: string}}"))
    theirs = changed(("schema: Ticket}", "schema: {ticket: Ticket, total: integer}}"))
    (conflict,) = merged(ours, theirs).conflicts
    assert conflict.message == "resources.tickets.endpoints.cancel.schema changed here and upstream"
    assert conflict.hint == (
        "here {ticket: Ticket, mine: string}, last import Ticket, upstream now {ticket: Ticket, total: integer}"
    )


# ---------------------------------------------------------------------------------------------------------- comments


def test_merge_guess_that_was_accepted_stays_so() -> None:
    """Who deletes `# check:` has accepted the guess; a comment that changes upstream does not come back."""
    ours = changed(("                                              # check: pk guessed: code", ""))
    assert result(ours, BASE) == ours
    theirs = changed(("pk guessed: code", "pk guessed, from the path: code"))
    assert result(ours, theirs) == ours
    message = "the comment of entities.Visit.pk was removed here, changed upstream; it stays removed"
    assert told(ours, theirs) == [("note", "removed-here", message)]


def test_merge_comments_of_the_import_follow_upstream() -> None:
    """A comment that nobody edited is theirs, also where its node was edited."""
    theirs = changed(("on 8 of 8 operations", "on 7 of 8 operations"), ("# pk: the id", "# check: the id"))
    ours = changed(("errors: {400: Problem, ", "errors: {400: Problem, 500: Problem, "))
    text = result(ours, theirs)
    assert "errors: {400: Problem, 500: Problem, 404: Problem}                      # on 7 of 8 operations\n" in text
    assert "    pk: id                                                # check: the id\n" in text


def test_merge_comment_that_both_changed_is_a_conflict() -> None:
    """Its name ends in `#`."""
    ours = changed(("# pk: the id", "# the id, of course"))
    theirs = changed(("# pk: the id", "# check: the id"))
    (conflict,) = merged(ours, theirs).conflicts
    assert conflict.message == "entities.Ticket.pk# changed here and upstream"
    assert conflict.hint == "here 'the id, of course', last import 'pk: the id', upstream now 'check: the id'"
    assert conflict.place.line == 15
    assert result(ours, theirs, settled=Settled((), ["entities.Ticket.pk#"])) == theirs


def test_merge_new_comment_of_the_import_stands_above_one_of_ours() -> None:
    """Both are there."""
    ours = changed((PRICE, "      price: number   # ours\n"))
    theirs = changed((PRICE, "      price: number                                       # check: in cents?\n"))
    text = result(ours, theirs)
    assert "      # check: in cents?\n      price: number   # ours\n" in text
    assert result(text, theirs, theirs) == text


# ----------------------------------------------------------------------------------------------------- renamed here


def test_merge_resource_renamed_here_is_known_by_its_path() -> None:
    """It is merged under its new name."""
    ours = changed(("  tickets:\n", "  passes:\n"))
    theirs = changed(
        ("limit: integer?, sort", "limit: integer, sort"), ("cancel: {method: POST", "cancel: {method: PUT")
    )
    assert result(ours, theirs) == changed(("  tickets:\n", "  passes:\n"), text=theirs)


def test_merge_endpoint_renamed_here_is_known_by_method_and_path() -> None:
    """References to it in theirs follow."""
    ours = changed(("      cancel: {", "      void: {"))
    theirs = changed(
        ("schema: Ticket}", "schema: Ticket?}"),
        ("  visits:\n", "      undo: {extends: cancel, path: /undo}\n  visits:\n"),
    )
    text = result(ours, theirs)
    assert '      void: {method: POST, path: "/tickets/:id/cancel", schema: Ticket?}\n' in text
    assert "      undo: {extends: void, path: /undo}\n" in text


def test_merge_endpoint_that_was_moved_to_another_resource_is_merged_there() -> None:
    """Its method and path say where it is."""
    line = '      cancel: {method: POST, path: "/tickets/:id/cancel", schema: Ticket}\n'
    ours = changed((line, "")) + "    endpoints:\n" + line
    theirs = changed(("schema: Ticket}", "schema: null}"))
    assert result(ours, theirs) == changed(("schema: Ticket}", "schema: null}"), text=ours)


def test_merge_field_renamed_here_is_known_by_its_name_in_json() -> None:
    """`wire` says which it is; lists of names in theirs follow."""
    ours = changed((PRICE, "      cost: {type: number, wire: price}\n"), ("needs: [price]", "needs: [cost]"))
    theirs = changed((PRICE, "      price: decimal?\n"), ("needs: [price]", "needs: [price, kind]"))
    text = result(ours, theirs)
    assert "      cost: {type: decimal?, wire: price}\n" in text
    assert "needs: [cost, kind]" in text


def test_merge_type_renamed_here_is_known_by_where_it_is_used() -> None:
    """References to it in theirs follow, new ones too."""
    ours = BASE.replace("Ticket", "Pass").replace("Kind", "Daytime")
    theirs = changed(
        ("ticket: Ticket}", "ticket: Ticket?, others: [Ticket], when: Kind}"),
        ("[day, night]", "[day, dusk, night]"),
        (PRICE, "      price: decimal\n"),
    )
    assert result(ours, theirs) == theirs.replace("Ticket", "Pass").replace("Kind", "Daytime")


def test_merge_resource_renamed_here_whose_path_is_gone_stays_as_it_is() -> None:
    """A warning says what was lost."""
    ours = changed(("  visits:\n", "  stays:\n"))
    theirs = changed(("path: /visits/:code", "path: /stays/:code"))
    theirs = changed(("  visits:\n", "  trips:\n"), text=theirs)
    assert result(ours, theirs).count("  stays:\n") == 1
    lost = "whose path changed upstream: `GET /visits/{code}` no longer exists; it is kept"
    assert told(ours, theirs) == [("warning", "import-rename-lost", f"resource 'stays' was 'visits', {lost}")]


# ------------------------------------------------------------------------------------------------------------- bytes


def test_merge_line_ends_and_indentation_of_ours_are_kept() -> None:
    """What comes from upstream has the line ends and the indentation of ours."""
    ours = changed((PRICE, PRICE + "      mine: string\n")).replace("\n", "\r\n")
    theirs = changed(("      old: string\n", "      old: string\n      new: {type: string, description: New.}\n"))
    text = result(ours, theirs)
    assert text.count("\n") == text.count("\r\n") == ours.count("\n") + 1
    wide = "\n".join(" " * (len(line) - len(line.lstrip())) + line for line in ours.replace("\r", "").split("\n"))
    assert "            new: {type: string, description: New.}\n" in result(wide, theirs)


def test_merge_file_without_a_last_line_end_gets_one_only_where_something_follows() -> None:
    """Its last byte stays."""
    ours = changed((PRICE, "      price: decimal\n")).rstrip("\n")
    theirs = changed(("[day, night]", "[day]"))
    assert result(ours, theirs) == changed(("[day, night]", "[day]"), text=ours)
    theirs = BASE + "  walks:\n    path: /walks/:id\n    schema: Ticket\n"
    assert result(ours, theirs) == ours + "\n  walks:\n    path: /walks/:id\n    schema: Ticket\n"


def test_merge_comments_inside_of_braces_are_not_lost() -> None:
    """Where a mapping over several lines is written anew, its comments stand above it."""
    commented = "{  # all\n      limit: integer?,  # at most\n      # order\n      sort: string?}\n"
    ours = changed(("{limit: integer?, sort: string?}\n", commented))
    theirs = changed(("limit: integer?", "limit: integer"))
    text = result(ours, theirs)
    for comment in ("# all\n", "# at most\n", "# order\n"):
        assert comment in text
    assert "{limit: integer, sort: string?}" in text


def test_merge_object_that_both_sides_empty_is_an_empty_one() -> None:
    """Where one member was removed here and the other upstream, `{}` is left."""
    base = changed(("{title: string, detail: string?}", "\n    title: string\n    detail: string?"))
    ours, theirs = changed(("    title: string\n", ""), text=base), changed(("    detail: string?\n", ""), text=base)
    assert result(ours, theirs, base) == changed(("{title: string, detail: string?}", "{}"))


def test_merge_spec_in_json_style_is_merged_too() -> None:
    """A spec that is one mapping between braces stays one."""
    base = HEAD + "title: Museum\nenums:\n  Kind: [day]\n"
    ours = '{"restencil": 1, "package": "museum", "wire_names": "camelCase", "title": "Mine"}\n'
    ours = ours.replace('"Mine"', '"Mine", "enums": {"Kind": ["day"]}')
    theirs = base.replace("[day]", "[day, night]")
    assert result(ours, theirs, base) == ours.replace('["day"]', '["day", night]')


def test_merge_order_follows_upstream_where_nobody_changed_it_here() -> None:
    """Order has a meaning in fields; who ordered them here keeps theirs."""
    theirs = changed((PRICE, ""), ("      old: string\n", "      old: string\n" + PRICE))
    ours = changed(("      old: string\n", "      old: string   # mine\n"))
    assert result(ours, theirs) == changed(("      old: string\n", "      old: string   # mine\n"), text=theirs)
    ours = changed(("      id: integer\n", ""), ("      old: string\n", "      old: string\n      id: integer\n"))
    assert result(ours, theirs) == ours


# ------------------------------------------------------------------------------------------------ several files


def test_merge_spec_of_several_files_is_merged_where_its_nodes_are() -> None:
    """Moving nodes between files changes nothing; what is new stands beside what it follows."""
    top, rest = BASE.split("\nentities:\n")
    entities, resources = rest.split("\nresources:\n")
    tickets, visits = resources.split("  visits:\n")
    ours = {
        "museum/spec.yaml": top.replace("[day, night]", "[day, night]  # mine"),
        "museum/entities.yaml": "entities:\n" + entities,
        "museum/resources/tickets.yaml": "resources:\n" + tickets,
        "museum/resources/visits.yaml": "resources:\n  visits:\n" + visits,
    }
    theirs = changed(
        ("[day, night]", "[night]"), (PRICE, "      price: decimal\n"), ("path: /visits", "path: /v/visits")
    )
    theirs += "  walks:\n    path: /walks/:id\n    schema: Ticket\n"
    found = merge(BASE, ours, theirs, folder="museum")
    assert found.conflicts == ()
    assert found.files == {
        "museum/spec.yaml": ours["museum/spec.yaml"].replace("[day, night]", "[night]"),
        "museum/entities.yaml": ours["museum/entities.yaml"].replace("price: number", "price: decimal"),
        "museum/resources/tickets.yaml": ours["museum/resources/tickets.yaml"],
        "museum/resources/visits.yaml": ours["museum/resources/visits.yaml"].replace("/visits", "/v/visits"),
        "museum/resources/walks.yaml": "resources:\n  walks:\n    path: /walks/:id\n    schema: Ticket\n",
    }
    gone = merge(BASE, ours, BASE[: BASE.index("  visits:")], folder="museum")
    assert gone.files["museum/resources/visits.yaml"] is None


# --------------------------------------------------------------------------------------------------------------- laws

#: What people edit: the node, what stands there, and what they write.
EDITS: list[tuple[str, str, str]] = [
    ("entities.Ticket.fields.price", PRICE, "      price: decimal   # exact\n"),
    ("entities.Ticket.fields.old", "      old: string\n", ""),
    ("entities.Ticket.fields.mine", "      id: integer\n", "      id: integer\n      mine: string   # own\n"),
    ("entities.Ticket.fields.kind", "When it is for.", "'Day, or night.'"),
    ("enums.Kind", "[day, night]", "[day, night, dawn]  # and one more"),
    ("objects.Problem.own", "detail: string?}", "detail: string?, own: any}"),
    ("errors", "404: Problem}", "404: Problem, 500: Problem}"),
    ("entities.Visit.pk#", "                                              # check: pk guessed: code", ""),
    ("resources.tickets.members", "[get, get_list, push]", "[get, get_list]"),
    ("resources.tickets", "  tickets:\n", "\n  passes:\n"),
    ("resources.tickets.endpoints.cancel", "      cancel: {", "      void: {"),
    ("resources.visits", "  visits:\n", "  # all of them\n  visits:\n"),
    ("resources.visits.schema", "    schema: Visit\n", "    schema:   'Visit'\n    options: {retries: 9}\n"),
]
#: What documents change.
CHANGES: list[tuple[str, str, str]] = [
    ("entities.Ticket.fields.price", PRICE, "      price: string\n"),
    ("entities.Ticket.fields.old", "      old: string\n", "      old: {type: string, description: Gone soon.}\n"),
    ("entities.Ticket.fields.discount", "      kind: {", "      discount: number?\n      kind: {"),
    ("entities.Ticket.fields.kind", "{type: Kind, ", "{type: Kind?, deprecated: true, "),
    ("enums.Kind", "[day, night]", "[day, dusk, night]"),
    ("objects.Problem.title", "{title: string,", "{title: string?,"),
    ("errors#", "on 8 of 8 operations", "on 7 of 9 operations"),
    ("entities.Ticket.pk#", "# pk: the id", "# check: the id"),
    ("resources.tickets.members", "[get, get_list, push]", "[get, get_list, push, delete]"),
    ("resources.tickets.endpoints.cancel.schema", "schema: Ticket}", "schema: Ticket?}"),
    ("resources.tickets.endpoints.get", "      get: {options: {needs: [price]}}\n", ""),
    ("resources.walks", "resources:\n", "resources:\n  walks:\n    path: /walks/:id\n    schema: Ticket\n"),
    ("resources.visits", BASE[BASE.index("  visits:") :], ""),
]


def is_around(one: str, other: str) -> bool:
    """Whether a node is another one, or holds it."""
    return f"{other.rstrip('#')}.".startswith(f"{one.rstrip('#')}.")


def is_there(old: str, new: str, text: str) -> bool:
    """Whether a text has what was written, or lacks what was removed."""
    return new in text if new else old not in text


@settings(max_examples=examples(10, 90))
@given(st.sets(st.sampled_from(EDITS), max_size=8), st.sets(st.sampled_from(CHANGES), max_size=8))
def test_merge_of_any_edits_and_changes_keeps_all(
    edits: set[tuple[str, str, str]], changes: set[tuple[str, str, str]]
) -> None:
    """What one side alone says of a node is there, other lines have their bytes, and a second merge changes nothing."""
    ours = changed(*((old, new) for _, old, new in sorted(edits)))
    theirs = changed(*((old, new) for _, old, new in sorted(changes)))
    conflicts = {name.rstrip("#") for name in names_of(merged(ours, theirs).conflicts)}
    both = {node.rstrip("#") for node, _, _ in edits} & {node.rstrip("#") for node, _, _ in changes}
    assert conflicts <= both
    for settled in (Settled(ours=["*"]), Settled(theirs=["*"])):
        text = result(ours, theirs, settled=settled)
        for mine, others in ((edits, changes), (changes, edits)):
            for node, old, new in mine:
                if not any(is_around(node, other) or is_around(other, node) for other, _, _ in others):
                    assert is_there(old, new, text), node
        same = [line for line in ours.split("\n") if line in BASE.split("\n") and line in theirs.split("\n")]
        lines = iter(text.split("\n"))
        assert [line for line in same if line not in lines] == []
        assert result(text, theirs, theirs) == text
        assert result(text, theirs, settled=settled) == text  # the spec was written, what is kept of the import was not
