"""Servers for the test of the page: `calque serve` over documents made here, on loopback ports that are free.

Documents are the sample's test sentences in six languages, with a year each, and some longer ones with titles, in
Arabic and Hebrew too. The model is the sample's small teacher, which knows little but starts at once.
"""
import gzip
import json
import os
import shutil
import subprocess
import tempfile

LANGUAGES = ("en", "de", "es", "ar", "hi", "ru")
SENTENCES = 80  # of each language
KEY = "a key of the page's test"

TITLED = [
    ("en", "The bridge by the mill", "The old bridge was closed after the flood. Nobody had thought that the water would rise so fast. "
     "For two weeks the children took a boat to school."),
    ("de", "Die Brücke an der Mühle", "Die alte Brücke wurde nach der Überschwemmung gesperrt. Zwei Wochen lang fuhren die Kinder mit dem "
     "Boot zur Schule."),
    ("ar", "الجسر عند الطاحونة", "أُغلق الجسر القديم بعد الفيضان. ظل الأطفال يذهبون إلى المدرسة بالقارب أسبوعين."),
    ("he", "הגשר ליד הטחנה", "הגשר הישן נסגר אחרי השיטפון. במשך שבועיים הגיעו הילדים לבית הספר בסירה."),
]


def sample_documents(root):
    for language in LANGUAGES:
        pair = "de" if language == "en" else language
        with gzip.open(os.path.join(root, "sample", "test", f"en-{pair}.tsv.gz"), "rt", encoding="utf-8") as lines:
            for i, line in zip(range(SENTENCES), lines):
                text = line.rstrip("\n").split("\t")[0 if language == "en" else 1]
                yield {"id": f"{language}/{i + 1}", "text": text, "language": language, "year": 2001 + i % 24}
    for language, title, text in TITLED:
        yield {"id": f"bridge-{language}", "title": title, "text": text, "language": language, "year": 2023,
               "url": "https://example.org/bridge/" + language}


class Servers:
    """Starts what a check asks for, once for all checks; close() ends them all."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.model = os.path.join(root, "sample", "teacher")
        self.folder = tempfile.mkdtemp(prefix="calque-page-")
        self.running = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def calque(self, *words):
        subprocess.run([self.program, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def make_index(self, name, documents=()):
        if not os.path.exists(self.path(name)):
            self.calque("index", "new", "--model", self.model, self.path(name))
            documents = list(documents)
            if documents:
                with open(self.path(name + ".jsonl"), "w", encoding="utf-8") as out:
                    for document in documents:
                        out.write(json.dumps(document, ensure_ascii=False) + "\n")
                self.calque("index", "add", self.path(name), self.path(name + ".jsonl"))
        return self.path(name)

    def start(self, name, *options, port=0):
        """The address of a server of this name, which keeps running."""
        if name in self.running:
            return self.running[name][1]
        with open(self.path(name + ".err"), "wb") as errors:
            process = subprocess.Popen([self.program, "serve", "--port", str(port), "--threads", "2", *options],
                                       stdout=subprocess.PIPE, stderr=errors, text=True)
        line = process.stdout.readline() if process.poll() is None else ""
        if "http://" not in line:
            process.kill()
            with open(self.path(name + ".err"), encoding="utf-8") as errors:
                raise RuntimeError(f"the server '{name}' does not start: {errors.read()}")
        self.running[name] = (process, line.split()[-1] + "/")
        return self.running[name][1]

    def stop(self, name):
        process, _ = self.running.pop(name)
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def documents(self):
        return self.start("documents", "--writable", self.make_index("sample", sample_documents(self.root)))

    def with_key(self):
        index = self.make_index("sample", sample_documents(self.root))
        with open(self.path("keys"), "w", encoding="utf-8") as out:
            out.write(KEY + "\n")
        return self.start("key", "--api-key-file", self.path("keys"), index)

    def empty(self):
        return self.start("empty", "--writable", self.make_index("empty"))

    def without_index(self):
        return self.start("model", "--model", self.model)

    def busy(self):
        """So few tokens may wait that a sentence of some words is one too many."""
        return self.start("busy", "--queue-tokens", "24", self.make_index("sample", sample_documents(self.root)))

    def close(self):
        for name in list(self.running):
            self.stop(name)
        shutil.rmtree(self.folder, ignore_errors=True)
