"""The compiled kernels under the address and undefined behaviour sanitizers: ``python -m fuzz.sanitize``.

The package is copied to a temporary directory and its kernel built there with ``-fsanitize=address,undefined``; nothing
that is installed changes. Then, for every instruction set that the machine has, the tests of the kernels and a short
fuzz run with it. The first report of a sanitizer ends the process, and so the run. Needs gcc and its libasan.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNEL = Path("onefit/linalg/_kernel.abi3.so")
INSTRUCTIONS = ("baseline", "AVX2", "AVX-512")
TESTS = sorted(path.as_posix() for path in (ROOT / "tests" / "linalg").glob("test_kernel_*.py"))
TESTS += [(ROOT / "tests" / "routes" / name).as_posix() for name in ("test_newton.py", "test_newton_batch.py")]
WHICH = "from onefit.linalg import compiled; print(compiled._kernel.__file__); print(compiled.instructions())"


def build(directory: Path) -> None:
    """A copy of the package with a sanitized kernel."""
    shutil.copytree(ROOT / "src" / "onefit", directory / "onefit", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (module,) = settings["tool"]["setuptools"]["ext-modules"]
    flags = [flag for flag in module["extra-compile-args"] if flag != "-O3"]
    command = ["gcc", "-O1", "-g", "-fPIC", "-shared", "-Wall", "-Wextra", *flags]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
    command += [f"-I{sysconfig.get_paths()['include']}", *(str(ROOT / source) for source in module["sources"])]
    subprocess.run([*command, "-lm", "-o", str(directory / KERNEL)], check=True)


def environment(directory: Path, instructions: str) -> dict[str, str]:
    """What a process needs that loads the sanitized kernel."""
    libasan = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    return os.environ | {
        "LD_PRELOAD": libasan.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",  # the interpreter itself leaks by design
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "PYTHONMALLOC": "malloc",  # else the arrays lie in Python's own pools, which the sanitizer cannot see into
        "PYTHONPATH": os.pathsep.join([str(directory), str(ROOT)]),
        "ONEFIT_KERNEL": instructions,
        "OPENBLAS_NUM_THREADS": "1",
    }


def is_there(directory: Path, instructions: str) -> bool:
    """Whether the machine has an instruction set; raises if another kernel than the sanitized one is loaded."""
    run = subprocess.run(
        [sys.executable, "-c", WHICH],
        env=environment(directory, instructions),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    path, used = run.stdout.splitlines()
    if Path(path) != directory / KERNEL:
        raise RuntimeError("another kernel than the sanitized one is loaded")
    return used == instructions


def main() -> int:
    """Build, then run everything; the number of commands that failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.sanitize", description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=300, help="cases of the fuzz run for each instruction set")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name).resolve()
        build(directory)
        failed = []
        for instructions in INSTRUCTIONS:
            if not is_there(directory, instructions):
                print(f"{instructions}: not on this machine", flush=True)
                continue
            commands = {
                "tests of the kernels": ["-m", "pytest", "-p", "no:cacheprovider", *TESTS],
                "fuzz run": ["-m", "fuzz", "--cases", str(options.cases), "--crashes-only"],
            }
            for what, arguments in commands.items():
                run = subprocess.run([sys.executable, *arguments], env=environment(directory, instructions), cwd=ROOT)
                print(f"{instructions}: {what} {'fine' if run.returncode == 0 else 'FAILED'}", flush=True)
                failed += [what] if run.returncode else []
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main())
