"""What hands do: keys alone, the mouse and two fingers on the map, files dropped in, the line for a shell copied."""
import json
import os
import shutil
import subprocess
import tempfile
from urllib.parse import quote

from checks import HITS, OPEN, PAINTED, VISIBLE, Checks, that

# What has the focus, and whether that can be seen: an outline or a shadow, its own or that of what stands for it.
FOCUS = """(() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const shown = (x) => x && (s => (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0) || s.boxShadow !== 'none')(getComputedStyle(x));
  const box = (e.closest('label') ?? e).getBoundingClientRect();
  return { name: e.id || e.className.split(' ')[0] || e.dataset.view || e.dataset.zoom || e.tagName,
           tag: e.tagName, text: (e.getAttribute('aria-label') || e.textContent || '').trim().slice(0, 40),
           seen: Boolean(shown(e) || shown(e.nextElementSibling) || shown(e.closest('.field, .drop, .hit'))),
           inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
           inDialog: Boolean(e.closest('dialog')) };
})()"""
TIP = "(document.querySelector('#map-tip').hidden ? null : document.querySelector('#map-tip p')?.textContent)"


class Hands(Checks):
    def to_the_top(self):
        """Where Tab begins on a page that has just been opened: a blur would leave it where the focus was."""
        self.page.evaluate("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")

    def tab_through(self, limit=90):
        """What Tab comes to, until it leaves the page."""
        found = []
        self.to_the_top()
        for _ in range(limit):
            self.page.press("Tab")
            focus = self.page.evaluate(FOCUS)
            if focus is None or (found and focus == found[0] and len(found) > 3):
                break
            found.append(focus)
        return found

    def check_keys_alone(self):
        chips = ["chip"] if len(self.info["index"]["languages"]) > 1 else []
        for query, wanted in (("", ["skip", "brand", "search", "map", "compare", "theme", "q", "INPUT", "filter-toggle", *chips]),
                              ("?q=" + quote(self.sentence), ["q", "A", "quiet", "more", "CODE", "map-canvas", "in", "out", "reset"]),
                              ("?view=map", ["map-canvas", "in", "out", "reset", "SUMMARY", "CODE"]),
                              ("?view=compare", ["chip", "box-a", "box-b", "matrix", "CODE"]),
                              ("?view=add", ["files", "note-title", "note-text", "button"] if self.info["writable"] else [])):
            self.start(query)
            if "q=" in query:
                self.page.until(HITS, "hits")
            if "compare" in query:
                self.page.until("document.querySelector('#matrix td.best')", "the matrix")
            found = self.tab_through()
            names = [focus["name"] for focus in found]
            for focus in found:
                that(focus["seen"], f"the focus is seen at {focus}")
                that(focus["inside"], f"what has the focus is in view: {focus}")
            at = 0
            for name in wanted:
                that(name in names[at:], f"Tab comes to {name} after {names[:at]}: {names[at:]}")
                at = names.index(name, at) + 1

    def check_skip_link_and_panel(self):
        page = self.page
        self.start("?q=" + quote(self.sentence))
        page.until(HITS, "hits")
        self.to_the_top()
        page.press("Tab")
        page.press("Enter")
        that(page.evaluate("document.activeElement.id") == "main", "the first link skips to the content")
        page.evaluate("document.querySelector('#hits h2 a').focus()")
        page.press("Enter")
        page.until(OPEN, "Enter opens the document")
        page.until("document.querySelector('#document .text')", "its text")
        for _ in range(12):
            page.press("Tab")
            focus = page.evaluate(FOCUS)
            that(focus is None or focus["inDialog"], f"Tab stays in the panel: {focus}")
        before = self.text("#document-place")
        page.evaluate("document.querySelector('#document-next').focus()")
        page.press("Enter")
        page.until(f"document.querySelector('#document-place').textContent !== {json.dumps(before)}", "the next hit")
        page.press("Escape")
        page.until(f"!{OPEN}", "Escape closes the panel")
        # The segments are radio buttons: arrows choose.
        page.evaluate("document.querySelector('[name=mode]:checked').focus()")
        page.press("ArrowRight")
        page.until("location.search.includes('mode=dense')", "an arrow chooses the ranking")

    # ---- the map ----

    def open_map(self, phone=False):
        """Shows the map; answers where points lie on screen, best separated ones first."""
        page = self.page
        self.start("?view=map", width=420 if phone else 1200, height=860, phone=phone)
        page.until(PAINTED + " > 100", "points on the map")
        points = self.ask(f"api/map?n={min(20000, max(1, self.info['index']['passages']))}")["points"]
        page.evaluate("scrollTo(0, document.querySelector('#map-canvas').getBoundingClientRect().top - 20)")
        left, top, width, height = page.evaluate("(b => [b.left, b.top, b.width, b.height])(document.querySelector('#map-canvas').getBoundingClientRect())")
        xs, ys = [p["x"] for p in points], [p["y"] for p in points]
        span = max(0.02, max(xs) - min(xs)), max(0.02, max(ys) - min(ys))
        middle = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
        scale = 0.88 * min(width / span[0], height / span[1])
        places = [((x - middle[0]) * scale + width / 2 + left, (middle[1] - y) * scale + height / 2 + top) for x, y in zip(xs, ys)]
        def room(i):
            return min([(places[i][0] - x) ** 2 + (places[i][1] - y) ** 2 for j, (x, y) in enumerate(places) if j != i], default=1e9)
        inner = [i for i, (x, y) in enumerate(places) if left + 150 < x < left + width - 150 and top + 130 < y < top + height - 130] \
            if not phone else list(range(len(points)))
        inner = sorted(inner[:1500], key=room, reverse=True)
        return [(points[i].get("label") or points[i]["id"], places[i]) for i in inner]

    def hovers(self, place, label, what):
        self.page.mouse("mouseMoved", 2, 2)
        self.page.mouse("mouseMoved", *place)
        self.page.until(f"{TIP} === {json.dumps(label)}", f"{what}: a label with {label!r}, not {self.page.evaluate(TIP)!r}", 3)

    def check_map_with_the_mouse(self):
        page = self.page
        points = self.open_map()
        for label, place in points[:5]:
            self.hovers(place, label, "hover")
        label, (x, y) = points[0]
        for _ in range(5):
            page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
        self.hovers((x, y), label, "the wheel zooms around the mouse")
        page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for step in range(1, 6):
            page.mouse("mouseMoved", x - 24 * step, y + 18 * step, button="left", buttons=1)
        page.mouse("mouseReleased", x - 120, y + 90, button="left", clickCount=1)
        that(not page.evaluate(OPEN), "a drag opens nothing")
        self.hovers((x - 120, y + 90), label, "the map follows the drag")
        page.mouse("mousePressed", x - 120, y + 90, button="left", buttons=1, clickCount=1)
        page.mouse("mouseReleased", x - 120, y + 90, button="left", clickCount=1)
        page.until(OPEN, "a click opens the document")
        page.until(f"document.querySelector('#document .text')?.textContent.includes({json.dumps(label.rstrip('…')[:30])})", "the right one")
        page.press("Escape")

    def check_map_with_two_fingers(self):
        page = self.page
        page.send("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
        try:
            points = self.open_map(phone=True)
            box = page.evaluate("(b => [b.left + b.width / 2, b.top + b.height / 2])(document.querySelector('#map-canvas').getBoundingClientRect())")
            # The point whose place after the gesture, three times as far from the middle, is still on the map.
            label, (x, y) = next((l, (x, y)) for l, (x, y) in points if abs(x - box[0]) < 45 and abs(y - box[1]) < 60)
            before = page.evaluate("[scrollY, visualViewport.scale]")
            page.touch("touchStart", (box[0] - 20, box[1]), (box[0] + 20, box[1]))
            for apart in range(25, 61, 5):
                page.touch("touchMove", (box[0] - apart, box[1]), (box[0] + apart, box[1]))
            page.touch("touchEnd")
            that(page.evaluate("[scrollY, visualViewport.scale]") == before, "two fingers move the map and not the page")
            that(not page.evaluate(OPEN), "two fingers open nothing")
        finally:
            page.send("Emulation.setTouchEmulationEnabled", enabled=False)
        self.hovers((box[0] + 3 * (x - box[0]), box[1] + 3 * (y - box[1])), label, "the pinch zooms by three")

    # ---- files ----

    def upload_texts(self):
        """Keeps all that the rows of uploads ever say, which is too quick to be looked at."""
        self.page.evaluate("""window.said = []; new MutationObserver(() => {
          for (const e of document.querySelectorAll('#uploads li span')) if (!said.includes(e.textContent)) said.push(e.textContent);
        }).observe(document.querySelector('#uploads'), { subtree: true, childList: true, characterData: true })""")

    def drop(self, *files):
        for what in ("dragEnter", "dragOver", "drop"):
            self.page.drag_files(what, 300, 300, list(files))

    def check_dropped_files(self):
        page = self.page
        if not self.info["writable"]:
            print("    skipped: the server is not writable")
            return None
        folder = tempfile.mkdtemp(prefix="calque-page-")
        try:
            def write(name, data):
                with open(os.path.join(folder, name), "wb") as out:
                    out.write(data)
                return os.path.join(folder, name)
            good = write("it's a café.jsonl", json.dumps({"id": "dropped", "text": "The cartographer dropped her compass.",
                                                          "filler": "x" * 200000}).encode() + b"\n")
            bad = write("bad.json", b'[{"id": "1", "text": "A')
            binary = write("picture.txt", bytes(range(128, 256)) * 8)
            large = write("large.txt", b"A sentence that is here very often.\n" * 250000)
            self.start("?q=" + quote(self.sentence))
            page.until(HITS, "hits")
            page.drag_files("dragEnter", 300, 300, [good])
            page.until(VISIBLE + "(document.querySelector('#drop-here'))", "where to drop")
            self.picture("drop")
            page.until("document.querySelector('#drop-here').hidden", "a drag that leaves again")
            self.upload_texts()
            page.send("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=150000)
            self.drop(good)
            page.until("document.querySelector('#drop-here').hidden && document.body.dataset.view === 'add'", "the list of files")
            page.until("document.querySelector('#uploads li.done')", "the file is in", 20)
            page.send("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
            said = page.evaluate("said")
            that("1 document added, 1 passage" in said or any("replaced" in text for text in said), f"what was added: {said}")
            that(any(text.endswith(" %") and text not in ("0 %", "100 %") for text in said), f"how much has been sent: {said}")
            that("indexing" in said, f"that it is being indexed: {said}")
            self.drop(bad, binary, large)
            page.until("document.querySelectorAll('#uploads .error').length === 3", "three files are refused", 20)
            faults = page.evaluate("[...document.querySelectorAll('#uploads .error')].map(e => e.textContent)")
            that("line 1: " in faults[2] and "--max-body" in faults[0], f"why they are refused: {faults}")
            that(all(10 < len(fault) < 300 and tempfile.gettempdir() not in fault for fault in faults), f"the reasons: {faults}")
            self.picture("refused")
            self.run_copied(folder, good)
            # Removing asks once more.
            self.start("?doc=dropped")
            page.until("document.querySelector('#document .remove')", "the document")
            page.evaluate("document.querySelector('#document .remove').click()")
            that(page.evaluate(OPEN), "the first click asks")
            page.evaluate("document.querySelector('#document .remove').click()")
            page.until(f"!{OPEN}", "the second removes it")
            that(page.evaluate("fetch('api/documents/dropped', " + json.dumps({"headers": self.headers()}) + ").then(r => r.status)") == 404, "it is gone")
        finally:
            shutil.rmtree(folder)
        return lambda complaint: "status of 4" in complaint

    def run_copied(self, folder, good):
        """The line on the page is that of the last file; run is that of the good one, whose name is harder to quote."""
        answer = self.page.evaluate(f"import('./curl.js').then(m => m.curlLine('api/documents?name=' + encodeURIComponent({json.dumps(os.path.basename(good))}), "
                                    f"{{ file: {json.dumps(os.path.basename(good))} }}))")
        self.picture("uploads")
        done = self.shell(answer, folder)
        that(done is None or done.get("replaced") == 1, f"{answer}: {done}")

    def shell(self, line, folder="/"):
        if not shutil.which("curl"):
            print("    skipped: there is no curl to run the line")
            return None
        done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, timeout=20,
                              env={"PATH": os.environ["PATH"], "CALQUE_KEY": self.key or "", "LC_ALL": "C.UTF-8"})
        that(done.returncode == 0, f"{line}: {done.stderr.decode()}")
        return json.loads(done.stdout)

    def check_copied_line(self):
        page = self.page
        page.browser.send("Browser.grantPermissions", origin=self.base.rstrip("/"), permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        for query in ("It's the old bridge, n'est-ce pas?", 'Где "мост"? $HOME `id` \\ !x *', "这座桥 الجسر \U0001f309"):
            self.start("?q=" + quote(query))
            page.until(HITS, "hits")
            page.evaluate("document.querySelector('#search-curl button').click()")
            page.until("document.querySelector('#search-curl button').textContent === 'Copied'", "Copied")
            line = page.evaluate("navigator.clipboard.readText()")
            that(line == self.text("#search-curl code"), f"what is copied is what is seen: {line}")
            answer = self.shell(line)
            if answer:
                that(answer["query"] == query, f"the query of {line} arrives as {answer['query']!r}")
                seen = page.evaluate("[...document.querySelectorAll('#hits h2 a')].map(a => new URL(a.href).searchParams.get('doc'))")
                that([hit["id"] for hit in answer["hits"]] == seen, "the same hits")
