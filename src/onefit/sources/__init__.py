"""Where the rows of X are, and how they are read: in order and in blocks, or some of them by themselves."""

from .contract import Source
from .memory import MemorySource

__all__ = ["MemorySource", "Source"]
