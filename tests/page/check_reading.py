"""Who reads the page and how: narrow screens, weak eyes, screen readers, scripts from right to left."""
from urllib.parse import quote

from checks import HITS, OPEN, OVERFLOW, PAINTED, Checks, that

VIEWS = {"search": HITS, "map": PAINTED + " > 100", "compare": "document.querySelector('#matrix td.best')", "add": "true"}
CONTROLS = {"button", "link", "textbox", "searchbox", "radio", "checkbox", "application", "dialog", "combobox", "progressbar",
            "DisclosureTriangle", "textField", "region", "img"}

# Texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, 1.4.3), as computed from the styles.
FAINT = """(() => {
  const probe = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const known = new Map();
  const rgba = (color) => {
    if (!known.has(color)) {
      probe.clearRect(0, 0, 1, 1);
      probe.fillStyle = color;
      probe.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data;
      known.set(color, [r, g, b, a / 255]);
    }
    return known.get(color);
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const v = c[i] / 255;
    return sum + weight * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  }, 0);
  const behind = (e) => {
    const own = e ? rgba(getComputedStyle(e).backgroundColor) : [255, 255, 255, 1];
    return own[3] >= 1 ? own : over(own, behind(e.parentElement));
  };
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
    if (!text || !e.checkVisibility({ opacityProperty: true }) || e.closest('.unseen, .skip, :disabled, noscript, script')) continue;
    let opacity = 1;
    for (let up = e; up; up = up.parentElement) opacity *= Number(getComputedStyle(up).opacity);
    if (opacity < 0.05) continue;
    const under = behind(e), ink = rgba(getComputedStyle(e).color);
    const seen = over([...ink.slice(0, 3), ink[3] * opacity], under);
    const [a, b] = [light(seen), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.add(`${ratio.toFixed(2)} ${e.tagName}.${e.className} ${text.slice(0, 30)}`);
  }
  return [...found];
})()"""


class Reading(Checks):
    def views(self, **how):
        for view, ready in VIEWS.items():
            self.start(f"?view={view}" + ("&q=" + quote(self.sentence) if view == "search" else ""), **how)
            self.page.until(ready, view)
            yield view

    def open_document(self):
        self.page.evaluate("document.querySelector('#hits h2 a').click()")
        self.page.until(OPEN + " && document.querySelector('#document .text')", "the document")

    def check_narrow(self):
        """No view scrolls sideways on a small phone."""
        page = self.page

        def fits(name):
            for width in (320, 360):
                page.size(width, 700, 2, True)
                that(page.evaluate(OVERFLOW) <= 0, f"{name} is no wider than {width} pixels")
                self.picture(f"{name}-{width}")

        for view in self.views(width=320, height=700, phone=True):
            if view == "compare":
                page.evaluate("document.querySelector('#box-a').focus(); document.querySelector('#box-a').select()")
                page.type("Rindfleischetikettierungsüberwachung" * 5)
                page.until("document.querySelectorAll('#matrix tbody tr').length === 1", "a new matrix")
            if view == "search":
                page.evaluate("document.querySelector('#filter-toggle').click()")
            fits(view)
            if view == "search":
                self.open_document()
                fits("document")
                inside = page.evaluate("(b => b.scrollWidth - b.clientWidth)(document.querySelector('#document-body'))")
                that(inside <= 0, f"the panel scrolls sideways by {inside}")

    def check_contrast(self):
        page = self.page

        def is_strong(name):
            for scheme in ("light", "dark"):
                page.prefer(color_scheme=scheme, reduced_motion="reduce")
                faint = page.evaluate(FAINT)
                that(not faint, f"{name}, {scheme}: {faint}")

        for view in self.views():
            if view == "search":
                page.evaluate("document.querySelector('[name=mode][value=hybrid]').click()")
                page.until("document.querySelector('.reason')", "hits of both rankings")
                page.evaluate("document.querySelector('#languages .chip')?.click()")
                page.evaluate("document.querySelector('#how').open = true")
                page.until("!document.querySelector('#hits[aria-busy]')", "hits in one language")
            is_strong(view)
            if view == "search":
                self.open_document()
                is_strong("document")

    def tree(self):
        nodes = self.page.send("Accessibility.getFullAXTree")["nodes"]
        return [(node.get("role", {}).get("value"), node.get("name", {}).get("value", ""), node) for node in nodes if not node.get("ignored")]

    def check_names(self):
        """Every control has a name that a screen reader can say; what changes is said."""
        self.page.send("Accessibility.enable")
        for view in self.views():
            tree = self.tree()
            nameless = [(role, node.get("properties")) for role, name, node in tree if role in CONTROLS and not name.strip()]
            that(not nameless, f"{view}: without a name: {nameless}")
            that(sum(role == "main" for role, _, _ in tree) == 1, f"{view}: one main part")
            if view == "search":
                said = self.text("#status")
                that(any(char.isdigit() for char in said), f"the number of hits: {said}")
                live = [node for role, _, node in tree if role == "status" and
                        any(p["name"] == "live" and p["value"]["value"] == "polite" for p in node.get("properties", []))]
                that(live and any(name == said for role, name, _ in tree if role == "StaticText"), "the number of hits is said")
                that(any(role == "heading" for role, _, _ in tree), "hits are headings")
        self.start("?q=" + quote(self.sentence))
        self.page.until(HITS, "hits")
        self.open_document()
        tree = self.tree()
        that(not [role for role, name, _ in tree if role in CONTROLS and not name.strip()], "the document: all have names")
        that(any(role == "dialog" and name == self.text("#document-title") for role, name, _ in tree), "the panel is named by its title")
        self.page.send("Accessibility.disable")

    def check_right_to_left(self):
        page = self.page
        codes = [code for code in ("ar", "he", "fa", "ur") if code in self.info["index"]["languages"]]
        if not codes:
            print("    skipped: no document is written from right to left")
        for code in codes:
            self.start(f"?lang={code}&q=" + quote(self.sentence), width=360, height=800, phone=True)
            page.until(HITS, "hits")
            for width in (360, 1280):
                page.size(width, 800, 1 if width > 500 else 2, width < 500)
                wrong = page.evaluate("""[...document.querySelectorAll('#hits h2 a, #hits .snippet')].filter(e =>
                  e.dir !== 'auto' || getComputedStyle(e).direction !== 'rtl').map(e => e.outerHTML)""")
                that(not wrong, f"hits in {code} run from right to left: {wrong}")
                # The number stays at the left of all hits, the text reaches the right of its column.
                out = page.evaluate("""[...document.querySelectorAll('#hits .hit')].filter(hit => {
                  const range = document.createRange(), text = hit.querySelector('.hit-text').getBoundingClientRect();
                  range.selectNodeContents(hit.querySelector('h2 a'));
                  const title = range.getBoundingClientRect(), rank = hit.querySelector('.rank').getBoundingClientRect();
                  return Math.abs(title.right - text.right) > 4 || rank.right > text.left + 1;
                }).length""")
                that(out == 0, f"{out} hits in {code} are out of place")
                seen = page.evaluate("(b => b.left >= 0 && b.right <= innerWidth)(document.querySelector('#languages [aria-pressed=true]').getBoundingClientRect())")
                that(seen, "the chosen language is in view")
                that(page.evaluate(OVERFLOW) <= 0, f"hits in {code} are no wider than {width} pixels")
                self.picture(f"rtl-{code}-{width}")
            self.open_document()
            that(page.evaluate("getComputedStyle(document.querySelector('#document .text')).direction") == "rtl", "its text, too")
            self.picture(f"rtl-{code}-document")
        # A browser or an extension may turn the whole page.
        for view in self.views(width=360, height=800, phone=True):
            page.evaluate("document.documentElement.dir = 'rtl'")
            that(page.evaluate(OVERFLOW) <= 0, f"{view}, turned, is no wider than a phone")
            self.picture(f"turned-{view}")
