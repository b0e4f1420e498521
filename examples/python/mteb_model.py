"""MTEB: calque as an encoder of its tasks. Names tasks to run; without one the wrapper is tried on two sentences.

    python mteb_model.py [MODEL [TASK ...]]
"""

import sys
from typing import Any

import mteb
import numpy as np

import calque


class CalqueModel:
    """What MTEB asks of an encoder: `encode` for batches of {"text": [...]} (MTEB 2) or lists of text (MTEB 1)."""

    def __init__(self, name: str | None = None) -> None:
        self.model = calque.SentenceTransformer(name)
        self.mteb_model_meta = None

    def encode(self, inputs: Any, **kwargs: Any) -> np.ndarray:
        texts: list[str] = []
        for batch in inputs:
            texts += [batch] if isinstance(batch, str) else list(batch["text"])
        prompt_type = getattr(kwargs.get("prompt_type"), "value", kwargs.get("prompt_type"))
        encode = {"query": self.model.encode_query, "document": self.model.encode_document}
        return encode.get(prompt_type, self.model.encode)(texts)

    def similarity(self, a: Any, b: Any) -> Any:
        return self.model.similarity(a, b)

    def similarity_pairwise(self, a: Any, b: Any) -> Any:
        return self.model.similarity_pairwise(a, b)


if __name__ == "__main__":
    model = CalqueModel(sys.argv[1] if len(sys.argv) > 1 else None)
    if len(sys.argv) > 2:
        print(mteb.evaluate(model, mteb.get_tasks(tasks=sys.argv[2:])))
    else:
        assert isinstance(model, mteb.EncoderProtocol), "no encoder to MTEB %s" % mteb.__version__
        sentences = ["The train is late.", "The cat sleeps."]
        one = model.encode([{"text": sentences}])
        assert one.shape[0] == 2 and np.array_equal(one, model.encode(sentences))
        print("an encoder to MTEB", mteb.__version__)
