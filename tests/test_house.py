"""The house rules of CONTRIBUTING.md, kept by a test: imports go one way, files and functions stay small."""

import ast
import graphlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "onefit"
FILES = sorted(SOURCE.rglob("*.py"))
PARTS = ("benchmarks", "examples", "fuzz", "paper", "validation")
EVIDENCE = sorted(path for part in PARTS for path in (ROOT / part).rglob("*.py"))

# A module imports only from those before it; "__init__" is the package's own face.
ORDER = [
    "errors",
    "typing",
    "spare",
    "linalg",
    "vocabulary",
    "extrapolation",
    "metrics",
    "losses",
    "checks",
    "frames",
    "sources",
    "containers",
    "rowvalues",
    "copies",
    "equalrows",
    "validation",
    "dealing",
    "folds",
    "givenfolds",
    "arrangement",
    "rowplaces",
    "dropfolds",
    "rowsplitters",
    "neighbourhoods",
    "inference",
    "config",
    "criteria",
    "learners",
    "routes",
    "running",
    "display",
    "results",
    "models",
    "api",
    "datasets",
    "__init__",
    "files",
    "report",
    "cli",
    "__main__",
]
MAX_FILE_LINES = 350
MAX_BODY_LINES = 40


def module_name(path):
    """Dotted name of a source file; a package goes by its own name."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


def resolve(name):
    """Module that a dotted name reaches: its longest prefix that is a file of ours, or None."""
    parts = name.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in MODULES), None)


def imported_names(node, module, is_package):
    """Dotted names that an import statement asks for."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        parts = module.split(".")
        anchor = parts[: len(parts) - node.level + is_package]
        base = ".".join([*anchor, base] if base else anchor)
    return [f"{base}.{alias.name}" for alias in node.names]


def imports_of(path, source=None):
    """Our modules that a file imports, anywhere in it: inside functions and under TYPE_CHECKING too."""
    module, is_package = module_name(path), path.name == "__init__.py"
    tree = ast.parse(path.read_text(encoding="utf-8") if source is None else source)
    names = (name for node in ast.walk(tree) for name in imported_names(node, module, is_package))
    return {target for target in map(resolve, names) if target is not None and target != module}


def part(module):
    """Entry of ORDER that a module belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def uphill(path, source=None):
    """Imports of a file that go against ORDER."""
    here = part(module_name(path))
    return {t for t in imports_of(path, source) if part(t) != here and ORDER.index(part(t)) > ORDER.index(here)}


def body_lines(function):
    """Lines of a function's body, its docstring not counted."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_every_module_has_its_place_in_the_order():
    assert {part(module) for module in MODULES} <= set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_imports_go_one_way(path):
    assert uphill(path) == set()


def test_no_import_cycle():
    graph = {module: imports_of(path) for module, path in MODULES.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle


@pytest.mark.parametrize(
    "source",
    [
        "import onefit.cli",
        "from onefit import cli",
        "from onefit.cli import main",
        "from . import cli",
        "from .cli import main",
        "def f():\n    from onefit.cli import main",
        "import onefit",
    ],
)
def test_the_check_sees_every_form_of_import(source):
    assert uphill(SOURCE / "display.py", source) <= {"onefit.cli", "onefit"}
    assert uphill(SOURCE / "display.py", source) != set()


@pytest.mark.parametrize("path", FILES + EVIDENCE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_functions_stay_small(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_FILE_LINES
    functions = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    assert [f"{f.name}: {body_lines(f)} lines" for f in functions if body_lines(f) > MAX_BODY_LINES] == []


def test_import_leaves_optional_libraries_alone():
    optional = {"matplotlib", "plotly", "dask", "typer"}
    code = "import sys, onefit; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert optional.isdisjoint(run.stdout.split())


def test_python_floor_is_the_one_that_ruff_and_mypy_check():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["requires-python"] == ">=3.11"
    assert settings["tool"]["ruff"]["target-version"] == "py311"
    assert settings["tool"]["mypy"]["python_version"] == "3.11"


def test_files_of_tests_have_names_of_their_own():
    """Pytest imports them by name, so two of one name end the whole run."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(set(names)) == sorted(names)
