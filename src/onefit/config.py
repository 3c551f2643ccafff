"""What this installation of onefit runs on."""

from __future__ import annotations

import platform
from importlib.metadata import version

from threadpoolctl import threadpool_info

from .linalg import compiled

__all__ = ["show_config"]

LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "joblib")


def show_config() -> None:
    """Print versions, and whether the compiled kernels are used.

    Without a C compiler at installation NumPy does their work: the same numbers, more slowly. So it does if the
    environment variable ``ONEFIT_KERNEL`` is "off"; set to "baseline", "AVX2" or "AVX-512" it allows instructions up to
    those.

    Examples
    --------
    >>> import onefit
    >>> onefit.show_config()  # doctest: +ELLIPSIS
    onefit ...
    kernel: ...
    """
    print(f"onefit {version('onefit')} on Python {platform.python_version()}, {platform.machine()}")
    print(f"kernel: {_kernel()}")
    print(f"BLAS: {_blas()}")
    print(", ".join(f"{name} {version(name)}" for name in LIBRARIES))


def _kernel() -> str:
    """One line on the kernels."""
    if compiled.is_on():
        return f"compiled, {compiled.instructions()} instructions"
    if compiled.is_there():
        return "NumPy, as ONEFIT_KERNEL=off asks for"
    return "NumPy: the compiled one was not built; install a C compiler (gcc or clang) and onefit again"


def _blas() -> str:
    libraries = [each for each in threadpool_info() if each["user_api"] == "blas"]
    names = (f"{each['internal_api']} {each['version']}, {each['num_threads']} thread(s)" for each in libraries)
    return "; ".join(dict.fromkeys(names)) or "unknown"
