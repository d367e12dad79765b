"""Reports as self-contained HTML files: no network loads, no script needed to read them."""
