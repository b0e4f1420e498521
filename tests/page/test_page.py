"""What a visitor does with the page of `calque serve`, in headless Chromium. Run by scripts/test-page.

    test_page.py CHROMIUM PICTURES --program CALQUE    servers of its own, with documents of the sample
    test_page.py CHROMIUM PICTURES --url URL           a server that runs; its documents are taken as they are

A complaint on the console, an exception, a refused request, a request to another host and a violation of the content
security policy each fail the check they happen in.
"""
import os
import signal
import sys
import time

from browser import Browser, Page
from check_hands import Hands
from check_reading import Reading
from check_servers import ServerStates
from check_visit import Visit
from servers import Servers


def run(checks, page):
    """How many checks failed. A check may answer a function that says which complaints it expects."""
    failed = 0
    for name in [name for name in dir(checks) if name.startswith("check_")]:
        began, fault, expected = time.monotonic(), None, None
        try:
            expected = getattr(checks, name)()
        except Exception as error:  # a check that breaks has failed, the others go on
            fault = f"{error}" if isinstance(error, AssertionError) else repr(error)
        complaints = [c for c in page.complaints() if not (expected and expected(c))]
        if complaints:
            fault = "; ".join(filter(None, [fault, *complaints]))
        print(f"{'FAILED' if fault else 'ok    '} {name[6:].replace('_', ' ')} ({time.monotonic() - began:.1f} s)"
              + (f": {fault}" if fault else ""), flush=True)
        failed += bool(fault)
    return failed


def main():
    chromium, pictures, how, what = sys.argv[1:5]
    only = sys.argv[5:]
    key = os.environ.get("CALQUE_KEY") if how == "--url" else None
    servers = Servers(what, os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))) if how == "--program" else None
    browser, failed = None, 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    try:
        base = servers.documents() if servers else what.rstrip("/") + "/"
        browser = Browser(chromium)
        page = Page(browser)
        for kind in (Visit, Hands, Reading):
            if not only or kind.__name__ in only:
                checks = kind(page, base, pictures, key)
                page.complaints()
                failed += run(checks, page)
        if servers and (not only or "ServerStates" in only):
            failed += run(ServerStates(page, servers, pictures), page)
    finally:
        if browser:
            browser.close()
        if servers:
            servers.close()
    print(f"page: {failed} of the checks failed" if failed else "page: all checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
