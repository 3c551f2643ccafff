"""A process of its own that need not import everything again: a fork of the one that runs the tests.

Signals, closed pipes and full disks are as real in it as in a program that was started anew, and it is there at once.
What is about the start or the end of Python itself, or about workers, needs a true program.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress


class Forked:
    """A function that runs in a child, in a session of its own; with what `subprocess.Popen` has.

    Parameters
    ----------
    function : callable without arguments
        Its exit code is that of the child: None is 0.
    stdin, stdout, stderr : file, default=None
        None is a pipe for the last two, and nothing to read for the first; ``subprocess.PIPE`` is a pipe.
    """

    def __init__(self, function: Callable[[], int | None], *, stdin=None, stdout=None, stderr=None):
        ends = {number: os.pipe() for number, given in ((1, stdout), (2, stderr)) if given in (None, subprocess.PIPE)}
        if stdin == subprocess.PIPE:
            ends[0] = os.pipe()[::-1]  # the child has the end that is read
        given = {0: stdin, 1: stdout, 2: stderr}
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            self._be_child(function, ends, given)
        for _, theirs in ends.values():
            os.close(theirs)
        self.stdin = os.fdopen(ends[0][0], "w", encoding="utf-8") if 0 in ends else None
        self.stdout, self.stderr = (os.fdopen(ends[n][0], encoding="utf-8") if n in ends else None for n in (1, 2))

    def _be_child(self, function, ends, given):
        code = 1
        try:
            os.setsid()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number in (0, 1, 2):
                if number in ends:
                    os.close(ends[number][0])
                    os.dup2(ends[number][1], number)
                else:
                    other = given[number]
                    os.dup2(os.open(os.devnull, os.O_RDWR) if other is None else other.fileno(), number)
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode, encoding="utf-8") for n, mode in enumerate("rww"))
            warnings.resetwarnings()
            # what the tests' own libraries do at collections and with unraisable errors must not swallow a signal's
            gc.callbacks.clear()
            sys.unraisablehook = sys.__unraisablehook__
            code = _ended(function)
        finally:
            os._exit(code)

    def communicate(self, text: str | None = None, timeout: float = 60.0) -> tuple[str, str]:
        """Write, read both streams to their ends, and wait."""
        if self.stdin is not None:
            with suppress(BrokenPipeError), self.stdin:
                self.stdin.write(text or "")
        found = {}

        def read(name):
            stream = getattr(self, name)
            found[name] = "" if stream is None else stream.read()

        readers = [threading.Thread(target=read, args=(name,), daemon=True) for name in ("stdout", "stderr")]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(timeout)
        self.wait(timeout)
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        return found["stdout"], found["stderr"]

    def wait(self, timeout: float = 60.0) -> int:
        """The exit code, negative if a signal ended it."""
        end = time.monotonic() + timeout
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                self.kill()
                raise TimeoutError(f"the process runs for more than {timeout} s")
            else:
                time.sleep(0.005)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """To this process alone."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it, if it has not ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def _ended(function: Callable[[], int | None]) -> int:
    """Run the function, and end as Python does."""
    try:
        code = function()
    except SystemExit as end:
        code = end.code
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if stream is sys.stdout:
                print(f"Exception ignored: {error}", file=sys.stderr, flush=True)
                code = 120
    return code if isinstance(code, int) else 0 if code is None else 1


def command(*arguments: object, **streams) -> Forked:
    """The command line, in a child."""
    from onefit.cli import answering, app, document, main, showing  # noqa: F401  (once, here, and not in every child)

    return Forked(lambda: main([str(argument) for argument in arguments]), **streams)
