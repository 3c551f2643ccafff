"""Random problems against exact refits: ``python -m fuzz --minutes 5``.

A case is one integer: it decides the model, the data with their awkward columns, scales, weights and folds, and the
route. Its figures are held to refits in ball arithmetic on every training set, and the verdict is one of

agreed
    all figures within 1e-7 of the largest of their table;
sensitive
    farther, but by no more than 10,000 times what a change of X, y and the weights in the last bit does to the exact
    figures;
refused rightly, refused wrongly
    an error of onefit; rightly if a training set does not determine the fit, if a change in the last bit moves the
    figures by more than 1e-10, or if numbers are too large or small to be squared twice in double precision, the sizes
    of columns differ by more than 1e30, or penalties are outside of 1e-100 to 1e100;
wrong
    a number that is none of these, a number for an ill-posed problem, or other bits with two threads;
leaked
    a warning or an exception that is not onefit's own;
crashed
    the process died, or hung.

Where refits by scikit-learn were asked for, or are what onefit falls back on, a loop of them is the measure instead.

``--case 12345`` does one case again and prints what it is. The exit status is 1 if any case is wrong, leaked, crashed
or refused wrongly.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time

from .explain import explain
from .problems import FAMILIES, KINDS
from .run import Outcome, run, seeds
from .table import counts, line, not_fine


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="which cases: those from SEED times a million on")
    parser.add_argument("--minutes", type=float, help="how long to go on; 1 unless the number of cases is given")
    parser.add_argument("--cases", type=int, help="how many cases")
    parser.add_argument("--only", choices=sorted([*KINDS, *FAMILIES, "families"]), help="one kind, or all families")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--crashes-only", action="store_true", help="exit with 1 for crashes alone")
    parser.add_argument("--case", type=int, help="one case again, with all that is known of it")
    options = parser.parse_args()
    if options.case is not None:
        described, text, is_bad = explain(options.case)
        print(json.dumps(described, indent=1), text, sep="\n")
        return int(is_bad)
    outcomes: list[Outcome] = []
    start = last = time.monotonic()

    def report(outcome: Outcome) -> None:
        nonlocal last
        outcomes.append(outcome)
        if outcome.verdict.is_bad:
            print(line(outcome), file=sys.stderr, flush=True)
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print(f"{len(outcomes)} cases in {last - start:.0f} s", file=sys.stderr, flush=True)

    minutes = options.minutes or (math.inf if options.cases else 1.0)
    run(seeds(options.seed, options.cases, options.only), 60 * minutes, options.jobs, report)
    bad = not_fine(outcomes)
    print("\n".join([counts(outcomes), *bad]))
    crashed = any(outcome.verdict.name == "crashed" for outcome in outcomes)
    return int(crashed if options.crashes_only else bool(bad))


if __name__ == "__main__":
    sys.exit(main())
