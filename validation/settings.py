"""All settings of the study, by name."""

from __future__ import annotations

from . import benchmark, real, simulated
from .setting import Setting

__all__ = ["SETTINGS", "Setting"]

SETTINGS = {setting.name: setting for family in (simulated, real, benchmark) for setting in family.settings()}
