"""Passes over fragments by Dask: on threads, on processes, or on the workers of whatever cluster is active.

A pass is one graph: a task for each piece, which reads its fragments where it runs, and a binary tree of sums, in the
order of `TreeSum`, so that only the total comes back, and no worker, retry or order of arrival changes a bit. Rows
are never sent from here: chunks of Dask collections are computed by Dask, and files are read by whoever has the task.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from ..errors import ClusterError, OneFitError
from .streams import Fragment, Keep, Piece, add_up

__all__ = ["DaskRunner"]

T = TypeVar("T")


@dataclass(frozen=True)
class DaskRunner:
    """Whatever scheduler is active when a pass begins; ``client`` is one of `distributed`, if it must be that one."""

    client: Any = None
    reads_ahead: bool = field(default=False, init=False)  # workers have a core each, as a rule

    def sum(
        self,
        task: Callable[[Piece], T],
        pieces: Sequence[Piece],
        add: Callable[[T, T], T],
        tick: Callable[[int], None],
        keep: Keep | None = None,
    ) -> T:
        """The sum over all pieces; with ``keep`` it is made here, of the results as they come."""
        if keep is None:
            return self._summed(task, pieces, add, tick)
        return add_up(partial(self._found, task), pieces, add, tick, keep)

    def some(self, task: Callable[[Piece], T], pieces: Sequence[Piece]) -> Iterable[T]:
        """Results in the order of the pieces."""
        places = {piece.place: at for at, piece in enumerate(pieces)}
        found = sorted(self._found(task, pieces), key=lambda each: places[each[0]])
        return [each for _, each in found]

    def _summed(
        self, task: Callable[[Piece], T], pieces: Sequence[Piece], add: Callable[[T, T], T], tick: Callable[[int], None]
    ) -> T:
        """One graph whose leaves are pieces and whose root is the sum."""
        import dask

        leaves = _leaves(task, pieces)
        plus = dask.delayed(_Added(add), pure=False, traverse=False)
        nodes = list(leaves)
        while len(nodes) > 1:
            pairs = [nodes[at : at + 2] for at in range(0, len(nodes), 2)]
            nodes = [plus(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        (root,) = nodes
        client = self._client()
        with _named_errors(client):
            if client is None:
                with _counting({leaf.key for leaf in leaves}, tick):
                    (total,) = dask.compute(root, optimize_graph=False)
                found: T = total
                return found
            with _under_way(client, [*leaves, root]) as futures:
                top = futures.pop()
                for future in _completed(client, futures):
                    _check(future)
                    tick(1)
                result: T = top.result()
                return result

    def _found(self, task: Callable[[Piece], T], pieces: Sequence[Piece]) -> Iterator[tuple[int, T]]:
        """Places and results, as they come."""
        import dask

        leaves, client = _leaves(task, pieces), self._client()
        with _named_errors(client):
            if client is None:
                results = dask.compute(*leaves, optimize_graph=False)
                yield from ((piece.place, found) for piece, found in zip(pieces, results, strict=True))
                return
            with _under_way(client, leaves) as futures:
                places = {future.key: piece.place for future, piece in zip(futures, pieces, strict=True)}
                for future in _completed(client, futures):
                    _check(future)
                    yield places[future.key], future.result()

    def _client(self) -> Any:
        """The client of a cluster, or None if Dask computes here."""
        if self.client is not None:
            return self.client
        from dask.base import get_scheduler

        owner = getattr(get_scheduler(), "__self__", None)
        return owner if hasattr(owner, "scheduler") and hasattr(owner, "compute") else None


@dataclass(frozen=True)
class _Added:
    """A sum of two results that leaves both as they are: a worker may need them again, if another one is lost."""

    add: Callable[[Any, Any], Any]

    def __call__(self, a: Any, b: Any) -> Any:
        return self.add(deepcopy(a), b)


def _leaves(task: Callable[[Piece], Any], pieces: Sequence[Piece]) -> list[Any]:
    """A promise for each piece; the task is a node of the graph by itself, so that it is sent once."""
    import dask

    shared = dask.delayed(_Task(task), pure=False, traverse=False, name=f"onefit-task-{uuid4().hex}")
    run = dask.delayed(_run, pure=False, traverse=False)
    # a name for every kind of task: Dask learns from it how long they take, and moves those that wait to idle workers
    leaves, name = [], f"onefit-{type(task).__name__.strip('_').lower()}-{uuid4().hex}"
    for piece in pieces:
        empty = replace(piece, fragments=tuple(map(_emptied, piece.fragments)))
        awaited = [list(_awaited(fragment)) for fragment in piece.fragments]
        # keys of one group: Dask deals such tasks evenly, and does not send all of them to where the shared task is
        leaves.append(run(shared, _Task(empty), awaited, dask_key_name=(name, piece.place)))
    return leaves


@dataclass(frozen=True)
class _Task:
    """Something that Dask is to leave as it is."""

    inner: Any


def _run(task: _Task, piece: _Task, values: Sequence[Sequence[Any]]) -> Any:
    """One piece, where it is computed; each fragment gets the values that it was waiting for."""
    empty: Piece = piece.inner
    fragments = [_filled(fragment, own) for fragment, own in zip(empty.fragments, values, strict=True)]
    return task.inner(replace(empty, fragments=tuple(fragments)))


# A fragment of a Dask collection waits for values; one that is around another holds it as ``fragment``.


def _awaited(fragment: Any) -> tuple[Any, ...]:
    """What Dask must compute before a fragment can be read."""
    if hasattr(fragment, "emptied"):
        parts: tuple[Any, ...] = fragment.parts
        return parts
    return _awaited(fragment.fragment) if hasattr(fragment, "fragment") else ()


def _emptied(fragment: Any) -> Any:
    """The fragment without its promises."""
    if hasattr(fragment, "emptied"):
        return fragment.emptied()
    return replace(fragment, fragment=_emptied(fragment.fragment)) if hasattr(fragment, "fragment") else fragment


def _filled(fragment: Any, values: Sequence[Any]) -> Fragment:
    """The fragment with values in the place of promises."""
    found: Fragment = fragment
    if hasattr(fragment, "emptied"):
        found = fragment.filled(values)
    elif hasattr(fragment, "fragment"):
        found = replace(fragment, fragment=_filled(fragment.fragment, values))
    return found


def _counting(keys: set[Any], tick: Callable[[int], None]) -> Any:
    """A context in which the pieces are counted that Dask has done in this process."""
    from dask.callbacks import Callback

    def count(key: Any, *rest: Any) -> None:
        if key in keys:
            tick(1)

    return Callback(posttask=count)


@contextmanager
def _under_way(client: Any, promises: Sequence[Any]) -> Iterator[list[Any]]:
    """Futures of a cluster, which are cancelled unless all goes well: an error, or the user, ends them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")  # coefficients of all training sets
        futures = client.compute(list(promises), optimize_graph=False)
    every = list(futures)
    try:
        yield futures
    except BaseException:
        _cancel(client, every)
        raise
    del every


def _cancel(client: Any, futures: Sequence[Any]) -> None:
    """Cancel what is under way; a cluster that is gone needs no telling."""
    try:
        if client.status == "running":
            client.cancel(list(futures))
    except (OSError, TimeoutError, RuntimeError):
        pass


def _completed(client: Any, futures: list[Any]) -> Iterator[Any]:
    """Futures as they come; nobody here holds on to one that is done, so that workers can forget it."""
    from distributed import as_completed

    waiting = as_completed(futures, loop=client.loop)
    futures.clear()
    yield from waiting


def _check(future: Any) -> None:
    """Raise what went wrong."""
    if future.status != "finished":
        future.result()


@contextmanager
def _named_errors(client: Any) -> Iterator[None]:
    """What goes wrong with a cluster, in words that say what to do."""
    try:
        yield
    except (OneFitError, KeyboardInterrupt, GeneratorExit):
        raise
    except Exception as error:
        if client is None:
            raise
        name = type(error).__name__
        if isinstance(error, ImportError) or "deserialization" in str(error):
            raise ClusterError(
                f"The Dask scheduler or a worker could not read what it was sent ({_first_line(error)}). Install the "
                "same versions of onefit, and of what the model needs, there."
            ) from error
        if name == "KilledWorker":
            raise ClusterError(
                "Dask workers died again and again at the same piece of the table, as a rule since they lack memory. "
                f"Give them more, or make the chunks smaller. ({error})"
            ) from error
        if not ("Cancelled" in name or isinstance(error, OSError | TimeoutError)):
            raise
        raise ClusterError(
            f"The Dask scheduler at {_address(client)} was lost, or closed, while it computed ({name}). "
            "Connect to a new one, Client(...), and call again; with checkpoint= finished pieces are not lost."
        ) from error


def _first_line(error: BaseException) -> str:
    """What an error says, and what its cause does."""
    cause = "" if error.__cause__ is None else f": {error.__cause__}"
    return f"{str(error).partition('.')[0]}{cause}"


def _address(client: Any) -> str:
    """Where the scheduler was."""
    return str(getattr(client.scheduler, "address", None) or "an unknown address")
