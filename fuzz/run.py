"""Many cases: in processes of their own, so that a crash ends a case and not the run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import util
from typing import Any, Protocol

from joblib.externals.loky import get_reusable_executor

from .families.trials import draw_trial
from .families.verdict import judge_trial
from .judge import Verdict, judge
from .problems import FAMILIES, draw, kind_of

__all__ = ["Outcome", "judge_seed", "run", "seeds"]

MOST_SECONDS = 120
"""A case that takes more processor time counts as crashed."""
MOST_WAITING = 10 * MOST_SECONDS
"""And so does one that waits longer: a machine that is busy with other things is no reason yet."""
FIRST = 1_000_000
"""Cases of a run: seed S begins at S times this."""


@dataclass(frozen=True)
class Outcome:
    """A case and its verdict."""

    seed: int
    kind: str
    verdict: Verdict


def seeds(seed: int, count: int | None, only: str | None) -> Iterator[int]:
    """Numbers of the cases of a run, of one kind or of all families if asked for; without end if there is no count."""
    given, case = 0, seed * FIRST
    kinds = set(FAMILIES) if only == "families" else {only}
    while count is None or given < count:
        if only is None or kind_of(case) in kinds:
            given += 1
            yield case
        case += 1


def judge_seed(seed: int) -> Outcome:
    """The verdict on one case; one that hangs counts as crashed."""
    kind = kind_of(seed)
    worked, waited = time.process_time() + MOST_SECONDS, time.monotonic() + MOST_WAITING

    def look(signum: int, frame: Any) -> None:
        if time.process_time() >= worked or time.monotonic() >= waited:
            raise TimeoutError
        signal.alarm(MOST_SECONDS)

    before = signal.signal(signal.SIGALRM, look)
    signal.alarm(MOST_SECONDS)
    try:
        verdict = judge_trial(draw_trial(seed, kind)) if kind in FAMILIES else judge(draw(seed))
        return Outcome(seed, kind, verdict)
    except TimeoutError:
        why = f"not done in {MOST_SECONDS} seconds of processor time, or {MOST_WAITING} in all"
        return Outcome(seed, kind, Verdict("crashed", why))
    except Exception as error:
        return Outcome(seed, kind, Verdict("crashed", f"the fuzzer itself: {type(error).__name__}: {error}"))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Judge(Protocol):
    """What processes do with a case."""

    def __call__(self, seed: int) -> Outcome:
        """The verdict on a case."""


def run(
    cases: Iterator[int],
    seconds: float,
    jobs: int,
    report: Callable[[Outcome], None],
    judge_one: Judge = judge_seed,
) -> None:
    """Judge cases until they or the time are at an end; cases that have begun are judged to their end."""
    end = time.monotonic() + seconds
    while left_over := _run_until_crash(cases, end, jobs, report, judge_one):
        for seed in left_over:  # one of them ended its process: each now gets its own
            report(_alone(seed, judge_one))


def _pool(jobs: int) -> ProcessPoolExecutor:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_workers)


def _end_with_workers() -> None:
    """Let a process end its own workers, those of refits, when it ends: else it waits minutes for them to be idle."""
    util.Finalize(None, _end_workers, exitpriority=100)


def _end_workers() -> None:
    get_reusable_executor().shutdown(kill_workers=True)


def _run_until_crash(
    cases: Iterator[int], end: float, jobs: int, report: Callable[[Outcome], None], judge_one: Judge
) -> list[int]:
    """Cases that were under way when a process died; none if all went well."""
    with _pool(jobs) as pool:
        under_way: dict[Future[Outcome], int] = {}
        is_over = False
        while True:
            while not is_over and len(under_way) < 2 * jobs:
                seed = next(cases, None) if time.monotonic() < end else None
                is_over = seed is None
                if seed is not None:
                    under_way[pool.submit(judge_one, seed)] = seed
            if not under_way:
                return []
            for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                try:
                    outcome = done.result()
                except BrokenProcessPool:
                    return sorted(under_way.values())
                del under_way[done]
                report(outcome)


def _alone(seed: int, judge_one: Judge) -> Outcome:
    """A case in a process that it may end."""
    with _pool(1) as pool:
        try:
            return pool.submit(judge_one, seed).result()
        except BrokenProcessPool:
            return Outcome(seed, kind_of(seed), Verdict("crashed", "the process died"))
