"""The Python that repeats a command: the same file, preparation and calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .asking import Ask
from .options import STANDARD_INPUT
from .preparing import Prepared
from .recipes import Recipe

__all__ = ["Call", "write_script"]

WIDTH = 100


@dataclass(frozen=True)
class Call:
    """A call of the library: what it is given, each as Python; ``path`` is a parameter and its values."""

    function: str
    result: str
    model: str
    keywords: Mapping[str, str]
    path: tuple[str, str] | None = None
    imports: tuple[str, ...] = ()


def write_script(ask: Ask, read: str, prepared: Prepared, recipes: Sequence[Recipe], calls: Sequence[Call]) -> str:
    """A whole script."""
    body = [read, *prepared.code, ""]
    for call in calls:
        if call.function == "compare":
            body.append("models = {")
            body += [f"    {recipe.name!r}: {recipe.code}," for recipe in recipes]
            body.append("}")
        else:
            body.append(f"model = {call.model}")
        body += [_written(call), f"print({call.result})" if call.function == "error_curve" else _print(call), ""]
    text = "\n".join(body)
    imports = [line for recipe in recipes for line in recipe.imports]
    imports += [line for call in calls for line in call.imports]
    imports += _others(ask, text)
    return "\n".join([*_sorted(imports), "", text]).rstrip() + "\n"


def _print(call: Call) -> str:
    return f"print({call.result}.summary())"


def _written(call: Call) -> str:
    """The call, on several lines if it is long."""
    first = "models" if call.function == "compare" else "model"
    path = [] if call.path is None else [f"param_name={call.path[0]}", f"param_range={call.path[1]}"]
    arguments = [first, "X", "y", *path, *(f"{name}={value}" for name, value in call.keywords.items())]
    line = f"{call.result} = onefit.{call.function}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    inner = ",\n".join(f"    {argument}" for argument in arguments)
    return f"{call.result} = onefit.{call.function}(\n{inner},\n)"


def _others(ask: Ask, text: str) -> list[str]:
    """Imports of the preparation and of the calls."""
    lines = ["import pandas as pd", "import onefit"]
    if "np." in text:
        lines.append("import numpy as np")
    if ask.source.data == STANDARD_INPUT:
        lines.append("import sys")
    if ask.source.compression == ".zst":
        lines.append("import pyarrow")
    return lines


def _sorted(imports: Sequence[str]) -> list[str]:
    """Each once: the standard library, others, onefit, and last the user's own, after the path to them."""
    lines = list(dict.fromkeys(imports))
    path = [line for line in lines if line.startswith("sys.path")]
    own = lines[lines.index(path[0]) + 1 : lines.index(path[0]) + 2] if path else []
    rest = [
        line for line in lines if line not in path and line not in own and line not in ("import sys", "import onefit")
    ]
    plain = sorted(line for line in rest if line.startswith("import "))
    system = ["import sys", ""] if "import sys" in lines else []
    return [*system, *plain, *sorted(line for line in rest if line not in plain), "", "import onefit", *path, *own]
