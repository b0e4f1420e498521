"""A search index on disk: documents in any of a model's languages, found by meaning, by words, or by both."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Union

from . import _library as lib
from ._arrays import Matrix
from ._encoder import DEFAULT_MODEL, Notice, notice_of
from ._error import ArgumentError
from ._handle import Handle
from ._options import Options, OptionValue

_FIELDS = ("id", "language", "text", "title", "url", "metadata")


class CDocument(ctypes.Structure):
    _fields_ = [(name, lib.CSlice) for name in _FIELDS]


class CHit(ctypes.Structure):
    _fields_ = [
        ("cosine", ctypes.c_double),
        ("document", CDocument),
        ("score", ctypes.c_double),
        ("words", ctypes.c_double),
        ("by_vector", ctypes.c_bool),
        ("by_words", ctypes.c_bool),
        ("passage", ctypes.c_size_t),
        ("begin", ctypes.c_size_t),
        ("end", ctypes.c_size_t),
        ("best", lib.CSlice),
        ("is_good", ctypes.c_bool),
    ]


class Document(NamedTuple):
    """``id`` and ``text`` are needed; metadata are what a search's filter asks for."""

    id: str
    text: str
    language: str = ""
    title: str = ""
    url: str = ""
    metadata: Mapping[str, Any] = {}


class Hit(NamedTuple):
    """A document found. ``text`` is the passage's; ``score`` is what hits are ranked by, ``best`` the sentence asked
    for by ``snippet``; ``good`` tells whether it is likely to answer, as far as the model is calibrated."""

    id: str
    text: str
    score: float
    cosine: float
    words: float
    language: str
    title: str
    url: str
    metadata: dict[str, Any]
    passage: int
    best: str | None
    good: bool


AnyDocument = Union[Document, Mapping[str, Any]]


class Index(Handle):
    """An index, open until it is closed.

        with calque.Index.new("news.index", model="multilingual") as index:
            index.add([{"id": "1", "text": "A cat sleeps."}])
            index.commit()
            print(index.search("Eine Katze schläft.")[0].id)

    Several threads may use one at once.
    """

    _free, _kind = "cq_index_free", "index"

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        model: str | os.PathLike[str] | None = None,
        query_model: str | os.PathLike[str] | None = None,
        writing: bool = False,
        notice: Notice | None = None,
        **options: OptionValue,
    ) -> None:
        """Opens an index.

        :param model: None: the one it was made with
        :param query_model: encodes queries in place of it: a student of it, for questions in other languages
        :param writing: documents are added or removed; one process at a time
        :param notice: told remarks, one line each
        :param options: ``calque.options("index")``
        """
        self._notice = notice_of(notice)
        handle = ctypes.c_void_p()
        with Options("index") as o:
            o.set(model=model, query_model=query_model, writing=writing, **options)
            o.put(notice=self._notice)
            types = (lib.c_pointer, lib.c_text, lib.c_pointer)
            lib.call("cq_index_open", types, ctypes.byref(handle), lib.path_bytes(directory), o.struct)
        self._handle = handle
        self.directory = os.fspath(directory)

    @classmethod
    def new(
        cls, directory: str | os.PathLike[str], *, model: str | os.PathLike[str] = DEFAULT_MODEL, **options: Any
    ) -> Index:
        """Makes an empty index for a model, in a directory that is not there yet, and opens it for writing."""
        made = {k: v for k, v in options.items() if k not in ("notice", "query_model", "writing")}
        with Options("index") as o:
            o.set(model=model, **made)
            lib.call("cq_index_create", (lib.c_text, lib.c_pointer), lib.path_bytes(directory), o.struct)
        return cls(directory, model=model, **{**options, "writing": True})

    @classmethod
    def open(cls, directory: str | os.PathLike[str], **options: Any) -> Index:
        """What the class itself does."""
        return cls(directory, **options)

    def close(self) -> None:
        """Closes it; what was not committed is dropped. No other thread may be using it."""
        super().close()

    def __len__(self) -> int:
        return int(lib.function("cq_index_size", lib.c_size, lib.c_pointer)(self.handle))

    @property
    def dim(self) -> int:
        return int(lib.function("cq_index_dim", ctypes.c_int, lib.c_pointer)(self.handle))

    @property
    def model(self) -> str:
        """The name of the model it was made with."""
        return os.fsdecode(lib.function("cq_index_model", lib.c_text, lib.c_pointer)(self.handle))

    def add(self, documents: Iterable[AnyDocument], *, block: int = 256) -> int:
        """Adds documents, found after ``commit``, in place of those that have their ids; returns how many.

        :param documents: ``Document``, or dicts of its names; other names of a dict are metadata
        :param block: how many are handed over at a time. After an error those before it wait for a commit.
        """
        added, waiting = 0, []
        for document in documents:
            waiting.append(document)
            if len(waiting) == block:
                self._add(waiting, added)
                added, waiting = added + len(waiting), []
        if waiting:
            self._add(waiting, added)
        return added + len(waiting)

    def _add(self, documents: Sequence[AnyDocument], before: int) -> None:
        texts: list[str] = []
        for i, document in enumerate(documents):
            texts += _texts_of(document, "document %d" % (before + i + 1))
        slices = lib.Slices(texts, "text")  # six a document lie as the fields of cq_document do
        types = (lib.c_pointer, lib.c_pointer, lib.c_size, lib.c_pointer)
        lib.call("cq_index_add", types, self.handle, slices.at(0), len(documents), lib.context())

    def delete(self, ids: str | Iterable[str]) -> int:
        """Removes documents, from the next ``commit`` on; returns how many of them were there."""
        slices, n = lib.Slices([ids] if isinstance(ids, str) else list(ids), "id"), ctypes.c_size_t()
        types = (lib.c_pointer, lib.c_pointer, lib.c_size, lib.c_pointer)
        lib.call("cq_index_remove", types, self.handle, slices.at(0), slices.n, ctypes.byref(n))
        return n.value

    def commit(self) -> None:
        """Makes all changes count, at once."""
        lib.call("cq_index_commit", (lib.c_pointer,), self.handle)

    def refresh(self) -> bool:
        """Looks for what another process has committed; returns whether there was something."""
        changed = ctypes.c_bool()
        lib.call("cq_index_refresh", (lib.c_pointer, lib.c_pointer), self.handle, ctypes.byref(changed))
        return changed.value

    def get(self, document_id: str) -> Document | None:
        """The document with an id, as it was added."""
        out, slices = ctypes.POINTER(CDocument)(), lib.Slices([document_id], "id")
        types = (lib.c_pointer, lib.c_pointer, lib.CSlice)
        one = lib.CSlice.from_address(slices.at(0))
        lib.call("cq_index_get", types, ctypes.byref(out), self.handle, one)
        if not out:
            return None
        try:
            d = out.contents
            return Document(
                d.id.text(), d.text.text(), d.language.text(), d.title.text(), d.url.text(), _metadata(d.metadata)
            )
        finally:
            lib.free(out)

    def search(self, queries: Any, *, vectors: Any = None, **options: OptionValue) -> Any:
        """The best documents for a query: a list of ``Hit``, best first; for a list of queries a list of such lists.

        :param vectors: [n, dim] where the queries were encoded already; ``queries`` may then be None
        :param options: ``calque.options("search")``: ``top``, ``language``, ``filter``, ``ranking``, ``snippet``, ...
            ``k`` is another name of ``top``, ``mode`` of ``ranking``, and its value "lexical" of "words"
        """
        for other, name in (("k", "top"), ("mode", "ranking")):
            if other in options:
                if name in options:
                    raise ArgumentError("%s and %s are the same: only one can be given" % (other, name))
                options[name] = options.pop(other)
        if options.get("ranking") == "lexical":
            options["ranking"] = "words"
        m = Matrix(vectors, "vectors", dim=self.dim) if vectors is not None else None
        if queries is None:
            if m is None:
                raise ArgumentError("a search needs queries, or their vectors")
            texts, single = [""] * m.n, False
        else:
            single = isinstance(queries, str)
            texts = [queries] if single else list(queries)
        if m is not None and m.n != len(texts):
            raise ArgumentError("%d queries have %d vectors" % (len(texts), m.n))
        slices = lib.Slices(texts, "query")
        hits = ctypes.c_void_p()
        with Options("search") as o:
            o.set(**options)
            if m is not None:
                o.put(query_vectors=ctypes.c_void_p(m.address))
            types = (lib.c_pointer, lib.c_pointer, lib.c_pointer, lib.c_size, lib.c_pointer, lib.c_pointer)
            lib.call(
                "cq_index_search",
                types,
                ctypes.byref(hits),
                self.handle,
                slices.at(0),
                slices.n,
                o.struct,
                lib.context(),
            )
        try:
            found = [_hits(hits, i) for i in range(slices.n)]
        finally:
            lib.function("cq_hits_free", None, lib.c_pointer)(hits)
        return found[0] if single else found


def _texts_of(document: AnyDocument, what: str) -> list[str]:
    if isinstance(document, Document):
        fields: dict[str, Any] = document._asdict()
    elif isinstance(document, Mapping):
        fields = {k: v for k, v in document.items() if k in _FIELDS}
        more = {k: v for k, v in document.items() if k not in _FIELDS}
        if more:
            fields["metadata"] = {**(fields.get("metadata") or {}), **more}
    else:
        raise ArgumentError("%s must be a Document or a dict, not %s" % (what, type(document).__name__))
    metadata = fields.pop("metadata", None)
    try:
        fields["metadata"] = json.dumps(dict(metadata), ensure_ascii=False) if metadata else ""
    except (TypeError, ValueError) as error:
        raise ArgumentError("%s has metadata that are no JSON object: %s" % (what, error)) from None
    for name in ("id", "text"):
        if not isinstance(fields.get(name), str):
            raise ArgumentError("%s must have a string called %r" % (what, name))
    texts = [fields.get(name) or "" for name in _FIELDS]
    for name, text in zip(_FIELDS, texts):
        if not isinstance(text, str):
            raise ArgumentError("%s: %s must be a string, not %s" % (what, name, type(text).__name__))
    return texts


def _metadata(s: lib.CSlice) -> dict[str, Any]:
    text = s.text()
    read: dict[str, Any] = json.loads(text) if text else {}
    return read


def _hits(hits: ctypes.c_void_p, query: int) -> list[Hit]:
    n = ctypes.c_size_t()
    f = lib.function("cq_hits_of", ctypes.POINTER(CHit), lib.c_pointer, lib.c_size, lib.c_pointer)
    rows = f(hits, query, ctypes.byref(n))
    out = []
    for i in range(n.value):
        h = rows[i]
        d = h.document
        out.append(
            Hit(
                d.id.text(),
                d.text.text(),
                h.score,
                h.cosine,
                h.words,
                d.language.text(),
                d.title.text(),
                d.url.text(),
                _metadata(d.metadata),
                h.passage,
                h.best.text() if h.best.data else None,
                h.is_good,
            )
        )
    return out
