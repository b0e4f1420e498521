"""sentence-transformers' own evaluators on a model opened by it and by calque: the same figures."""

from __future__ import annotations

import subprocess
import sys
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

    def test_as_theirs(self) -> None:
        self.assertEqual(self.ours.encode([]).shape, self.theirs.encode([]).shape)
        self.assertEqual(self.ours.encode([], convert_to_tensor=True).shape, self.theirs.encode([], convert_to_tensor=True).shape)
        self.assertEqual(self.ours.encode([], convert_to_numpy=False), self.theirs.encode([], convert_to_numpy=False))
        for name in ("query", "document"):
            a, b = (m.encode("A cat.", prompt_name=name) for m in (self.theirs, self.ours))
            self.assertLess(np.abs(a - b).max(), 1e-5)
        a, b = (m.encode(["A cat sleeps.", "A dog."], output_value=None) for m in (self.theirs, self.ours))
        self.assertLess(set(b[0]), set(a[0]))
        for name in set(b[0]) - {"token_embeddings"}:
            self.assertLess(float((a[0][name] - b[0][name]).abs().max()), 1e-5, name)
        self.assertEqual(self.ours.tokenizer("A cat.")["input_ids"], self.theirs.tokenizer("A cat.")["input_ids"])
        self.assertEqual([type(m).__name__ for m in self.theirs], [m.type for m in self.ours])
        self.assertEqual((len(self.ours), self.ours[0].max_seq_length), (len(self.theirs), self.theirs[0].max_seq_length))
        if self.ours.encoder.token_dim:
            a, b = (m.encode(self.source, output_value="token_embeddings") for m in (self.theirs, self.ours))
            for x, y in zip(a, b):
                self.assertEqual(x.shape, y.shape)
                self.assertLess(float((x - y).abs().max()), 1e-4)

    def test_saved(self) -> None:
        """Nothing is missing in a saved model, so that transformers has nothing to report."""
        self.ours.save(self.folder / "out")
        code = "import sys; from sentence_transformers import SentenceTransformer as S; print(S(sys.argv[1], device='cpu').encode('A cat.')[0])"
        done = subprocess.run([sys.executable, "-c", code, str(self.folder / "out")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAlmostEqual(float(done.stdout), float(self.ours.encode("A cat.")[0]), places=5)
        self.assertNotIn("REPORT", done.stderr)
        self.assertNotIn("MISSING", done.stderr)

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
