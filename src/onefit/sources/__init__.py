"""Where the rows of X are, and how they are read: in order and in blocks, or some of them by themselves."""

from .arrow import is_remote
from .contract import Source
from .daskparts import beside_dask, is_dask
from .local import LocalRunner, read_ahead
from .memory import MemorySource
from .scan import scan
from .streams import Block, Fragment, Keep, PassRunner, Piece, TreeSum, pieces_of
from .table import Column, Table, check_rows

__all__ = [
    "Block",
    "Column",
    "Fragment",
    "Keep",
    "LocalRunner",
    "MemorySource",
    "PassRunner",
    "Piece",
    "Source",
    "Table",
    "TreeSum",
    "beside_dask",
    "check_rows",
    "is_dask",
    "is_remote",
    "pieces_of",
    "read_ahead",
    "scan",
]
