"""Settings of the documentation: ``sphinx-build -W --keep-going -b html docs docs/_build/html``.

The build needs no network, and neither do its pages: MathJax is copied from the package sphinx-mathjax-offline.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the examples are small: threads of the BLAS would only wait

project = "onefit"
author = "The onefit developers"
copyright = author
release = version = version_of("onefit")

extensions = [
    "myst_nb",  # the parser of the pages, and the notebooks
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext", "gallery/*.ipynb", "Thumbs.db", ".DS_Store"]
default_role = "py:obj"  # single backticks in docstrings name objects

# ---------------------------------------------------------------------------------------------- pages

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# ------------------------------------------------------------------------------------------ notebooks

nb_execution_mode = "force"  # the files hold no outputs: what a page shows is what the code gives now
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

# ------------------------------------------------------------------------------------------ reference

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
toc_object_entries_show_parents = "hide"
autosummary_generate = False  # the reference is written by group, in docs/api
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a list, for fields that share a line
napoleon_use_rtype = False
napoleon_preprocess_types = False

# ------------------------------------------------------------------------------------------- formulas


def _mathjax() -> str:
    """The one file of MathJax that draws formulas without fonts or further requests."""
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise RuntimeError("Formulas need MathJax: python -m pip install sphinx-mathjax-offline")
    return str(Path(found.origin).parent / "static" / "mathjax" / "tex-svg.js")


mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}  # its menu would ask for files that are not here

# -------------------------------------------------------------------------------------------- gallery

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "reset_argv": "gallery_settings.arguments",
    "within_subsection_order": "gallery_settings.Order",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 3600,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "reset_modules": ("matplotlib",),
    "image_srcset": ["2x"],
}

# ----------------------------------------------------------------------------------------------- look

html_theme = "pydata_sphinx_theme"
html_title = "onefit"
html_static_path = ["_static", _mathjax()]
html_css_files = ["onefit.css"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo-dark.svg", "alt_text": "onefit"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
SINGLE = (
    "index",
    "tutorial",
    "guide",
    "models",
    "glossary",
    "trust",
    "trust-details",
    "paper",
    "speed",
    "cli",
    "report",
)  # pages without a section
html_sidebars = {page: [] for page in SINGLE}
