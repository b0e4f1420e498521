"""sentence-transformers' own evaluators on a model opened by it and by calque: the same figures."""

from __future__ import annotations

import unittest

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.evaluation import (
    EmbeddingSimilarityEvaluator,
    InformationRetrievalEvaluator,
    MSEEvaluator,
    TranslationEvaluator,
)
from support import ROOT, TEACHER, Case, pairs

import calque


class Peers(Case):
    def setUp(self) -> None:
        super().setUp()
        self.theirs = SentenceTransformer(str(TEACHER), device="cpu")
        self.ours = calque.SentenceTransformer(TEACHER)
        rows = [line.rstrip("\n").split("\t") for line in pairs(60).splitlines()]
        self.source, self.target = [r[0] for r in rows], [r[1] for r in rows]

    def same(self, evaluator: object) -> None:
        a, b = evaluator(self.theirs), evaluator(self.ours)  # type: ignore[operator]
        self.assertEqual(a.keys(), b.keys())
        for name in a:
            self.assertAlmostEqual(float(a[name]), float(b[name]), places=6, msg=name)

    def test_readme(self) -> None:
        sentences = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
        a, b = self.theirs.encode(sentences), self.ours.encode(sentences)
        self.assertLess(np.abs(a - b).max(), 1e-5)
        for name in ("cosine", "dot", "euclidean", "manhattan"):
            self.theirs.similarity_fn_name = self.ours.similarity_fn_name = name
            for f in ("similarity", "similarity_pairwise"):
                x, y = getattr(self.theirs, f)(a, a), getattr(self.ours, f)(a, a)
                self.assertIsInstance(y, torch.Tensor)
                self.assertLess(float((x - y).abs().max()), 2e-3)
        for options in ({"convert_to_tensor": True}, {"convert_to_numpy": False}, {"normalize_embeddings": True}):
            x, y = self.theirs.encode(sentences, **options), self.ours.encode(sentences, **options)
            self.assertEqual((type(x), type(x[0])), (type(y), type(y[0])))
            self.assertLess(max(float(abs(p - q).max()) for p, q in zip(x, y)), 1e-5)

    def test_evaluators(self) -> None:
        self.same(TranslationEvaluator(self.source, self.target, write_csv=False))
        self.same(lambda m: MSEEvaluator(self.source, self.target, teacher_model=m, write_csv=False)(m))
        ids = [str(i) for i in range(60)]
        self.same(InformationRetrievalEvaluator(dict(zip(ids, self.target)), dict(zip(ids, self.source)),
                                                {i: {i} for i in ids}, write_csv=False))
        with open(ROOT / "sample" / "sts" / "en-en.tsv", encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f]
        gold = [float(r[2]) for r in rows]
        self.same(EmbeddingSimilarityEvaluator([r[0] for r in rows], [r[1] for r in rows], gold, write_csv=False))


if __name__ == "__main__":
    unittest.main()
