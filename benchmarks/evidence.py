"""All that README and documentation show, measured by one command: ``python -m benchmarks --evidence``.

Every part is a command that the pages name, run in processes of its own, three times where the pages show a range. What
comes out is kept in ``benchmarks/results``, a file a part, written as soon as the part is done; pages are made from
these files (`benchmarks.pages`), so that parts can be measured at different times. Each file says what other processes
used of the machine meanwhile.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from onefit.linalg import compiled

from .measure import gemm_speed

__all__ = ["PARTS", "RESULTS", "ROOT", "Part", "gather", "read_results", "write_pages"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Part:
    """A command, how often it runs, the minutes that all of it takes on an idle core, and settings of its own.

    A part that is not ``usual`` runs only if it is asked for by name.
    """

    command: str
    runs: int
    minutes: float
    environment: tuple[tuple[str, str], ...] = ()
    usual: bool = True

    @property
    def has_records(self) -> bool:
        """Whether it gives figures; what draws pictures or writes its own page does not."""
        return not any(word in self.command for word in ("--growth", "--throughput", "-m paper"))

    def argv(self, quick: bool, records: Path, pictures: Path) -> list[str]:
        """The command for a process; quick ones draw elsewhere, as their figures mean nothing."""
        words = self.command.split()[1:]
        if quick:
            words = [str(pictures / Path(word).name) if word.endswith(".png") else word for word in words]
            words.append("--quick")
        return [sys.executable, *words, *(["--json", str(records)] if self.has_records else [])]


_BENCH = "python -m benchmarks"
_HASWELL = (("ONEFIT_KERNEL", "AVX2"), ("OPENBLAS_CORETYPE", "Haswell"))
PARTS = {
    "everyday": Part(f"{_BENCH} --everyday --seconds 0.2", 3, 2.5),
    "peers": Part(f"{_BENCH} --peers --seconds 0.2", 3, 2.2),
    "glm": Part(f"{_BENCH} --glm --seconds 0.2", 3, 1.2),
    "learners": Part(f"{_BENCH} --learners --seconds 0.2", 3, 1.0),
    "classifiers": Part(f"{_BENCH} --classifiers --seconds 0.2", 3, 0.7),
    "pipelines": Part(f"{_BENCH} --pipelines --seconds 0.2", 3, 1.0),
    "series": Part(f"{_BENCH} --series --seconds 0.2", 3, 0.7),
    "bars": Part(f"{_BENCH} --bars --seconds 0.2", 3, 2.5),
    "ratios": Part(f"{_BENCH} --ratios --seconds 0.2", 3, 1.2),
    "scale": Part(f"{_BENCH} --scale --parts abde", 1, 5.0),
    "paper": Part("python -m paper", 1, 3.5),
    "plan": Part(f"{_BENCH} --plan", 1, 2.5),
    "sparse": Part(f"{_BENCH} --sparse", 1, 1.5),
    "shapes": Part(f"{_BENCH} --shapes", 1, 6.0, usual=False),
    "growth": Part(f"{_BENCH} --growth docs/images/growth.png", 1, 2.0, usual=False),
    "throughput": Part(f"{_BENCH} --throughput docs/images/throughput.png", 1, 3.0, usual=False),
    "plan-haswell": Part(f"{_BENCH} --plan", 1, 1.0, _HASWELL, usual=False),
    "plan-off": Part(f"{_BENCH} --plan", 1, 1.5, (("ONEFIT_KERNEL", "off"),), usual=False),
    "scale-long": Part(f"{_BENCH} --scale --parts c", 1, 10.0, usual=False),
}
"""In the order in which they run: what the first screens show comes first."""


def gather(only: str = "", quick: bool = False, folder: Path | None = None) -> None:
    """Measure the parts, each into its file, and say how long it took.

    Raises
    ------
    SystemExit
        If a name is no part, or a part failed; the others were measured.
    """
    names = [name for name in only.split(",") if name] or [name for name, part in PARTS.items() if part.usual]
    if unknown := [name for name in names if name not in PARTS]:
        raise SystemExit(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    place = folder or (Path(tempfile.mkdtemp(prefix="onefit-evidence-")) if quick else RESULTS)
    place.mkdir(parents=True, exist_ok=True)
    _say(f"{len(names)} parts, about {sum(PARTS[name].minutes for name in names):.0f} minutes on an idle core: {place}")
    machine, begin, failed = _machine(), time.perf_counter(), []
    for name in names:
        start = time.perf_counter()
        try:
            _measure(name, PARTS[name], quick, place, machine)
        except subprocess.CalledProcessError as error:
            failed.append(name)
            _say(f"{name} FAILED: {(error.stderr or '').strip().splitlines()[-1:]}")
            continue
        _say(f"{name}: {time.perf_counter() - start:.0f} s")
    _say(f"all: {(time.perf_counter() - begin) / 60:.1f} minutes")
    if failed:
        raise SystemExit(f"not measured: {', '.join(failed)}")


def read_results(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """The files that there are, by part."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def write_pages() -> None:
    """Blocks of the pages anew, from all files."""
    from .pages import render

    for page, text in render(ROOT, read_results()).items():
        (ROOT / page).write_text(text, encoding="utf-8")


def _measure(name: str, part: Part, quick: bool, place: Path, machine: dict[str, Any]) -> None:
    runs, others = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(part.runs):
            records = Path(folder) / "records.json"
            busy = _busy()
            subprocess.run(
                part.argv(quick, records, Path(folder)),
                check=True,
                cwd=ROOT,
                env={**os.environ, **ONE_THREAD, **dict(part.environment)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            others.append(_share_of_others(busy, _busy()))
            if part.has_records:
                runs.append(json.loads(records.read_text(encoding="utf-8")))
    settings = " ".join(f"{key}={value}" for key, value in part.environment)
    found = {
        "command": f"{settings} {part.command}".strip(),
        "date": datetime.date.today().isoformat(),
        "others": max((share for share in others if share is not None), default=None),
        "machine": machine,
        "runs": runs,
    }
    if part.has_records:
        (place / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _machine() -> dict[str, Any]:
    with threadpool_limits(limits=1):
        gemm = gemm_speed()
    return {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "scikit-learn", "onefit")},
        "kernel": compiled.instructions() if compiled.is_on() else None,
        "gemm": round(gemm / 1e9, 1),
    }


Count = tuple[float, float, float]
"""The clock, seconds of the processor that the machine spent, and those of our processes."""


def _busy() -> Count | None:
    """What was spent up to now; None if nobody counts."""
    counts = Path("/proc/stat")
    if not counts.exists():
        return None
    user, nice, system, _, _, irq, softirq, *_ = map(int, counts.read_text().split("\n", 1)[0].split()[1:])
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    own = sum(each.ru_utime + each.ru_stime for each in usage)
    return time.perf_counter(), (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK"), own


def _share_of_others(
    before: tuple[float, float, float] | None, after: tuple[float, float, float] | None
) -> float | None:
    """Cores that processes of others had meanwhile."""
    if before is None or after is None:
        return None
    clock, all_of_it, own = (late - early for early, late in zip(before, after, strict=True))
    return round(max(0.0, all_of_it - own) / clock, 3)


def _say(text: str) -> None:
    print(f"[{datetime.datetime.now():%H:%M}] {text}", file=sys.stderr, flush=True)
