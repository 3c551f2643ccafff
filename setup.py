"""The tag of the wheel; all else stands in pyproject.toml.

With the compiled kernels it is cp311-abi3 and the platform: one file for Python 3.11 and all later ones. Without them
(there was no compiler) it is py3-none-any, which is then true.
"""

import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class TaggedWheel(bdist_wheel):
    """A wheel whose tag says what is in it."""

    def finalize_options(self) -> None:
        """Free-threaded Pythons have no stable interface, and get a tag of their own."""
        if not sysconfig.get_config_var("Py_GIL_DISABLED"):
            self.py_limited_api = "cp311"
        super().finalize_options()

    def run(self) -> None:
        """The kernels first: whether they were built decides the tag."""
        if self.distribution.has_ext_modules():
            self.run_command("build_ext")
            if not any(Path(path).exists() for path in self.get_finalized_command("build_ext").get_outputs()):
                self.distribution.ext_modules = []
                self.root_is_pure = True
        super().run()


setup(cmdclass={"bdist_wheel": TaggedWheel})
