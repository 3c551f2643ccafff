"""The report: one HTML file that opens anywhere, offline, and can be sent.

It holds the answer in one sentence, the interval by rule, the error curve, the comparison of models, diagnostics, how
it was computed and the Python that repeats it. jinja2, of the extra ``cli``, is imported when
one is written; a script of its own draws the charts.

- `write_report`: writes the file.
- `render`: the same as text.
- `Request`: what was asked, in words; everything in it is optional.
"""

from .page import render, write_report
from .request import Request

__all__ = ["Request", "render", "write_report"]
