"""What the checks of the page have in common: looking at it, starting it anew, and what its server has."""
import json
import os

VISIBLE = "(e => e && e.checkVisibility() && e.getBoundingClientRect().width > 0)"
HITS = "document.querySelectorAll('#hits .hit').length"
OPEN = "document.querySelector('#document').open"
# The pixels of the map, from a copy: reading the canvas itself would make the browser draw it in another way.
PIXELS = """(() => {
  const canvas = document.querySelector('#map-canvas'), copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext('2d', { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  return context.getImageData(0, 0, canvas.width, canvas.height);
})()"""
# Those that are neither paper nor lines: colored ones.
PAINTED = """(() => {
  const { data } = """ + PIXELS + """;
  let n = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 100 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 50) n++;
  return n;
})()"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def that(true, what):
    if not true:
        raise AssertionError(what)


class Checks:
    """What all checks have: a page, the address of a server, and what its index has."""

    def __init__(self, page, base, pictures, key=None):
        self.page, self.base, self.pictures, self.key = page, base, pictures, key
        page.size(1360, 900)
        page.open(base)
        # A tab that has been given the key keeps it.
        if key and page.evaluate("sessionStorage.getItem('calque-key') === null"):
            self.give_key(key)
        page.until("document.querySelector('#about').textContent !== ''", "what the server has, below")
        self.info = self.ask("api/info")
        that(self.info["index"] and self.info["index"]["passages"] > 0, "the index has passages")
        points = self.ask("api/map?n=200")["points"]
        that(points, "the map has points")
        self.points = points
        self.sentence = next(p["label"] for p in points if len(p.get("label") or "") > 8).rstrip("…")

    def ask(self, path):
        """What the server itself answers, asked from the page."""
        return self.page.evaluate(f"fetch({json.dumps(path)}, {json.dumps({'headers': self.headers()})}).then(r => r.json())")

    def headers(self):
        return {"Authorization": "Bearer " + self.key} if self.key else {}

    def give_key(self, key):
        """A wrong key is refused with a word about it; the right one lasts as long as the tab."""
        page = self.page
        page.until("document.querySelector('#key')?.open", "the page asks for a key")
        page.type("not " + key)
        page.press("Enter")
        page.until("document.querySelector('#key').open && !document.querySelector('#key-error').hidden", "a wrong key is refused")
        self.picture("key")
        page.type(key)
        page.press("Enter")

    def picture(self, name):
        self.page.screenshot(self.pictures and os.path.join(self.pictures, name + ".png"))

    def text(self, selector):
        return self.page.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def start(self, query="", dark=False, width=1360, height=900, phone=False):
        self.page.size(width, height, 2 if phone else 1, phone)
        self.page.prefer(color_scheme="dark" if dark else "light", reduced_motion="reduce")
        self.page.open("about:blank")
        self.page.open(self.base + query)
        self.page.until("document.querySelector('#about').textContent !== ''", "the page has started")
