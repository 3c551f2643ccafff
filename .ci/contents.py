"""What an sdist and a wheel must hold: ``python .ci/contents.py SDIST WHEEL``.

The sdist has every file that git has, but for those that are of use to git alone, so its tests find what they read. The
wheel has the package, the kernels if they were built, and a tag that says so.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

OF_GIT = {".gitignore"}


def missing_in_sdist(path):
    """Files that git has and the sdist has not; nothing if this is no git repository."""
    with tarfile.open(path) as archive:
        there = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True)
    return sorted(set(listed.stdout.split("\n")) - there - OF_GIT - {""})


def wrong_in_wheel(path):
    """What is not as it should be in a wheel."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    compiled = [name for name in names if name.startswith("onefit/linalg/_kernel")]
    wrong = [name for name in names if not name.startswith(("onefit/", "onefit-")) or name.endswith((".c", ".h"))]
    if compiled and "-cp311-abi3-" not in path.name:
        wrong.append(f"the tag of {path.name}, which has the kernels: it is not cp311-abi3")
    if not compiled and not path.name.endswith("-py3-none-any.whl"):
        wrong.append(f"the tag of {path.name}, which has no kernels: it is not py3-none-any")
    return wrong + [
        f"no {name}" for name in ("onefit/py.typed", "onefit/report/templates/report.html") if name not in names
    ]


if __name__ == "__main__":
    found = [f"not in the sdist: {name}" for name in missing_in_sdist(sys.argv[1])]
    found += [f"in the wheel: {what}" for what in wrong_in_wheel(Path(sys.argv[2]))]
    sys.exit("\n".join(found) or 0)
