"""The report: one HTML file that opens anywhere, offline, and can be sent.

It holds the answer in one sentence, the interval by rule, the error curve, the comparison of models, diagnostics, how
it was computed and the Python that repeats it. jinja2 and plotly, of the extra ``cli``, are imported when
one is written.

- `write_report`: writes the file.
- `render`: the same as text.
- `Request`: what was asked, in words; everything in it is optional.
"""

from .page import render, write_report
from .request import Request

__all__ = ["Request", "render", "write_report"]
