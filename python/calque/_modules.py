"""What programs reach into a model for: its tokenizer and its modules, as its configuration describes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

from ._arrays import numpy
from ._encoder import Encoder
from ._error import ArgumentError, Error


class Tokenizer:
    """A model's tokenizer under the names that programs use of transformers' tokenizers.

    Texts are truncated to the model's maximum sequence length, and padded to the longest.
    """

    def __init__(self, encoder: Encoder, described: dict[str, Any]) -> None:
        self._encoder, self._described = encoder, described.get("tokenizer") or {}
        for name in ("pad", "unk", "cls", "sep", "mask"):
            number = self._described.get(name)
            setattr(self, name + "_token_id", number)
            setattr(self, name + "_token", None if number is None else self._token(number))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            "calque's tokenizer has no %r: transformers' AutoTokenizer opens the same directory" % name
        )

    def _token(self, token_id: int) -> str:
        found = self._encoder.token(int(token_id))
        if found is None:
            raise ArgumentError("there is no token %d" % token_id)
        return found[0]

    def __call__(
        self,
        text: Union[str, Sequence[str]],
        padding: Any = True,
        truncation: Any = True,
        return_tensors: str | None = None,
        **other: Any,
    ) -> dict[str, Any]:
        """``input_ids`` and ``attention_mask``: lists, or what ``return_tensors`` says ("np" or "pt")."""
        for name in other:
            raise ArgumentError("calque's tokenizer has no argument %s" % name)
        if return_tensors not in (None, "np", "pt"):
            raise ArgumentError("return_tensors must be np or pt, not %r" % return_tensors)
        single = isinstance(text, str)
        ids = self._encoder.token_ids([text] if isinstance(text, str) else text, prompt="")
        width = max((len(i) for i in ids), default=0) if padding else 0
        pad = int(self._described.get("pad") or 0)
        rows = {
            "input_ids": [i + [pad] * (width - len(i)) for i in ids],
            "attention_mask": [[1] * len(i) + [0] * (width - len(i)) for i in ids],
        }
        if return_tensors == "pt":
            import torch  # type: ignore[import-not-found,unused-ignore]

            return {k: torch.tensor(v, dtype=torch.int64) for k, v in rows.items()}
        if return_tensors == "np":
            np = numpy()
            if np is None:
                raise ImportError("return_tensors='np' needs NumPy")
            return {k: np.array(v, dtype="int64") for k, v in rows.items()}
        return {k: v[0] for k, v in rows.items()} if single else dict(rows)

    def encode(self, text: str) -> list[int]:
        """Ids with special tokens."""
        return self._encoder.token_ids([text], prompt="")[0]

    def convert_ids_to_tokens(self, ids: Union[int, Sequence[int]]) -> Any:
        return self._token(ids) if isinstance(ids, int) else [self._token(i) for i in ids]

    def tokenize(self, text: str) -> list[str]:
        """Tokens without the special ones; a token has no mark of its place in a word."""
        found = [self._encoder.token(i) for i in self.encode(text)]
        return [t[0] for t in found if t is not None and not t[1]]

    @property
    def vocab_size(self) -> int:
        return self._encoder.vocab_size

    @property
    def model_max_length(self) -> int:
        return self._encoder.max_seq_length

    def __len__(self) -> int:
        return self.vocab_size


class Module:
    """One of a model's modules: ``type`` and the values of its configuration (``module.config``). It is no module of
    PyTorch and cannot be called."""

    def __init__(self, config: dict[str, Any], model: Any, is_first: bool) -> None:
        self.type: str = config["type"]
        self.config = config
        if is_first:
            self.tokenizer, self.max_seq_length = model.tokenizer, model.max_seq_length
        if self.type == "Pooling":
            self.include_prompt = config.get("include_prompt", True)
            self.pooling_mode = "+".join(config.get("modes", []))

    def get_word_embedding_dimension(self) -> int:
        return int(self.config["output_dim"])

    get_embedding_dimension = get_sentence_embedding_dimension = get_word_embedding_dimension

    def get_config_dict(self) -> dict[str, Any]:
        return dict(self.config)

    def get_pooling_mode_str(self) -> str:
        if self.type != "Pooling":
            raise Error("unsupported", "a %s module has no pooling mode" % self.type)
        return self.pooling_mode

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            "calque's %s module has no %r: it describes the model, and is not PyTorch's" % (self.__dict__.get("type"), name)
        )

    def __repr__(self) -> str:
        return "%s(%s)" % (self.type, ", ".join("%s=%r" % x for x in self.config.items() if x[0] != "type"))


def modules_of(model: Any) -> list[Module]:
    return [Module(m, model, i == 0) for i, m in enumerate(model._described["modules"])]
