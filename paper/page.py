"""Pages of the documentation: text written by hand, with blocks between markers that a command writes."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["names_of", "write_blocks"]

PAPER = "python -m paper"


def names_of(page: str, command: str = PAPER) -> list[str]:
    """Names of the blocks of a page that a command writes, in order."""
    return re.findall(rf"<!-- (\w+): written by {re.escape(command)} -->", page)


def write_blocks(page: str, blocks: Mapping[str, str], command: str = PAPER) -> str:
    """The page with these blocks; an error if it has no place for one."""
    for name, text in blocks.items():
        inside = text.replace("\\", "\\\\")  # in a replacement a backslash means something
        marker = rf"(<!-- {name}: written by {re.escape(command)} -->\n).*?(<!-- end of {name} -->)"
        page, count = re.subn(marker, rf"\g<1>\n{inside}\n\n\g<2>", page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"The page has {count} blocks named {name!r}; it needs one pair of its markers.")
    return page
