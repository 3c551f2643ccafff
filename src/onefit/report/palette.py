"""Colours of the report, light and dark: those of the library's plots, and lighter ones of the same hue on dark."""

from __future__ import annotations

from ..display.style import CHOSEN, GRID, OTHER, SELECTED, SHADE

__all__ = ["PALETTES"]

LIGHT = {
    "page": "#ffffff",
    "card": "#f5f7f9",
    "text": "#1a1f24",
    "muted": "#57606a",
    "line": "#d5dae0",
    "chosen": CHOSEN,
    "other": OTHER,
    "grid": GRID,
    "shade": SHADE,
    "good": "#00694f",
    "look": "#9a3e00",
    **{f"selected-{place}": color for place, (color, _) in enumerate(SELECTED)},
}

DARK = {
    "page": "#12161b",
    "card": "#1b2127",
    "text": "#e7eaed",
    "muted": "#a5aeb8",
    "line": "#353e48",
    "chosen": "#5ab4ea",
    "other": "#a9b1ba",
    "grid": "#2b333b",
    "shade": "#3a3420",
    "good": "#55c8a5",
    "look": "#f5a06b",
    "selected-0": "#f5a06b",
    "selected-1": "#55c8a5",
    "selected-2": "#dd9fc6",
    "selected-3": "#d4d8dc",
    "selected-4": "#dcb556",
    "selected-5": "#a3b0f2",
}

PALETTES = {"light": LIGHT, "dark": DARK}
"""The template writes them as CSS variables; charts name them in their colours as "@name" or "@name/opacity"."""
