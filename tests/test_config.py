"""The environment chooses the kernels when the package is loaded: processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from onefit.linalg import compiled

pytestmark = pytest.mark.skipif(not compiled.is_there(), reason="the compiled kernels were not built")


@pytest.mark.parametrize(("setting", "expected"), [("off", "NumPy, as"), ("baseline", "compiled, baseline")])
def test_the_environment_chooses_and_show_config_says_so(setting, expected):
    code = "import onefit; onefit.show_config()"
    environment = {**os.environ, "ONEFIT_KERNEL": setting}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert f"kernel: {expected}" in run.stdout


def test_an_unknown_setting_is_refused():
    code = "import onefit; onefit.nested_cv"
    environment = {**os.environ, "ONEFIT_KERNEL": "AVX512"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert run.returncode != 0
    assert "ONEFIT_KERNEL is 'AVX512'; it may be on, off, baseline, AVX2, AVX-512" in run.stderr
