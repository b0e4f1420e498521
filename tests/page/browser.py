"""Drives headless Chromium through its DevTools protocol over two pipes: no WebSocket, no port, no package.

Messages are JSON, each ended by a zero byte; the browser reads them from its descriptor 3 and writes to 4.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Browser:
    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="calque-page-")
        from_us, to_browser = os.pipe()
        from_browser, to_us = os.pipe()
        # 3 and 4 may be taken by the pipes themselves: both ends move out of the way before they move in.
        ends = [os.dup(from_us), os.dup(to_us)]
        while min(ends) < 10:
            ends = [os.dup(end) for end in ends]
        flags = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-sandbox", "--disable-gpu",
                 "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
                 "--no-proxy-server", "--hide-scrollbars", "--force-color-profile=srgb",
                 # Memory: one process for pages, with a heap of its own size.
                 "--renderer-process-limit=1", "--disable-extensions", "--disable-site-isolation-trials",
                 "--js-flags=--max-old-space-size=512",
                 f"--user-data-dir={self.profile}", "about:blank"]
        self.log = open(os.path.join(self.profile, "log"), "wb")
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{ends[0]} 4>&{ends[1]}', program, *flags],
            pass_fds=ends, stdout=self.log, stderr=self.log)
        for end in (*ends, from_us, to_us):
            os.close(end)
        self.reader, self.writer = from_browser, to_browser
        self.waiting = b""
        self.last_id = 0
        self.events = []

    def read(self, deadline):
        """The next message, or None when the time is up."""
        while b"\0" not in self.waiting:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.reader], [], [], left)[0]:
                return None
            piece = os.read(self.reader, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.waiting += piece
        text, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(text)

    def send(self, method, session=None, **params):
        self.last_id += 1
        wanted = self.last_id
        message = {"id": wanted, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data):]
        deadline = time.monotonic() + 30
        while True:
            answer = self.read(deadline)
            if answer is None:
                raise RuntimeError(f"{method}: no answer")
            if answer.get("id") == wanted:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def close(self):
        try:
            self.send("Browser.close")
            self.process.wait(5)
        except Exception:  # whatever is left is ended below
            pass
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A tab, with what a test of ours does in one."""

    def __init__(self, browser):
        self.browser = browser
        self.known = ("data:", "about:")  # where requests may go
        target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def evaluate(self, script):
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, script, what, seconds=10):
        """Waits until the script gives something true."""
        deadline = time.monotonic() + seconds
        while True:
            if self.evaluate(f"Boolean({script})"):
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds} s: {what}")
            time.sleep(0.03)

    def open(self, address):
        if address.startswith("http"):
            self.known = (*self.known, "/".join(address.split("/")[:3]) + "/")
        self.send("Page.navigate", url=address)
        self.until(f"location.href === {json.dumps(address)} && document.readyState === 'complete'", address)

    def size(self, width, height, scale=1, phone=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone)

    def prefer(self, **features):
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-" + name.replace("_", "-"), "value": value} for name, value in features.items()])

    def type(self, text):
        self.send("Input.insertText", text=text)

    def press(self, key, code=None, text=""):
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9, " ": 32}
        number = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
        if len(key) == 1:
            text = key
        if key == "Enter":
            text = "\r"
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, code=code or key, text=text, windowsVirtualKeyCode=number)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key, windowsVirtualKeyCode=number)

    def run_before(self, script):
        """Runs a script in each page before its own ones; answers the identifier for forget()."""
        return self.send("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]

    def forget(self, identifier):
        self.send("Page.removeScriptToEvaluateOnNewDocument", identifier=identifier)

    def touch(self, what, *places):
        self.send("Input.dispatchTouchEvent", type=what,
                  touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)])

    def drag_files(self, what, x, y, files):
        self.send("Input.dispatchDragEvent", type=what, x=x, y=y,
                  data={"items": [], "files": files, "dragOperationsMask": 1})

    def mouse(self, what, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=what, x=x, y=y, **more)

    def screenshot(self, path):
        if path:
            with open(path, "wb") as out:
                out.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def complaints(self):
        """What the console, the log and the network have to say against the page so far."""
        self.evaluate("0")  # what came before the answer has been read
        found = []
        for event in self.browser.events:
            name, given = event["method"], event["params"]
            if name == "Network.requestWillBeSent":
                url = given["request"]["url"]
                if not url.startswith(self.known):
                    found.append(f"another host: {url}")
            elif name == "Runtime.exceptionThrown":
                found.append("exception: " + json.dumps(given["exceptionDetails"])[:600])
            elif name == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
                found.append("console: " + " ".join(str(part.get("value", part.get("description"))) for part in given["args"]))
            elif name == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
                found.append(f"{given['entry']['source']}: {given['entry']['text']} {given['entry'].get('url', '')}")
        self.browser.events.clear()
        return found
