"""The page `docs/paper.md`: text written by hand, with blocks between markers that the command writes."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["names_of", "write_blocks"]


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name}: written by python -m paper -->\n).*?(<!-- end of {name} -->)", re.DOTALL)


def names_of(page: str) -> list[str]:
    """Names of the blocks of a page, in order."""
    return re.findall(r"<!-- (\w+): written by python -m paper -->", page)


def write_blocks(page: str, blocks: Mapping[str, str]) -> str:
    """The page with these blocks; an error if it has no place for one."""
    for name, text in blocks.items():
        inside = text.replace("\\", "\\\\")  # in a replacement a backslash means something
        page, count = _pattern(name).subn(rf"\g<1>\n{inside}\n\n\g<2>", page)
        if count != 1:
            raise ValueError(f"docs/paper.md has {count} blocks named {name!r}; it needs one pair of its markers.")
    return page
