"""What was asked, in the words of whoever asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """What was asked; everything that is left empty is left out of the report.

    Attributes
    ----------
    title : str
        Heading of the report.
    data : str
        Where the rows come from, such as a file name.
    n_rows, n_columns : int
        Size of the table; 0 rows means as many as the result has.
    target : str
        What is predicted; it labels the observed values.
    model : str
        The model in a few words.
    details : dict
        More lines of "what was asked": name and value.
    command : str
        The command line that wrote the report.
    python : str
        A script that repeats it; a call of the library, if empty.
    notes : tuple of str
        What the reader should know of the data, such as columns left out.
    seed : int or None
        Seed of the random partitions.
    chosen : str
        The rule whose value of an error curve is to be used ("min", "one_se", "gcv", "loo", "reml" or "kfold"), or a
        sentence on how the penalty is chosen. Empty is "min".

    Examples
    --------
    >>> from onefit.report import Request
    >>> request = Request(data="houses.csv", n_rows=506, n_columns=13, target="price", model="ridge regression")
    >>> request.title
    'How well will this model predict?'
    """

    title: str = "How well will this model predict?"
    data: str = ""
    n_rows: int = 0
    n_columns: int = 0
    target: str = ""
    model: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    python: str = ""
    notes: tuple[str, ...] = ()
    seed: int | None = None
    chosen: str = ""
