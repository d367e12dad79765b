"""What a reader sees of a page, asked of a real browser: contrast of every text, what is in sight, what is saved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = Path("/usr/bin/chromium-headless-shell")
VIEWS = [(400, "light"), (1280, "light"), (1280, "dark")]

# WCAG 2.1: relative luminance of text and of what lies under it; of a square of a map that is the square.
CONTRAST = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgba = (text) => { pen.clearRect(0, 0, 1, 1); pen.fillStyle = text; pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data]; };
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const under = (node) => { let stack = [];
    for (let n = node; n; n = n.parentElement) { const c = rgba(getComputedStyle(n).backgroundColor);
      stack.push(c); if (c[3] === 255) break; }
    let out = [255, 255, 255];
    for (const c of stack.reverse()) out = out.map((v, i) => v + (c[i] - v) * c[3] / 255);
    return out; };
  const poor = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim(), node = walk.currentNode.parentElement;
    if (!text || !node.checkVisibility() || node.closest('script, style, title, desc')) continue;
    const style = getComputedStyle(node), svg = node instanceof SVGElement;
    const square = svg && node.parentElement.closest('g')?.querySelector(':scope > rect.square:not(.none)');
    const back = square ? rgba(getComputedStyle(square).fill) : under(svg ? node.ownerSVGElement : node);
    const [a, b] = [light(rgba(svg ? style.fill : style.color)), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const named = `${node.tagName}.${node.getAttribute('class')}: ${text.slice(0, 30)}`;
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${named}`);
  }
  return [...new Set(poor)];
}"""

# Marks outside of the window, or outside of a part that has to be pushed aside to be seen.
OUT_OF_SIGHT = """() => [...document.querySelectorAll('.mark')].filter(mark => {
  const at = mark.getBoundingClientRect(), box = mark.closest('.scroll').getBoundingClientRect();
  return !at.width || at.left < Math.max(0, box.left) || at.right > Math.min(innerWidth, box.right) + 0.5;
}).map(mark => mark.parentElement.textContent)"""


@dataclass
class Seen:
    """One page in one view: whom it asked, what went wrong, and the page itself to ask more of."""

    page: Any
    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @property
    def overflow(self) -> int:
        """How many px the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def saved(self) -> tuple[str, str]:
        """(name, text) of what the button saves."""
        with self.page.expect_download() as waiting:
            self.page.get_by_role("button", name="Save the figures as CSV").click()
        return waiting.value.suggested_filename, Path(waiting.value.path()).read_text(encoding="utf-8")


@contextmanager
def browser() -> Iterator[Any]:
    assert CHROMIUM.exists(), "needs a headless Chromium (Debian: chromium-headless-shell)"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        one = p.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield one
        one.close()


@contextmanager
def seen(chromium: Any, file: Path, width: int, scheme: str) -> Iterator[Seen]:
    """The file as a page of its own, like one that was sent by mail: no server."""
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    view = Seen(page)
    page.route("**/*", lambda route: (view.asked.append(route.request.url), route.continue_()))
    page.on("dialog", lambda dialog: (view.said.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: view.said.append(str(error)))
    page.on("console", lambda message: view.said.append(message.text))
    page.goto(file.as_uri())
    yield view
    page.close()
