"""Servers in every state: no index, an empty one, one that wants a key, one that is busy, one that is gone."""
from urllib.parse import quote

from checks import HITS, OVERFLOW, VISIBLE, Checks, that
from servers import KEY

SENTENCE = "The old bridge was closed after the flood."
# A server that answers 429 for so many searches, as the queue's own answer is.
BUSY = """(() => {
  let left = %d;
  const real = window.fetch;
  window.fetch = (address, given) => String(address).endsWith('api/search') && left-- > 0
    ? Promise.resolve(new Response('{"error":"24 tokens wait already","error_type":"overloaded"}', { status: 429, headers: { 'Retry-After': '1' } }))
    : real(address, given);
})()"""


class ServerStates(Checks):
    def __init__(self, page, servers, pictures):  # each check has a server of its own
        self.page, self.servers, self.pictures, self.key = page, servers, pictures, None

    def check_no_index(self):
        page = self.page
        self.base = self.servers.without_index()
        self.start()
        page.until("/No index/.test(document.querySelector('#welcome').textContent)", "that there is no index")
        that(not page.evaluate(VISIBLE + "(document.querySelector('#q'))"), "no box to search")
        self.picture("no-index")
        for width in (320, 360):
            page.size(width, 700, 2, True)
            that(page.evaluate(OVERFLOW) <= 0, f"no wider than {width} pixels")
        self.picture("no-index-phone")
        page.evaluate("document.querySelector('#welcome .button').click()")
        page.until("document.querySelector('#matrix td.best')", "sentences can be compared")

    def check_empty_index(self):
        page = self.page
        self.base = self.servers.empty()
        self.start()
        page.until("/is empty/.test(document.querySelector('#welcome').textContent)", "that the index is empty")
        that(page.evaluate(OVERFLOW) <= 0, "no wider than the window")
        page.until("/Nothing to draw/.test(document.querySelector('#map-state').textContent)", "a map of nothing")
        self.picture("empty-index")
        page.type("anything")
        page.until("/Nothing found/.test(document.querySelector('#status').textContent)", "nothing is found")
        page.evaluate("document.querySelector('nav [data-view=add]').click()")
        page.evaluate("document.querySelector('#note-text').value = 'A first sentence.'; document.querySelector('#note [type=submit]').click()")
        page.until("/added/.test(document.querySelector('#note-status').textContent)", "a document is added")
        page.until("/^1 document/.test(document.querySelector('#about').textContent)", "it is counted")
        page.evaluate("document.querySelector('nav [data-view=search]').click()")
        page.until(HITS + " === 1", "it is found, without the page being loaded again")

    def check_key(self):
        page = self.page
        self.base = self.servers.with_key()
        page.size(1280, 800)
        page.open(self.base)
        page.until("document.querySelector('#key').open", "the page asks for a key")
        page.press("Escape")
        page.until(VISIBLE + "(document.querySelector('#trouble'))", "what is missing, without a key")
        page.evaluate("document.querySelector('#trouble a').click()")
        page.until("document.querySelector('#key')?.open", "the page asks again")
        self.give_key(KEY)
        page.until("document.querySelector('#about').textContent !== ''", "the page has started")
        self.start("?q=" + quote(SENTENCE))
        page.until(HITS, "the tab keeps the key")
        line = self.text("#search-curl code")
        that(KEY not in line and "$CALQUE_KEY" in line, f"the key is not in the line: {line}")
        return lambda complaint: "status of 401" in complaint

    def check_filter(self):
        page = self.page
        self.base = self.servers.documents()
        self.start("?q=" + quote(SENTENCE))
        page.until(HITS, "hits")
        page.evaluate("document.querySelector('#filter-toggle').click()")
        that(page.evaluate("document.activeElement.id") == "filter", "the filter has the focus")
        page.type("year >= 2020")
        page.until("location.search.includes('filter=')", "the filter is in the address")
        chips = "[...document.querySelectorAll('#languages .chip')].find(e => e.textContent.startsWith('German'))"
        page.evaluate(chips + ".click()")
        shown = "[...document.querySelectorAll('#hits h2 a')].map(a => new URL(a.href).searchParams.get('doc'))"
        page.until(f"{HITS} && {shown}.every(id => /^(de.|bridge-de)/.test(id))", "hits in German")
        for document in page.evaluate(shown):
            year = self.ask("api/documents/" + quote(document, safe=""))["year"]
            that(year >= 2020, f"{document} is of {year}")
        self.picture("filter")
        page.evaluate("document.querySelector('#hits h2 a').click()")
        page.until("/^year20/.test(document.querySelector('#document dl')?.textContent)", "the panel has the year")
        page.press("Escape")
        page.evaluate("document.querySelector('#filter').select()")
        page.type("year = 1066")
        page.until("/Nothing found. Fewer filters/.test(document.querySelector('#status').textContent)", "nothing is of that year")

    def check_read_only(self):
        """What cannot be added to takes no files."""
        page, index = self.page, self.servers.make_index("sample")
        self.base = self.servers.start("read-only", index)
        self.start("?view=add")
        that(page.evaluate("document.body.dataset.view") == "search", "no view to add in")
        that(page.evaluate("document.querySelector('nav [data-view=add]').hidden"), "and no way to it")
        for what in ("dragEnter", "dragOver", "drop"):
            page.drag_files(what, 300, 300, [self.servers.path("sample.jsonl")])
            that(page.evaluate("document.querySelector('#drop-here')?.hidden ?? true"), "nothing asks for files")
        page.open("about:blank")  # the browser's own business with a dropped file ends here

    def check_busy(self):
        page = self.page
        self.base = self.servers.documents()
        script = page.run_before(BUSY % 2)
        self.start("?q=" + quote(SENTENCE))
        page.until(HITS, "a busy server is asked again")
        page.forget(script)
        script = page.run_before(BUSY % 100)
        self.start("?q=" + quote(SENTENCE))
        page.until("/wait already/.test(document.querySelector('#status').textContent)", "that the server is busy")
        page.forget(script)

    def check_gone(self):
        page, servers = self.page, self.servers
        index = servers.make_index("sample")
        self.base = servers.start("gone", index)
        port = self.base.rstrip("/").rsplit(":", 1)[1]
        self.start()
        page.type("The bridge")
        page.until(HITS, "hits")
        servers.stop("gone")
        page.type(" is closed.")
        page.until("/does not answer/.test(document.querySelector('#status').textContent)", "that the server is gone")
        self.picture("gone")
        servers.start("gone", index, port=port)
        page.until(HITS, "hits again, once the server is back")
        that("hit" in self.text("#status"), "and their number")
        return lambda complaint: "ERR_CONNECTION" in complaint
