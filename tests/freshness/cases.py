"""Fixed programs, each of which once failed: in the runtime, or in a model of the rule with one part left out.

Each runs with owners as objects and as keys, sync and asyncio; its name says what happens in it.
"""

from __future__ import annotations

from typing import Final

CASES: Final = {
    "two changes of one record overlap": """
        items.get_list(kind='b')
        start 1: items.partial_update(id=1, body={'kind': 'a'}) -> whole
        start 2: items.partial_update(id=1, body={'kind': 'b'}) -> whole
        serve 2
        serve 1
        deliver 1
        deliver 2
    """,
    "a read of an unknown record is under way while many are changed": """
        start 1: items.get(id=1)
        serve 1
        items.change_many(body={'kind': 'b', 'change': {'body': 'K'}}) -> 204
        deliver 1
    """,
    "a partial response with all that `get` asks for": """
        items.get(id=1)
        items.partial_update(id=1, body={'body': 'B'}) -> part
        items.partial_update(id=1, body={'note': 'Q'}) -> whole
    """,
    "a response without an optional member": """
        items.partial_update(id=1, body={'body': 'B'}) -> part
    """,
    "page two after a change": """
        items.by_page()
        items.delete(id=2) -> lost
        items.by_page.get_page(page=2)
    """,
    "evicted, and then an older response": """
        world bound=2
        start 3: items.by_page()
        serve 3
        items.partial_update(id=1, body={'body': 'Z'}) -> 204
        items.get(id=1)
        items.get(id=3)
        items.get(id=2)
        deliver 3
    """,
    "a bulk change that answers some members of each record": """
        items.get_list(kind='b')
        items.change_many_shown(body={'kind': 'b', 'change': {'body': 'K'}}) -> part
    """,
    "a list read is overtaken by a change that moves a member out": """
        items.get_list()
        start 1: items.get_list.fetch(kind='b')
        serve 1
        items.partial_update(id=1, body={'kind': 'a'}) -> whole
        deliver 1
        items.get.fetch(id=1)
    """,
    "a summary after two changes that overlapped": """
        items.get(id=1)
        start 1: items.partial_update(id=1, body={'body': 'B'}) -> whole
        start 2: items.partial_update(id=1, body={'body': 'C'}) -> whole
        serve 2
        serve 1
        deliver 1
        deliver 2
        items.latest()
    """,
    "a read of the parent is under way while a child is created": """
        start 1: users.get(id=1)
        serve 1
        items.create(body={'owner': 1}) -> whole
        deliver 1
    """,
    "a change starts before a read and is carried out after it": """
        start 1: items.partial_update(id=1, body={'rank': 0}) -> whole
        items.get(id=1)
        items.get_list(rank=1)
        serve 1
        deliver 1
    """,
    "a read of a parent is under way while a partition creates a child": """
        start 1: users.get(id=2)
        serve 1
        view.items.create(body={'owner': 2}) -> whole
        deliver 1
    """,
    "a change that brings a list overlaps a change of its items": """
        start 1: items.partial_update(id=3, body={'owner': 2}) -> id
        start 2: users.partial_update(id=2, body={'name': 'cy'}) -> whole
        serve 2
        serve 1
        deliver 1
        deliver 2
    """,
    "titles of items are read while one is created": """
        start 1: items.titles()
        serve 1
        items.create(body={'title': 'new'}) -> whole
        deliver 1
    """,
    "a live read of a bounded list whose references were evicted": """
        world bound=4
        teams.partial_update(id=1, body={'motto': 'p'}) -> whole
        watch items.get_list(order='id')
        items.visit(id=1, body={'note': 'M'}) -> whole
    """,
    "a live read of bounded pages after a rename": """
        world bound=2
        items.partial_update(id=3, body={'team': None}) -> whole
        teams.get(id=2)
        items.update(id=2, body={'team': 2}) -> whole
        items.delete(id=1) -> whole
        watch items.by_offset()
        items.rename(id=2, body={'id': 5}) -> whole
    """,
    "a response that leaves out null and a list that follows": """
        world needs=required, leaves_out_null
        users.get(id=2)
        items.partial_update(id=1, body={'owner': None}) -> whole
    """,
    "a reference that the response leaves out is gone": """
        world leaves_out_null
        items.by_page()
        items.partial_update(id=1, body={'owner': 1}) -> 204
        teams.delete(id=2) -> 500
    """,
    "a reference that all responses since leave out is gone": """
        world leaves_out_null
        items.get(id=2)
        users.delete(id=1) -> lost
        watch items.get_list(order='id')
    """,
    "a live read whose reference is gone": """
        world bound=4
        watch items.get(id=2)
        items.update(id=2, body={'team': 2}) -> whole
        teams.delete(id=2) -> 500
    """,
    "a record that was not there before it was created": """
        items.get(id=4)
        items.create(body={'kind': 'a'}) -> whole
        items.get_list()
        items.visit(id=4, body={'note': 'N'}) -> 204
    """,
    "a live read that failed while the record was created": """
        start 4: items.get(id=4)
        serve 4
        items.create(body={'team': 1}) -> 204
        watch items.get(id=4)
        items.get_list(kind='a')
        deliver 4
    """,
    "a live read that waits for a request which failed before the record was created": """
        world optimistic
        start 3: users.by_name(name='cy')
        serve 3
        start 17: users.join(body={'name': 'cy'}) -> whole
        watch users.by_name(name='cy')
        deliver 17
    """,
    "a name that was given up, and a change of another record": """
        users.by_name(name='ada')
        users.partial_update(id=1, body={'name': 'dee'}) -> whole
        users.by_name(name='ada')
        items.visit(id=3, body={'team': 1}) -> whole
    """,
    "an iteration by URL, and a rename under way": """
        run 2: items.by_url.iterate()
        next 2, 2 times
        start 5: items.rename(id=1, body={'id': 7}) -> whole
        serve 5
        next 2, 2 times
    """,
    "an iteration after a later page was loaded": """
        world items=8
        items.by_page()
        items.by_page.get_page(page=3)
        items.by_page.iterate()
    """,
    "an iteration after the page behind the last one was loaded": """
        items.by_last()
        items.by_last.get_page(after=4)
        run 1: items.by_last.iterate()
    """,
    "an iteration by URL, and a delete whose outcome is unknown": """
        run 4: items.by_url.iterate()
        next 4, 2 times
        items.delete(id=1) -> lost
        next 4, 2 times
    """,
    "an iteration by links, and a change that names no record": """
        run 1: items.by_link.iterate()
        next 1
        items.delete_many(body={'ids': [2]}) -> 204
        next 1, 3 times
    """,
    "an item of an iteration is deleted after a change that may have deleted it": """
        world items=8
        run 6: items.by_offset.iterate()
        ask 6
        deliver 6
        items.delete_many(body={'ids': [1]}) -> whole
        next 6, 2 times
        items.delete(id=2) -> 204
        next 6, 6 times
    """,
    "an item of an iteration is deleted after a refused change of it": """
        world items=8
        run 1: items.by_offset.iterate()
        next 1, 3 times
        items.rename(id=4, body={'id': 5}) -> refused
        next 1, 2 times
        items.delete(id=4) -> whole
        next 1, 5 times
    """,
    "an iteration by links, and a bulk change under way": """
        world items=8
        run 5: items.by_link.pages()
        items.delete(id=2) -> whole
        start 10: items.delete_many(body={'ids': [1]}) -> 204
        next 5, 2 times
        serve 10
        next 5, 5 times
    """,
    "a dump has a record below one that was deleted": """
        notes.get_list(item_id=1)
        items.delete(id=1) -> whole
        reload
        notes.get(item_id=1, id=1)
    """,
    "a list in a store of a dump has a record that was deleted before": """
        world soft=listed
        items.delete(id=1) -> whole
        reload
        items.every()
        items.get(id=1)
    """,
    "a list in a store of a dump of a dump has a record that was deleted before": """
        world soft=listed
        items.delete(id=1) -> 204
        reload
        reload
        items.every()
    """,
    "a list in a store of a dump has a record that a change of many deleted before": """
        world soft=listed
        reload
        items.every()
        items.delete_many(body={'ids': [1]}) -> 204
        reload
        items.every()
    """,
    "a delete is answered while the next page of an iteration is under way": """
        world items=8
        run 1: items.by_page.iterate()
        next 1, 2 times
        ask 1
        items.delete(id=1) -> 204
        deliver 1
        next 1, 7 times
    """,
    "an iteration begins while a request is under way that was sent before a change": """
        world newest_first
        start 2: items.by_header()
        serve 2
        items.create(body={'note': 'N'}) -> whole
        run 16: items.by_header.iterate()
        ask 16
        deliver 2
        next 16, 5 times
    """,
    "a part of a record comes while its row in a dump is evicted": """
        world bound=2, optimistic, embeds_owner, newest_first, items=8
        reload
        start 2: items.partial_update(id=1, body={'note': 'M'}) -> whole
        serve 2
        users.by_name(name='ada')
        teams.get_list()
        items.partial_update(id=1, body={'body': 'B', 'owner': 1, 'team': None}) -> whole
    """,
    "the response of a live read is overtaken, and refers to what came again after its eviction": """
        world bound=8
        start 9: users.by_name(name='ada')
        serve 9
        users.partial_update(id=1, body={'name': 'dee'}) -> whole
        start 24: items.create(body={'owner': 1}) -> whole
        serve 24
        watch items.get_list(order='id')
        deliver 24
        users.get(id=2)
    """,
    "a live read of a list that a bounded store over a dump has no room for": """
        world bound=2
        users.create(body={'name': 'cy'}) -> whole
        items.get(id=1)
        reload
        watch items.archived()
        items.partial_update(id=3, body={'team': None}) -> whole
    """,
    "an optimistic response asks a bounded store that loads from a dump": """
        world bound=8, optimistic, needs=required, leaves_out_null
        reload
        watch items.board()
        teams.get_list()
        start 17: users.by_name(name='ada')
        deliver 17
        wait 45
        start 35: items.partial_update(id=2, body={'note': None, 'owner': 1, 'team': None}) -> id
        items.update(id=3, body={'title': 'x', 'kind': 'a', 'owner': 1, 'team': 2}) -> whole
        items.card(id=1)
        items.partial_update(id=1, body={'title': 'y'}) -> lost
    """,
    "an iteration ends while a delete is under way": """
        run 1: items.by_page.iterate()
        next 1, 2 times
        ask 1
        start 11: items.delete(id=2) -> whole
        serve 11
        serve 1
        deliver 1
        deliver 11
        next 1
    """,
    "a record that refers to a deleted one, whose key the server uses again": """
        world reuses_keys
        items.get(id=1)
        users.delete(id=2) -> whole
        users.create(body={'name': 'cy'}) -> whole
        users.get(id=2)
    """,
    "a record that refers to one deleted without content, whose key the server uses again": """
        world reuses_keys
        items.get(id=1)
        users.delete(id=2) -> 204
        users.create(body={'name': 'cy'}) -> whole
        users.get(id=2)
    """,
    "a record that refers to one that is deleted and created at once": """
        world reuses_keys
        items.get(id=1)
        start 1: users.delete(id=2) -> whole
        start 2: users.create(body={'name': 'cy'}) -> whole
        serve 1
        serve 2
        deliver 2
        deliver 1
        users.get(id=2)
    """,
    "a live read requests a stale reference beside what was evicted": """
        world bound=2, optimistic, needs=required, leaves_out_null, has_etags
        start 3: items.get_list(kind='b')
        start 7: teams.get(id=2)
        items.update(id=2, body={'kind': 'b', 'owner': 2, 'team': 2}) -> 204
        start 12: items.create(body={'title': 'y', 'kind': 'b', 'state': 'closed'}) -> part
        start 14: items.delete(id=1) -> lost
        serve 7
        watch items.by_cursor()
        start 22: items.update(id=3, body={'kind': 'a', 'rank': 1, 'body': 'P', 'owner': 1}) -> whole
        view.teams.partial_update(id=2, body={'name': 'q'}) -> whole
        start 25: items.by_last.iterate()
        start 27: users.by_name(name='ada')
    """,
    "a partition is first used after a deletion of a record that the server still lists": """
        world soft=listed
        items.delete(id=2) -> whole
        view.items.every()
    """,
    "what is below a record was not found before it was created without a response": """
        settings.get(item_id=4)
        items.create(body={'team': 2}) -> 204
        settings.get(item_id=4)
    """,
    "an iteration by links meets a rename without an outcome": """
        run 3: items.by_link.iterate()
        next 3
        items.rename(id=2, body={'id': 6}) -> 500
    """,
}
"""Programs by what they show."""
