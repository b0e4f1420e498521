"""sentence-transformers' class over calque's encoder: the same names, arguments and results, on the CPU.

What sentence-transformers gives as tensors of PyTorch is a tensor here where the program has imported PyTorch, and a
NumPy array where it has not: it takes seconds to load, and calque does not need it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _library as lib
from ._arrays import Matrix, Output, numpy, torch
from ._encoder import DEFAULT_MODEL, Encoder, Notice
from ._error import ArgumentError, Error
from ._modules import Module, Tokenizer, modules_of

logger = logging.getLogger("calque")

PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


class _CardData:
    """Where sentence-transformers' evaluators leave their figures."""

    def __init__(self) -> None:
        self.metrics: dict[str, dict[str, float]] = {}

    def set_evaluation_metrics(self, evaluator: Any, metrics: dict[str, float], *_: Any, **__: Any) -> None:
        self.metrics[getattr(evaluator, "name", "") or type(evaluator).__name__] = dict(metrics)


class SentenceTransformer:
    """A model as sentence-transformers' users know it.

    :param model_name_or_path: a directory, a name in the local Hugging Face cache ("all-MiniLM-L6-v2"), or "small" or
        "base", which calque comes with. Nothing is downloaded. Without one: "small".
    :param device: "cpu"; another one is warned of
    :param prompts: texts put before sentences, by name; they take the place of the model's of the same names
    :param default_prompt_name: of the prompt that is used where none is named
    :param similarity_fn_name: "cosine", "dot", "euclidean" or "manhattan"
    :param truncate_dim: how many leading dimensions to keep
    :param revision: of a name in the cache: a branch, a tag or a commit
    :param backend: accepted, as are ``cache_folder``, ``local_files_only``, ``trust_remote_code``, ``token`` and the
        like: calque has one backend and downloads nothing
    :param precision: what is multiplied in: "f32", "bf16" or "int8"; None: what the model says
    :param notice: told what was assumed about the model, one line each
    """

    def __init__(
        self,
        model_name_or_path: str | os.PathLike[str] | None = None,
        modules: Any = None,
        device: Any = None,
        prompts: Mapping[str, str] | None = None,
        default_prompt_name: str | None = None,
        similarity_fn_name: str | None = None,
        cache_folder: str | None = None,
        trust_remote_code: bool = False,
        revision: str | None = None,
        local_files_only: bool = False,
        token: bool | str | None = None,
        use_auth_token: bool | str | None = None,
        truncate_dim: int | None = None,
        model_kwargs: Mapping[str, Any] | None = None,
        tokenizer_kwargs: Mapping[str, Any] | None = None,
        processor_kwargs: Mapping[str, Any] | None = None,
        config_kwargs: Mapping[str, Any] | None = None,
        model_card_data: Any = None,
        backend: str = "calque",
        *,
        precision: str | None = None,
        notice: Notice | None = None,
    ) -> None:
        if modules is not None:
            raise ArgumentError("modules of PyTorch cannot be run: name a directory that has been saved")
        _check_device(device)
        self._notice, self._precision = notice, precision
        name = DEFAULT_MODEL if model_name_or_path is None else model_name_or_path
        if revision:
            if model_name_or_path is None:
                raise ArgumentError("a revision needs a model's name")
            if os.path.isdir(name):
                raise ArgumentError("a revision is of a name in the cache, not of the directory %s" % os.fspath(name))
            name = "%s@%s" % (os.fspath(name), revision)
        self._encoder = Encoder(name, notice=notice, precision=precision)
        self._of_tasks: dict[str, Encoder] = {}
        self._max_length_set = self._closed = False
        described = self._encoder.describe()
        self.prompts: dict[str, str] = {**(described.get("prompts") or {}), **(prompts or {})}
        self.default_prompt_name = default_prompt_name or described.get("default_prompt_name")
        if self.default_prompt_name is not None and self.default_prompt_name not in self.prompts:
            raise ArgumentError(
                "Default prompt name '%s' not found in the configured prompts dictionary with keys %r."
                % (self.default_prompt_name, list(self.prompts))
            )
        self._described = described
        self.truncate_dim = truncate_dim
        self.similarity_fn_name = similarity_fn_name or described.get("similarity") or "cosine"
        self.model_card_data = model_card_data or _CardData()

    # --- encoding ---

    def encode(
        self,
        sentences: Any = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        output_value: str | None = "sentence_embedding",
        precision: str | None = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Any = None,
        normalize_embeddings: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Encodes a sentence, [dim], or a list of sentences, [n, dim].

        :param inputs: what version 6 of sentence-transformers calls ``sentences``
        :param prompt_name: a key of ``prompts``
        :param prompt: put before every sentence, whatever ``prompt_name`` says
        :param batch_size: accepted: blocks are of the library's choice, and results do not depend on them
        :param show_progress_bar: on standard error
        :param output_value: "token_embeddings": a matrix for each sentence, [tokens, dim], before pooling; None: a dict
            for each sentence, with its ids, both kinds of vectors, and its attention mask
        :param precision: of the result: "float32", "int8", "uint8", "binary" or "ubinary" (8 dimensions a byte)
        :param convert_to_numpy: an array; False: a list of tensors
        :param convert_to_tensor: a tensor (of PyTorch, which is then imported)
        :param normalize_embeddings: scale each vector to length 1
        :param pool: accepted, as are ``chunk_size`` and a list of devices: one process uses all processors
        :param truncate_dim: how many leading dimensions to keep, in place of the model's ``truncate_dim``
        :param task: of a model with modules (Router) or weights (jina-embeddings-v3) for each task: "query",
            "document" or a name of its own

        Without NumPy the result is a list of numbers, or a list of lists.
        """
        truncate_dim = kwargs.pop("truncate_dim", None) or self.truncate_dim
        task = kwargs.pop("task", None)
        if "inputs" in kwargs:
            sentences = kwargs.pop("inputs")
        for name in ("pool", "chunk_size", "processing_kwargs"):  # of several processes, and of other kinds of input
            kwargs.pop(name, None)
        if kwargs:
            raise ArgumentError("encode() has no arguments %s" % ", ".join(sorted(kwargs)))
        if sentences is None:
            raise ArgumentError("encode() needs sentences")
        encoder = self._encoder_of(task)
        if output_value not in ("sentence_embedding", "token_embeddings", None):
            raise ArgumentError("output_value must be sentence_embedding, token_embeddings or None, not %r" % output_value)
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size <= 0:
            raise ArgumentError("batch_size must be a positive integer, not %r" % (batch_size,))
        precision = precision or "float32"  # None is what the evaluators of sentence-transformers say
        if precision not in PRECISIONS:
            raise ArgumentError("precision must be one of %s, not %r" % (", ".join(PRECISIONS), precision))
        if device is not None:
            _check_device(device)
        if isinstance(sentences, Mapping):
            raise ArgumentError("sentences must be a string or a list of strings, not %s" % type(sentences).__name__)
        single = isinstance(sentences, str) or not hasattr(sentences, "__len__")
        texts: Sequence[str] = [sentences] if single else sentences
        if not isinstance(texts, (list, tuple)):  # NumPy's and pandas' columns of strings
            texts = [str(t) if isinstance(t, str) else t for t in texts]
        bar = None
        if show_progress_bar or (
            show_progress_bar is None and logger.getEffectiveLevel() in (logging.INFO, logging.DEBUG)
        ):
            bar = _bar
        width = encoder.dim if truncate_dim is None else min(int(truncate_dim), encoder.dim)
        before = self._prompt(prompt, prompt_name)
        if output_value == "token_embeddings":
            rows = [_tensor_or_array(t, "float32") for t in encoder.token_vectors(texts, prompt=before)[1]]
            return rows[0] if single else rows
        vectors = encoder.encode(
            texts,
            prompt=before,
            normalize=bool(normalize_embeddings),
            truncate_dim=width if width != encoder.dim else None,
            progress=bar,
        )
        if output_value is None:
            items = _items(encoder, texts, before, vectors)
            return items[0] if single else items
        if precision != "float32" and len(texts):
            vectors = quantize(vectors, precision)
        if not len(texts) and numpy() is not None:
            vectors = vectors.reshape(-1)  # sentence-transformers' shape of nothing is (0,)
        if single:
            vectors = vectors[0]
        if convert_to_tensor or not convert_to_numpy:
            import torch as t  # type: ignore[import-not-found,unused-ignore]

            if convert_to_tensor:
                return t.as_tensor(vectors)
            return t.as_tensor(vectors) if single else [t.as_tensor(v) for v in vectors]
        return vectors

    def encode_query(self, sentences: Any = None, prompt_name: str | None = None, **kwargs: Any) -> Any:
        """``encode`` for the task "query", and with the prompt of that name, where the model has them."""
        kwargs.setdefault("task", "query")
        return self.encode(sentences, prompt_name=prompt_name or self._first_prompt("query", "retrieval.query"), **kwargs)

    def encode_document(self, sentences: Any = None, prompt_name: str | None = None, **kwargs: Any) -> Any:
        """``encode`` for the task "document", and with the prompt called "document", "passage" or "corpus", where the
        model has them."""
        kwargs.setdefault("task", "document")
        name = prompt_name or self._first_prompt("document", "passage", "corpus", "retrieval.passage")
        return self.encode(sentences, prompt_name=name, **kwargs)

    def _encoder_of(self, task: str | None) -> Encoder:
        """A Router's modules are opened for one task, when that is first asked for."""
        if task is None or self._closed or not self._described.get("has_routes"):
            return self._encoder  # which says that it is closed
        if task not in self._of_tasks:
            length = self._encoder.max_seq_length if self._max_length_set else None
            self._of_tasks[task] = Encoder(
                self._encoder.name, notice=self._notice, max_length=length, precision=self._precision, task=task
            )
        return self._of_tasks[task]

    def _first_prompt(self, *names: str) -> str | None:
        return next((n for n in names if n in self.prompts), None)

    def _prompt(self, prompt: str | None, name: str | None) -> str:
        if prompt is not None:
            if name is not None:
                logger.warning("`prompt` is given, and `prompt_name` ignored")
            return prompt
        if name is not None:
            known = {"query": "", "document": "", **self.prompts}  # every model has these two in sentence-transformers
            if name not in known:
                raise ArgumentError(
                    "Prompt name '%s' not found in the configured prompts dictionary with keys %r."
                    % (name, list(known))
                )
            return known[name]
        return "" if self.default_prompt_name is None else self.prompts[self.default_prompt_name]

    def encode_multi_process(self, sentences: Any, pool: Any = None, *arguments: Any, **kwargs: Any) -> Any:
        """``encode``, which uses all processors already."""
        return self.encode(sentences, *arguments, **kwargs)

    def start_multi_process_pool(self, target_devices: Any = None) -> dict[str, Any]:
        """A pool of no processes, for programs that start one: ``encode`` uses all processors with threads
        (``calque.set_threads``), and processes would only divide them."""
        _check_device(target_devices)
        return {"input": None, "output": None, "processes": []}

    @staticmethod
    def stop_multi_process_pool(pool: Any) -> None:
        """Nothing: there are no processes."""

    def tokenize(self, texts: Sequence[str], **_: Any) -> dict[str, Any]:
        """Ids and attention mask, padded to the longest text."""
        rows = self.tokenizer(list(texts))
        return {k: _tensor_or_array(v, "int64") for k, v in rows.items()}

    preprocess = tokenize

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer: ids of texts, tokens of ids. It is not transformers' class."""
        return Tokenizer(self._encoder, self._described)

    # --- modules ---

    @property
    def _modules_list(self) -> list[Module]:
        return modules_of(self)

    def __len__(self) -> int:
        return len(self._described["modules"])

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, i: Any) -> Any:
        """A module, as its configuration describes it: ``model[0]`` has ``tokenizer`` and ``max_seq_length``."""
        return self._modules_list[i]

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules_list)

    def _first_module(self) -> Module:
        return self._modules_list[0]

    def _last_module(self) -> Module:
        return self._modules_list[-1]

    # --- similarity ---

    @property
    def similarity_fn_name(self) -> str:
        return self._similarity

    @similarity_fn_name.setter
    def similarity_fn_name(self, name: Any) -> None:
        text = str(getattr(name, "value", name))  # sentence-transformers' enum, too
        if text not in SIMILARITIES:
            raise ArgumentError("similarity must be one of %s, not %r" % (", ".join(SIMILARITIES), text))
        self._similarity = text

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """[n1, n2]: that of each vector with each."""
        np = _need_numpy("similarity")
        a, b = _as_float(embeddings1), _as_float(embeddings2)
        kind = self._similarity
        if kind == "cosine":
            out = _unit(a) @ _unit(b).T
        elif kind == "dot":
            out = a @ b.T
        elif kind == "euclidean":
            a, b = a.astype(np.float64), b.astype(np.float64)  # near vectors: the sum cancels
            square = (a * a).sum(1)[:, None] + (b * b).sum(1)[None] - 2 * (a @ b.T)
            out = -np.sqrt(np.maximum(square, 0))
        else:
            out = np.stack([-np.abs(row - b).sum(1) for row in a]) if len(a) else np.empty((0, len(b)), a.dtype)
        return _tensor_or_array(out, "float32")

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """[n]: that of each vector with the other's of its place."""
        np = _need_numpy("similarity_pairwise")
        a, b = _as_float(embeddings1), _as_float(embeddings2)
        if a.shape != b.shape:
            raise ArgumentError("both must have one shape, not %r and %r" % (a.shape, b.shape))
        kind = self._similarity
        if kind == "cosine":
            out = (_unit(a) * _unit(b)).sum(1)
        elif kind == "dot":
            out = (a * b).sum(1)
        elif kind == "euclidean":
            out = -np.sqrt(((a - b) ** 2).sum(1))
        else:
            out = -np.abs(a - b).sum(1)
        return _tensor_or_array(out, "float32")

    # --- what a model says of itself ---

    def get_sentence_embedding_dimension(self) -> int:
        return self._encoder.dim if self.truncate_dim is None else min(self._encoder.dim, self.truncate_dim)

    get_embedding_dimension = get_sentence_embedding_dimension

    @contextlib.contextmanager
    def truncate_sentence_embeddings(self, truncate_dim: int | None) -> Iterator[None]:
        """Within it ``encode`` keeps so many leading dimensions."""
        before, self.truncate_dim = self.truncate_dim, truncate_dim
        try:
            yield
        finally:
            self.truncate_dim = before

    @property
    def max_seq_length(self) -> int:
        """Tokens that the model reads of a sentence; may be set."""
        return self._encoder.max_seq_length

    @max_seq_length.setter
    def max_seq_length(self, n: int) -> None:
        # The one before is closed when the last call that uses it is back.
        self._encoder = Encoder(self._encoder.name, notice=self._notice, max_length=n, precision=self._precision)
        self._of_tasks, self._max_length_set = {}, True

    def get_model_kwargs(self) -> list[str]:
        """Further arguments of ``encode`` that the model uses."""
        return ["task"] if self._described.get("has_routes") else []

    def get_max_seq_length(self) -> int:
        return self.max_seq_length

    @property
    def encoder(self) -> Encoder:
        """The encoder beneath: what ``calque.Encoder`` has and this class has not."""
        return self._encoder

    @property
    def device(self) -> Any:
        t = torch()
        return t.device("cpu") if t is not None and hasattr(t, "device") else "cpu"

    def to(self, device: Any = None, *_: Any, **__: Any) -> SentenceTransformer:
        _check_device(device)
        return self

    def eval(self) -> SentenceTransformer:
        return self

    def evaluate(self, evaluator: Any, output_path: str | None = None) -> Any:
        """Runs an evaluator of sentence-transformers."""
        if output_path is not None:
            os.makedirs(output_path, exist_ok=True)
        return evaluator(self, output_path)

    def cpu(self) -> SentenceTransformer:
        return self

    def fit(self, *_: Any, **__: Any) -> None:
        """Not here: an error that names what is."""
        raise Error("unsupported", "fit() trains with PyTorch; here it is calque.finetune() or `calque finetune`")

    old_fit = fit

    def push_to_hub(self, repo_id: str = "ORGANIZATION/NAME", *_: Any, **__: Any) -> None:
        """Not here: an error that names the command."""
        raise Error(
            "unsupported",
            "push_to_hub() is the program's here: save(DIRECTORY), then `calque model put DIRECTORY %s`" % repo_id,
        )

    save_to_hub = push_to_hub

    def save(
        self,
        path: str | os.PathLike[str],
        model_name: str | None = None,
        create_model_card: bool = True,
        *_: Any,
        **__: Any,
    ) -> None:
        """Writes the model to a directory that sentence-transformers reads, with its prompts and a model card
        (README.md): the one it was opened with, else a short one. A model's directory of that name is replaced; one
        that holds something else is an error."""
        place = os.fspath(path)
        if os.path.isdir(place) and os.listdir(place) and not os.path.exists(os.path.join(place, "modules.json")):
            raise ArgumentError("%s is a directory, and no model's: it is not replaced" % place, place)
        card = self._card(model_name or os.path.basename(os.path.abspath(place))) if create_model_card else None
        self._encoder.save(place, replace=os.path.isdir(place), card=card)
        self._save_prompts(os.path.join(place, "config_sentence_transformers.json"))

    save_pretrained = save

    def _card(self, name: str) -> str:
        try:
            with open(os.path.join(self._described["directory"], "README.md"), encoding="utf-8") as f:
                return f.read()
        except (KeyError, OSError, UnicodeDecodeError):
            pass
        prompts = ["- prompt %s: `%s`" % (json.dumps(k), json.dumps(v, ensure_ascii=False)) for k, v in self.prompts.items()]
        lines = [
            *("---", "library_name: sentence-transformers", "pipeline_tag: sentence-similarity"),
            *("tags:", "- sentence-transformers", "- sentence-similarity", "- feature-extraction", "---", ""),
            *("# " + name, "", "This sentence-transformers model maps text to vectors.", ""),
            "- dimensions: %d" % self._encoder.dim,
            "- maximum sequence length: %d tokens" % self._encoder.max_seq_length,
            "- similarity: " + self._similarity,
            "- parameters: {:,}".format(self._encoder.n_parameters),
            "- modules: " + ", ".join(m["type"] for m in self._described["modules"]),
            *(*prompts, "", "## Usage", "", "```python"),
            "from calque import SentenceTransformer  # or: from sentence_transformers import SentenceTransformer",
            'model = SentenceTransformer("%s")' % name.replace('"', ""),
            'vectors = model.encode(["A cat sleeps.", "The train is late."])',
            *("print(model.similarity(vectors, vectors))", "```", ""),
        ]
        return "\n".join(lines)

    def _save_prompts(self, path: str) -> None:
        described = self._described
        now = (self.prompts, self.default_prompt_name, self._similarity)
        if now == (described.get("prompts") or {}, described.get("default_prompt_name"), described.get("similarity")):
            return
        config: dict[str, Any] = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                config = json.load(f)
        config.update(
            prompts=self.prompts, default_prompt_name=self.default_prompt_name, similarity_fn_name=self._similarity
        )
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump(config, f, ensure_ascii=False, indent=2)
        os.replace(path + ".new", path)

    def close(self) -> None:
        """Frees the model's memory; calls afterwards are errors."""
        self._closed = True
        self._encoder.close()
        for encoder in self._of_tasks.values():
            encoder.close()

    def __enter__(self) -> SentenceTransformer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "SentenceTransformer(%r, dim=%d)" % (self._encoder.name, self._encoder.dim)


def quantize(vectors: Any, precision: str) -> Any:
    """Vectors in 8 bits or one bit a dimension, as sentence-transformers' ``quantize_embeddings`` makes them; the
    ranges of "int8" and "uint8" are those of the vectors themselves.

    :param precision: "float32", "int8", "uint8", "binary" or "ubinary"
    """
    if precision not in PRECISIONS:
        raise ArgumentError("precision must be one of %s, not %r" % (", ".join(PRECISIONS), precision))
    m = Matrix(vectors)
    if precision == "float32":
        return vectors
    types = (lib.c_pointer, lib.c_pointer, lib.c_size, lib.c_size)
    if precision in ("binary", "ubinary"):
        out = Output(m.n, (m.dim + 7) // 8, "int8" if precision == "binary" else "uint8")
        lib.function("cq_quantize_" + precision, None, *types)(out.address, m.address, m.n, m.dim)
        return out.value()
    if m.n < 100:
        logger.warning("%s of %d vectors: their ranges say little; 100 or more are better", precision, m.n)
    ranges = (ctypes.c_float * (2 * m.dim))()
    lib.function("cq_int8_ranges", None, *types)(ctypes.addressof(ranges), m.address, m.n, m.dim)
    out = Output(m.n, m.dim, "int8")
    f = lib.function("cq_quantize_int8", None, *types, lib.c_pointer)
    f(out.address, m.address, m.n, m.dim, ctypes.addressof(ranges))
    if precision == "int8":
        return out.value()
    np = numpy()
    if np is None:
        return [[v + 128 for v in row] for row in out.value()]
    return (out.value().astype(np.int16) + 128).astype(np.uint8)


def _items(encoder: Encoder, texts: Sequence[str], prompt: str, vectors: Any) -> list[dict[str, Any]]:
    """What ``output_value=None`` returns. A static model has no vectors of tokens."""
    if encoder.token_dim:
        ids, tokens = encoder.token_vectors(texts, prompt=prompt)
    else:
        ids, tokens = encoder.token_ids(texts, prompt=prompt), []
    items = []
    for i, row in enumerate(ids):
        item = {"sentence_embedding": _tensor_or_array(vectors[i], "float32")}
        if tokens:
            item["token_embeddings"] = _tensor_or_array(tokens[i], "float32")
        item.update(input_ids=_tensor_or_array(row, "int64"), attention_mask=_tensor_or_array([1] * len(row), "int64"))
        items.append(item)
    return items


def _check_device(device: Any) -> None:
    if isinstance(device, (list, tuple)):
        for one in device:
            _check_device(one)
        return
    if device is not None and str(device).split(":")[0] != "cpu":
        warnings.warn("calque computes on the CPU: the device %r is ignored" % str(device), stacklevel=3)


def _bar(done: int, n: int) -> None:
    print("\r%d of %d sentences" % (done, n), end="\n" if done == n else "", file=sys.stderr, flush=True)


def _need_numpy(what: str) -> Any:
    np = numpy()
    if np is None:
        raise ImportError("%s needs NumPy" % what)
    return np


def _as_float(x: Any) -> Any:
    m = Matrix(x, "embeddings")
    return m.keep


def _unit(a: Any) -> Any:
    np = numpy()
    return a / np.maximum(np.sqrt((a * a).sum(1, keepdims=True)), 1e-12)


def _tensor_or_array(x: Any, kind: str) -> Any:
    t, np = torch(), numpy()
    if t is not None and hasattr(t, "as_tensor"):
        return t.as_tensor(x, dtype=getattr(t, kind))
    return np.asarray(x, dtype=kind) if np is not None else x
