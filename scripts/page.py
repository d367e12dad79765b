#!/usr/bin/env python3
"""Takes the picture of a report's page that the README shows, with a real browser.

scripts/page.py report.html docs/report.png      (with Playwright and Debian's chromium-headless-shell)
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium-headless-shell"
WIDTH, HEIGHT = 1180, 1330


def main() -> None:
    """The head of the page as it opens, in the light scheme."""
    page, picture = (Path(name).resolve() for name in sys.argv[1:3])
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        view.goto(page.as_uri())
        view.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
