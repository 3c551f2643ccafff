"""The warnings of a result: its findings, as far as they have a warning."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

from ..errors import FailedModelWarning
from .findings import KINDS
from .nested import NestedCVResult

__all__ = ["emit_warnings"]

_CALLER = 4  # warn -> emit_warnings -> public function -> with_hints -> its caller, whose line is shown
_OF_THE_JOB = ("interrupted", "few groups")  # said once, not for each of several models


def emit_warnings(results: Iterable[NestedCVResult], lost: Mapping[str, str] | None = None) -> None:
    """Warn of what was found, and of models that could not be fitted; to be called by a public function itself."""
    for name, reason in (lost or {}).items():
        warnings.warn(f"Model {name!r} is left out: {reason}", FailedModelWarning, stacklevel=_CALLER)
    for at, result in enumerate(results):
        for finding in result.findings:
            category = KINDS[finding.kind]
            if category is not None and (at == 0 or finding.kind not in _OF_THE_JOB):
                warnings.warn(finding.text, category, stacklevel=_CALLER)
