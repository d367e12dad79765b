"""Sphinx: the pages of this folder and of the public interface. `make docs` builds them; a warning fails."""

from __future__ import annotations

from strata import __version__
from strata.app.options import Options

project = "Strata"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_title = f"Strata {__version__}"
html_theme_options = {"fixed_sidebar": True, "page_width": "72rem", "sidebar_width": "16rem"}
html_copy_source = False

# In docstrings a single backquote marks code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": True, "exclude-members": "model_config, schema_version"}
python_maximum_signature_line_length = 100

myst_heading_anchors = 4
# Some pages link to files that are not in this folder. That a link leads somewhere is asked by tests/tidy.
suppress_warnings = ["myst.xref_missing"]

# Values are built on first use, and only then have a signature with their defaults.
Options.model_rebuild()
