"""Files that are written whole or not at all, and never over another one by accident."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from .errors import OneFitError

__all__ = ["check_page_name", "check_writable", "write_whole"]

NO_PAGES = (".pdf", ".doc", ".docx", ".odt", ".rtf", ".md", ".txt", ".csv", ".xlsx", ".json", ".png", ".jpg", ".svg")
"""Ends of names of which a program would make nothing of a page in HTML."""


def check_page_name(path: str | Path) -> None:
    """Refuse a name that promises something else than a page in HTML."""
    path = Path(path)
    if path.suffix.lower() in NO_PAGES:
        raise OneFitError(
            f"A report is a page in HTML, and {path.name!r} says otherwise; name it {path.stem + '.html'!r} (a browser "
            "prints it as PDF)."
        )


def check_writable(path: str | Path, force: bool = False) -> Path:
    """Say before a long computation what would keep its result from being written.

    Parameters
    ----------
    path : str or Path
        The file that is to be written.
    force : bool, default=False
        Whether a file that is there may be replaced.

    Returns
    -------
    Path
        The same path.

    Raises
    ------
    OneFitError
        If the folder is not there or cannot be written to, if there is a file already and no ``force``, or if it is
        a pipe or a device, which a file written whole would replace.

    Examples
    --------
    >>> import tempfile
    >>> from onefit.files import check_writable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_writable(f"{folder}/report.html").name
    'report.html'
    """
    path = Path(path)
    folder = _target(path).parent
    if path.is_dir():
        raise OneFitError(f"{str(path)!r} is a folder; give the name of a file in it.")
    if not folder.is_dir():
        raise OneFitError(f"There is no folder {str(folder)!r} to write {path.name!r} to; make it first.")
    if path.exists() and not path.is_file():
        raise OneFitError(
            f"{str(path)!r} is a pipe or a device, not a file, and is not replaced; give the name of a file."
        )
    if path.exists() and not force:
        raise OneFitError(
            f"{str(path)!r} exists and is not overwritten; give another name, or force=True to overwrite it."
        )
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise OneFitError(f"{str(path)!r} cannot be written: permission denied; give another place.")
    return path


def write_whole(path: str | Path, content: str | bytes, force: bool = False) -> Path:
    """Write a file so that there is all of it or nothing, whatever happens meanwhile.

    Parameters
    ----------
    path : str or Path
        The file; a symbolic link is followed.
    content : str or bytes
        A text is written in UTF-8; what UTF-8 does not have, such as odd bytes of a file name, is escaped.
    force : bool, default=False
        Whether a file that is there is replaced.

    Returns
    -------
    Path
        The same path.

    Raises
    ------
    OneFitError
        If the file exists and ``force`` is not given, or if it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from onefit.files import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", "two words").read_text()
    'two words'
    """
    path = check_writable(path, force)
    target = _target(path)
    beside = target.with_name(f".{target.name[:80]}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:  # by name, not by tempfile: the user's umask sets the permissions
            file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        _put(beside, target, force)
    except OSError as error:
        raise OneFitError(f"{str(path)!r} cannot be written: {error.strerror or error}; give another place.") from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
    return path


def _target(path: Path) -> Path:
    """Where a path leads: what a link points to is replaced, not the link."""
    return Path(os.path.realpath(path))


def _put(beside: Path, target: Path, force: bool) -> None:
    """Give the finished file its name, in one step."""
    if not force:
        try:
            os.link(beside, target)  # unlike replace, fails if somebody else has written the file meanwhile
            return
        except FileExistsError:
            raise OneFitError(f"{str(target)!r} exists by now and is not overwritten; give another name.") from None
        except OSError:
            pass  # a file system without links
    os.replace(beside, target)
