"""Reading: what a read touches and memory does not know is loaded before it looks, one level after another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from ..base.values import UNDEFINED, Meta
from ..cache.tables import Change, Listing
from ..schema.collection import Collection
from ..schema.notation import schema_of
from ..schema.protocol import is_plain
from ..storage.protocol import MOST_PLACES
from .asking import MOST_IN_LOOP, Asking, Waits, ask_apart, ask_here
from .changes import Changes
from .intake import Intake
from .lacking import Lacking
from .levels import Levels
from .loading import Loads
from .shapes import ANY_SHAPE, fingerprint_of_endpoint
from .vouching import Vouching
from .walk import Walk
from .watching import Watching

if TYPE_CHECKING:
    from ..base.steps import Steps
    from ..cache.contents import Contents
    from ..cache.lookup import Lookup
    from ..cache.request import Request
    from ..cache.store import Store
    from ..cache.tables import Cell, State
    from ..schema.protocol import Schema
    from ..storage.protocol import Changes as Told
    from .below import Below
    from .pending import Handed, Pending
    from .shapes import Shapes
    from .walk import References
    from .writer import Writer

_AGAIN: Final = 50
"""So often a read begins anew because others wrote, or more was loaded, until it counts as not known for now."""


class Knowing:
    """Makes known what reads touch (locked, but for the steps that wait)."""

    def __init__(
        self, store: Store, contents: Contents, lookup: Lookup, below: Below, writer: Writer, shapes: Shapes
    ) -> None:
        self._store = store
        self._contents = contents
        self._below = below
        self._writer = writer
        self._shapes = shapes
        self.intake = Intake(store, contents, below, writer, shapes)
        self.changes = Changes(store, contents, below, writer, self.intake)
        self.lacking = Lacking(contents, below, shapes, self.intake)
        self._vouching = Vouching(contents, below, self.intake, writer)
        self.loads = Loads(store, below)
        self._watching = Watching(below, self)
        self._prepared: str | None = None
        """The key of the read for which all was loaded last."""
        self._levels = Levels(below, self.intake, self.changes)

    # -- reads -----------------------------------------------------------------------------------------------------

    def know(self, request: Request, state: State | None = None) -> bool:
        """What a read of the endpoint touches is brought into memory; False where it is not to be shown."""
        return self._here(
            lambda waits: self._of_request(request, waits=waits, state=state), ("request", request.key, request.args)
        )

    def know_value(self, schema: Any, args: tuple[Any, ...], state: State | None = None) -> bool:
        """What the value of a schema touches, as a state shows the tables, is brought into memory."""
        node = schema_of(schema)
        if node is None:
            return True
        self._shapes.meet(node)
        return self._here(lambda waits: self._of(node, None, args, waits=waits, state=state), ("value", id(node), args))

    def catch_up_here(self) -> None:
        """Memory is brought up to the newest commit, where that may be asked for here."""
        if self._most and self._asks and self._below.is_open:
            self._here(lambda waits: self.changes.catch_up(), ("changes",))

    def finds(self, key: str, *, asks: bool) -> bool:
        """Whether memory has all there is under a key; an inline storage may be asked where memory has nothing."""
        below = self._below
        below.settle()
        if key in self.intake.unusable_keys or below.known.doubted_keys.get(key):
            return False
        if key in below.known.key_revs or self._writer.is_pending_key(key) or below.state == "off":
            return True
        if not self.lacking.keeps_key(key):
            return True
        if not asks or not self._most or not self._asks or self._contents.base.key_meta(key) is not None:
            return False
        return self._levels.peek(key)

    def _meet(self, request: Request) -> None:
        """A result that was loaded before its endpoint was known is of use to that alone which it fits."""
        intake, key = self.intake, request.key
        if key in intake.unread:
            intake.unread.discard(key)
            if intake.key_shapes.get(key) not in (ANY_SHAPE, fingerprint_of_endpoint(request.rules)):
                intake.unusable_keys.add(key)

    def knows(self, request: Request) -> bool:
        """Whether it is known what lies under a key."""
        self._below.settle()
        self._meet(request)
        if request.key in self.intake.unusable_keys:
            return False
        return request.key in self._below.known.key_revs or not self._asks or not self.lacking.keeps(request)

    def is_known(self, table: str, pk: str) -> bool:
        """Whether it is known what the storage has of a cell."""
        self._below.settle()
        if self._below.known.rev(table, pk) is not None:
            return True
        return not self._asks or not self.lacking.keeps_cell(table, pk)

    def steps(self, request: Request) -> Steps:
        """Steps: the same for a read that may wait."""
        self._bound()
        self._prepared = request.key
        return self.loads.steps(self._of_request(request, waits=True), self._most)

    def catching_up(self) -> Steps:
        """Steps: memory is brought up to the newest commit."""
        return self.loads.steps(self.changes.catch_up(), self._most)

    @property
    def _most(self) -> int:
        """About how many rows may be asked here: nothing is asked of a remote storage, and little in a loop."""
        if not self._below.storage.inline:
            return 0
        asyncio: Any = sys.modules.get("asyncio")
        return MOST_IN_LOOP if asyncio is not None and asyncio._get_running_loop() is not None else MOST_PLACES

    @property
    def _asks(self) -> bool:
        return self._below.may_be_read

    def _here(self, begin: Callable[[bool], Asking[bool]], name: tuple[Any, ...]) -> bool:
        """Asks under the lock where that may be; else in the background, and nothing is known for now."""
        most = self._most
        if self._prepared is None and most and not self._levels.inside:
            self._bound()
        self._prepared = None
        asking = begin(most > 0)
        self._levels.inside += 1
        try:
            return ask_here(asking, self._below, most)
        except Waits:
            asking.close()
            self.loads.begin(name, lambda: begin(True))
            return False
        finally:
            self._levels.inside -= 1
            self._tell_later()

    def _bound(self) -> None:
        """Memory lets go of what is over its bound since more was loaded; not between a load and the read it is for."""
        with self._below.lock:
            self._contents.bound()

    def _tell_later(self) -> None:
        """Listeners hear of what others changed, where it was met by a read."""
        if self._store.has_news:
            self._store.scheduler.spawn(self._store.tell)

    # -- what a read touches ---------------------------------------------------------------------------------------

    def _of_request(self, request: Request, *, waits: bool, state: State | None = None) -> Asking[bool]:
        rules, key, intake = request.rules, request.key, self.intake
        schema = rules.schema
        self._shapes.meet(schema)
        self._meet(request)
        is_loaded = False
        ahead: dict[Cell, Any] = {}
        if self.lacking.keeps(request):
            if self._asks and self.lacking.lacks_key(key, waits=waits):
                ahead = self.lacking.ahead(request, waits=waits)
                is_loaded = yield from self._levels.load_key(request, ahead)
            if key in intake.unusable_keys:
                return False
        if state is None and len(ahead) == 1 and self.lacking.is_all(request, *ahead):
            self._note_use(key, ahead)
            return True
        if schema is None or is_plain(schema):
            self._vouching.look(request, None)
            return True
        listed = request if is_loaded else None
        args = rules.told_args(request.args)
        return (yield from self._of(schema, request, args, waits=waits, state=state, listed=listed))

    def _of(
        self,
        schema: Schema,
        request: Request | None,
        args: tuple[Any, ...],
        *,
        waits: bool,
        state: State | None = None,
        listed: Request | None = None,
    ) -> Asking[bool]:
        """Walks through what is known and loads what is not, until nothing is unknown; False for a hole."""
        contents, intake = self._contents, self.intake
        asks = self._asks
        key = None if request is None else request.key
        for _ in range(_AGAIN):
            if state is None:
                contents.refresh()
            seen = contents.view if state is None else state
            generation = intake.generation
            walk = Walk(seen, args, intake.loaded)
            stored = UNDEFINED if key is None else seen.result(key)
            from_storage = key in intake.loaded_keys
            if stored is UNDEFINED:
                with contents.hooks:
                    stored = schema.query_key(args, walk)
                cells = (
                    self.lacking.of(((table, None, pks) for table, pks in walk.asked.items()), waits=waits)
                    if asks
                    else {}
                )
                index = self.lacking.of_index(walk.index) if asks else []
                if cells or index:
                    asks = yield from self._levels.load(cells, index)
                    continue
            with contents.hooks:
                walk.begin(schema, stored, from_storage=from_storage)
            if listed is not None:
                self._note_lists(walk.ahead, listed)
                listed = None
            found = yield from self._through(walk, asks=asks, waits=waits)
            if found is None or generation != intake.generation:
                asks = self._asks
                continue
            if key is not None and listed is None:
                self._note_use(key, walk.touched)
            if not found:
                self._below.count.holes += 1
            elif request is not None:
                self._vouching.look(request, walk)
            return found
        return False

    def _through(self, walk: Walk, *, asks: bool, waits: bool) -> Asking[bool | None]:
        """Goes through all levels: False for a hole, None where it is to be begun anew."""
        contents, seen = self._contents, self._contents.view
        is_whole = True
        while True:
            tables = [table for table in walk.whole if asks and self.lacking.lacks_whole(table)]
            if tables:
                yield from self._levels.load_whole(tables[0])
                return None
            level = walk.turn()
            if not level:
                break
            lacking = self.lacking.of(_cells_of(level), waits=waits) if asks else {}
            if lacking:
                asks = yield from self._levels.load(lacking, [])
                if contents.optimistic.stale or contents.view is not seen:
                    return None
            with contents.hooks:
                for references in level:
                    is_whole = not self.lacking.has_hole(references, walk.open(references)) and is_whole
        return is_whole and not any(self.lacking.is_hole_of(table) for table in walk.whole)

    def _note_lists(self, level: Iterable[References], request: Request) -> None:
        """Notes under which key lists lie that were loaded, so that they follow what is known of their members."""
        noted = [
            Listing((node.table_key, pk), node, request.key, request.rules.total)
            for node, _, pks in level
            if isinstance(node, Collection)
            for pk in pks
        ]
        if noted:
            change = Change(self._contents.base, _NO_TIMES)
            change.noted += noted
            self._contents.take_in(change)

    def _note_use(self, key: str, touched: Iterable[Cell]) -> None:
        if key in self.intake.just_loaded:
            self.intake.just_loaded.discard(key)
            self._writer.use([key, *touched])

    def wrote(self, pending: Pending, handed: Handed) -> None:
        """An action of this process has written this."""
        self.intake.wrote(pending, handed)
        request = pending.request
        if request is None or not handed.said.is_answer or request.key not in self._contents.base.key_metas:
            return  # or memory has let go of it since
        if self.lacking.keeps(request):
            self.intake.key_shapes[request.key] = fingerprint_of_endpoint(request.rules)

    # -- what others wrote -------------------------------------------------------------------------------------------

    def turn(self) -> bool:
        """Takes in what others wrote, and compares some of what is doubted (without the lock); False: no answer."""
        below = self._below
        if not below.is_open:
            return False
        if below.lost_touch():
            self.lost()
        if not below.may_be_read:
            return False
        if self.changes.clock_stepped():
            with below.lock:
                self.changes.broken("the clock was set")
            self._store.tell()
        # What finds nothing goes through nothing else. (Benchmark: an idle store with a storage.)
        number = below.known.number
        found = below.work(lambda storage: storage.changes(number, 0))
        if found is None:
            return False
        below.touched()
        return self.heard(found)

    def heard(self, found: Told) -> bool:
        """The log says this (without the lock); False: there was no answer to what it leads to."""
        below = self._below
        known = below.known
        is_idle = found.number == known.number and found.epoch == known.epoch and not found.lost
        if is_idle and not (self._contents.unsure or self.intake.unordered):
            return True
        is_done = ask_apart(self._taken(found), below)
        self._store.tell()
        return is_done

    def watch(self) -> None:
        """From now on a thread waits for what others write."""
        self._watching.start()

    def lost(self) -> None:
        """The storage did not answer, and does now: what others did meanwhile is not known."""
        with self._below.lock:
            self._below.settle()
            self.changes.broken("it did not answer for a while")
        self._tell_later()

    def _taken(self, found: Told) -> Asking[bool]:
        return (yield from self.changes.take(found)) and (yield from self._levels.compared())

    # -- the life of a store -----------------------------------------------------------------------------------------

    def origin(self, key: str) -> str | None:
        """Where the result under a key came from, in words; None where an answer brought it here."""
        self._below.settle()
        return "it came from the storage" if key in self.intake.loaded_keys else None

    def close(self) -> None:
        """Nothing is loaded any more."""
        self.loads.close()
        self._watching.close()

    def forked(self) -> None:
        """This is the child."""
        self.loads.forked()
        self._watching.forked()


_NO_TIMES: Final = Meta(0, 0, 0)


def _cells_of(level: Iterable[References]) -> Iterator[tuple[str, Any, Iterable[str]]]:
    return ((node.table_key, node, pks) for node, _, pks in level)
