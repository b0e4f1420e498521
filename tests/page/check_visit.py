"""A visit: searching, reading, the map, the comparison, adding. Queries are sentences that the index itself has."""
import json
from urllib.parse import parse_qs, quote, urlsplit

from checks import HITS, OPEN, PAINTED, PIXELS, VISIBLE, Checks, that


class Visit(Checks):
    def check_welcome(self):
        self.start()
        self.page.until("document.querySelectorAll('#suggestions button').length", "sentences to begin with")
        that(self.page.evaluate("document.activeElement.id") == "q", "the box has the focus")
        self.picture("welcome")

    def check_search_as_you_type(self):
        page = self.page
        self.start()
        page.evaluate("document.activeElement.blur()")
        page.press("/")
        that(page.evaluate("document.activeElement.id") == "q", "/ goes to the box")
        page.type(self.sentence)
        page.until(HITS, "hits")
        that(page.evaluate("document.querySelector('#hits mark').textContent.length") > 0, "the best sentence is marked")
        that(page.evaluate("/hit/.test(document.querySelector('#status[role=status]').textContent)"), "the number of hits is told")
        that(page.evaluate("new URLSearchParams(location.search).get('q')") == self.sentence, "the address has the query")
        page.until("/^curl .*--json/.test(document.querySelector('#search-curl code')?.textContent)", "a line for curl")
        that(not self.key or self.key not in page.evaluate("document.body.innerText"), "the key is nowhere on the page")
        page.until(PAINTED + " > 200", "points on the map")
        self.picture("search")
        for letter in "xyz":
            page.type(letter)
        page.until(f"JSON.parse(document.querySelector('#search-curl code').textContent.match(/'(.*)'/s)[1].replaceAll(\"'\\\\''\", \"'\"))"
                   f".query === {json.dumps(self.sentence + 'xyz')}", "what was typed last is what is searched for")

    def check_modes(self):
        page = self.page
        meters = "[...new Set([...document.querySelectorAll('.meter span:first-child')].map(e => e.textContent))].join()"
        self.start("?q=" + quote(self.sentence))
        page.until(f"{HITS} && {meters} === 'meaning,words'", "hits by both, unless asked")
        for mode, shown in (("words", "words"), ("dense", "meaning")):
            page.evaluate(f"document.querySelector('[name=mode][value={mode}]').click()")
            page.until(f"{HITS} && {meters} === '{shown}'", f"hits of {mode}")
            that(f"mode={mode}" in page.evaluate("location.search"), "the address has the mode")

    def check_languages(self):
        page = self.page
        if len(self.info["index"]["languages"]) < 2:
            print("    skipped: the index has one language")
            return
        point = next(p for p in self.points if p.get("label") and p.get("language"))
        self.start("?lang=" + quote(point["language"]) + "&q=" + quote(point["label"].rstrip("…")))
        page.until(HITS, "hits")
        that(page.evaluate("document.querySelectorAll('#languages [aria-pressed=true]').length") == 1, "one language is chosen")
        that(page.evaluate("new Set([...document.querySelectorAll('#hits .language')].map(e => e.textContent)).size") == 1,
             "hits of one language")
        page.evaluate("document.querySelector('#languages [aria-pressed=true]').click()")
        page.until("!location.search.includes('lang=')", "the choice is taken back")

    def check_document(self):
        page = self.page
        # Where letters are several bytes, offsets in bytes and in letters differ.
        foreign = [p["label"].rstrip("…") for p in self.points if p.get("label") and len(p["label"].encode()) > 1.2 * len(p["label"])]
        self.start("?q=" + quote((foreign or [self.sentence])[0]))
        page.until(HITS, "hits")
        page.press("ArrowDown")
        page.until("document.activeElement.matches('#hits .hit:first-child h2 a')", "an arrow goes to the first hit")
        page.press("j")
        if page.evaluate(HITS) > 1:
            that(page.evaluate("document.activeElement.matches('#hits .hit:nth-child(2) h2 a')"), "j goes on")
        page.press("k")
        marked = page.evaluate("document.querySelector('#hits mark').textContent.trim()")
        page.press("Enter")
        page.until(OPEN, "Enter opens the document")
        page.until("document.querySelector('#document .text')?.textContent.length > 0", "its text")
        passage = page.evaluate("document.querySelector('#document .passage')?.textContent")
        query = parse_qs(urlsplit(page.evaluate("location.href")).query)
        begin, end = map(int, query["at"][0].split("-"))
        text = self.ask("api/documents/" + quote(query["doc"][0], safe=""))["text"]
        that(passage == text.encode()[begin:end].decode(), f"bytes {begin} to {end} are marked, not {passage!r}")
        plain = lambda text: "".join(text.split()).strip("…")
        that(plain(marked)[:40] in plain(passage), f"the passage {passage!r} has the sentence {marked!r}")
        box = page.evaluate("(r => [r.top, r.bottom])(document.querySelector('#document .passage').getBoundingClientRect())")
        that(box[1] > 0 and box[0] < 900, "the passage is in view")
        that("doc=" in page.evaluate("location.search"), "the address has the document")
        self.picture("document")
        page.press("Escape")
        page.until(f"!{OPEN}", "Esc closes it")
        that(page.evaluate("document.activeElement.matches('#hits h2 a')"), "the focus is back at the hit")
        page.evaluate("history.back()")
        page.until(OPEN, "Back opens it again")

    def check_more(self):
        page = self.page
        self.start("?q=" + quote(self.sentence))
        page.until(HITS, "hits")
        if self.info["index"]["documents"] > 30:
            page.evaluate("document.querySelector('#more').click()")
            page.until(HITS + " === 30", "more hits")
            page.until("document.activeElement === document.querySelectorAll('#hits h2 a')[10]", "the focus is at the first new one")
        page.evaluate("document.querySelectorAll('#hits .where button')[1].click()")
        page.until(f"new URLSearchParams(location.search).get('q') !== {json.dumps(self.sentence)}", "its sentence is the query")
        page.until("parseFloat(document.querySelector('#hits .meter b').textContent) > 0.9", "what is like it, itself first")
        page.evaluate("history.back()")
        page.until(f"document.querySelector('#q').value === {json.dumps(self.sentence)}", "Back goes to the search before")

    def check_map(self):
        page = self.page
        self.start("?view=map")
        page.until(PAINTED + " > 200", "points on the map")
        page.until("/passage/.test(document.querySelector('#map-summary').textContent)", "the map in words")
        self.picture("map")
        for point in [p for p in self.points if p["label"].endswith("…") and p["passage"] == 0][:3]:
            text, label = self.ask("api/documents/" + quote(point["id"], safe=""))["text"], point["label"][:-1]
            that(text.startswith(label), f"{label!r} begins {text!r}")
            that(" " not in label[-12:] or text[len(label)] == " ", f"{label!r} ends with a whole word")
        page.evaluate("document.querySelector('#map-list').open = true")
        page.until("document.querySelectorAll('#map-list li button').length", "sentences in view")
        before = page.evaluate(PAINTED)
        page.evaluate("document.querySelector('#map-canvas').focus()")
        for _ in range(4):
            page.press("+")
        page.until(f"{PAINTED} !== {before}", "+ zooms")
        page.press("0")
        page.until(f"{PAINTED} === {before}", "0 shows everything again")
        # Over a point there is a label; the point is looked for where color is.
        spot = page.evaluate("""(() => {
          const canvas = document.querySelector('#map-canvas'), box = canvas.getBoundingClientRect();
          const { data } = """ + PIXELS + """;
          for (let y = 0; y < Math.min(canvas.height, innerHeight - box.top); y++)
            for (let x = 0; x < canvas.width; x++) {
              const i = 4 * (y * canvas.width + x);
              if (data[i + 3] > 150 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 50)
                return [box.left + x * box.width / canvas.width, box.top + y * box.height / canvas.height + 2];
            }
        })()""")
        page.mouse("mouseMoved", *spot)
        page.until(VISIBLE + "(document.querySelector('#map-tip'))", "a label at the mouse")
        self.picture("map-label")

    def check_frame_time(self):
        """Draws the map while it is zoomed: the median frame's script and painting, without a graphics processor."""
        page = self.page
        self.start("?view=map")
        page.until(PAINTED + " > 200", "points on the map")
        median = page.evaluate("""(async () => {
          const canvas = document.querySelector('#map-canvas'), times = [];
          const context = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
          for (let i = 0; i < 25; i++) {
            let began;
            requestAnimationFrame(() => { began = performance.now(); }); // asked for first, called first
            canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: i % 2 ? 40 : -40, cancelable: true }));
            await new Promise(requestAnimationFrame);
            context.drawImage(canvas, 0, 0); // waits for what was drawn
            context.getImageData(0, 0, 1, 1);
            times.push(performance.now() - began);
          }
          return times.sort((a, b) => a - b)[12];
        })()""")
        print(f"    a frame of the map: {median:.1f} ms")
        that(median < 100, f"a frame takes {median:.0f} ms")

    def check_compare(self):
        page = self.page
        self.start("?view=compare")
        cells = "[...document.querySelectorAll('#matrix tbody td')].map(e => parseFloat(e.textContent.replace('−', '-')))"
        page.until(cells + ".length", "the matrix")
        values = page.evaluate(cells)
        that(len(values) == 12 and all(v is not None and -1.01 <= v <= 1.01 for v in values), f"twelve similarities: {values}")
        that(page.evaluate("document.querySelectorAll('#matrix td.best').length") == 3, "the best of each row")
        self.picture("compare")
        page.evaluate("document.querySelector('#box-b').focus(); document.querySelector('#box-b').select()")
        page.type(page.evaluate("document.querySelector('#box-a').value.split('\\n')[0]"))
        page.until(cells + ".length === 3", "a new matrix")
        that(page.evaluate(cells)[0] > 0.98, "a sentence is like itself")

    def check_add(self):
        page = self.page
        if not self.info["writable"]:
            self.start("?view=add")
            that(page.evaluate("document.querySelector('nav [data-view=add]').hidden"), "nothing can be added, nothing is offered")
            return
        self.start("?view=add")
        title = "A ladder for the page's test"
        page.evaluate(f"document.querySelector('#note-title').value = {json.dumps(title)}; "
                      "document.querySelector('#note-text').value = 'The chimney sweep left his ladder behind.'; "
                      "document.querySelector('#note [type=submit]').click()")
        page.until("/added|replaced/.test(document.querySelector('#note-status').textContent)", "a text is added")
        page.evaluate("""(() => {
          const files = new DataTransfer();
          files.items.add(new File(['A lighthouse keeper counts the ships.\\n'], 'page-test.txt'));
          const input = document.querySelector('#files');
          input.files = files.files;
          input.dispatchEvent(new Event('change'));
        })()""")
        page.until("document.querySelector('#uploads li.done')", "a file is added")
        self.picture("add")

    def check_dark(self):
        self.start("?q=" + quote(self.sentence), dark=True)
        self.page.until(HITS, "hits")
        color = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).every(c => c < 60)"
        that(self.page.evaluate(color), "dark is dark")
        self.page.until(PAINTED + " > 200", "points on the map")
        self.picture("search-dark")
        self.page.evaluate("document.querySelector('#theme').click()")
        that(not self.page.evaluate(color), "the button makes it light")
        self.page.open(self.base)
        that(not self.page.evaluate(color), "light it stays")
        self.page.evaluate("document.querySelector('#theme').click()")

    def check_errors(self):
        """A filter that makes no sense, and a document that is not there: told on the page."""
        self.start("?q=" + quote(self.sentence) + "&filter=" + quote("%%%"))
        self.page.until(VISIBLE + "(document.querySelector('#filter-error'))", "the fault of the filter")
        self.start("?doc=there-is-no-such-document")
        self.page.until("/No such document/.test(document.querySelector('#document').textContent)", "the missing document")
        # The browser itself logs these refused requests; anything else is a complaint.
        return lambda complaint: "status of 4" in complaint
