"""Arrays: no copies where none are needed, clear errors where a shape, type or stride does not fit."""

from __future__ import annotations

import unittest

import numpy as np
from support import SENTENCES, TEACHER, Case

import calque


class Arrays(Case):
    def setUp(self) -> None:
        super().setUp()
        self.model = calque.SentenceTransformer(TEACHER)
        self.encoder = self.model.encoder

    def test_out(self) -> None:
        fresh = self.encoder.encode(SENTENCES)
        self.assertEqual((fresh.dtype, fresh.shape), (np.float32, (len(SENTENCES), self.encoder.dim)))
        out = np.zeros_like(fresh)
        self.assertIs(self.encoder.encode(SENTENCES, out=out), out)
        self.assertTrue((out == fresh).all())
        n, dim = fresh.shape
        wrong = {
            "float64": np.zeros((n, dim)),
            ">f4": np.zeros((n, dim), ">f4"),
            "(%d, %d)" % (n, dim): np.zeros((n, dim + 1), np.float32),
            "contiguous": np.zeros((n, 2 * dim), np.float32)[:, ::2],
            "list": [[0.0]],
        }
        frozen = np.zeros((n, dim), np.float32)
        frozen.flags.writeable = False
        wrong["read-only"] = frozen
        for said, array in wrong.items():
            with self.subTest(said), self.assertRaises(calque.ArgumentError) as raised:
                self.encoder.encode(SENTENCES, out=array)
            self.assertIn(said, str(raised.exception))

    def test_in(self) -> None:
        a = self.encoder.encode(["A cat.", "A dog.", "A train."])
        found = calque.eval.translation_accuracy(a, a)
        self.assertEqual(found.mean, 1)
        for same in (a.astype(np.float64), np.asfortranarray(a), np.repeat(a, 2, 0)[::2], a.tolist()):
            self.assertEqual(calque.eval.translation_accuracy(same, a), found)
        for wrong in (a[:, :3], a[:2], a[None], np.array([["x"]]), np.array([object()]), [[1.0], [1.0, 2.0]],
                      a.astype(np.complex64), a > 0):
            with self.assertRaises(calque.ArgumentError):
                calque.eval.translation_accuracy(wrong, a)

    def test_not_finite(self) -> None:
        with calque.Index.new(self.folder / "i", model=TEACHER) as index:
            index.add([{"id": "1", "text": "A cat."}])
            index.commit()
            vectors = self.encoder.encode(["A cat."])
            self.assertEqual(index.search(None, vectors=vectors)[0][0].id, "1")
            vectors[0, 3] = np.nan
            with self.assertRaises(calque.ArgumentError):
                index.search(None, vectors=vectors)
            with self.assertRaises(calque.ArgumentError):
                index.search(["a", "b"], vectors=self.encoder.encode(["A cat."]))

    def test_precisions(self) -> None:
        v = self.model.encode(SENTENCES)
        bits = np.packbits(v > 0).reshape(len(v), -1)
        self.assertTrue((calque.quantize(v, "ubinary") == bits).all())
        self.assertTrue((calque.quantize(v, "binary") == (bits.astype(int) - 128)).all())
        self.assertTrue((calque.quantize(v, "uint8").astype(int) - 128 == calque.quantize(v, "int8")).all())
        self.assertEqual([calque.quantize(v, p).dtype for p in ("int8", "uint8")], [np.int8, np.uint8])

    def test_similarity(self) -> None:
        v = self.model.encode(SENTENCES)
        for name, pair in {
            "cosine": lambda a, b: a @ b / np.sqrt((a @ a) * (b @ b)),
            "dot": lambda a, b: a @ b,
            "euclidean": lambda a, b: -np.sqrt(((a - b) ** 2).sum()),
            "manhattan": lambda a, b: -np.abs(a - b).sum(),
        }.items():
            self.model.similarity_fn_name = name
            want = np.array([[pair(a, b) for b in v] for a in v.astype(np.float64)])
            self.assertLess(np.abs(np.asarray(self.model.similarity(v, v)) - want).max(), 2e-3)
            rolled = np.roll(v, 1, 0)
            want = np.array([pair(a, b) for a, b in zip(v.astype(np.float64), rolled)])
            self.assertLess(np.abs(np.asarray(self.model.similarity_pairwise(v, rolled)) - want).max(), 2e-3)
        with self.assertRaises(calque.ArgumentError):
            self.model.similarity_pairwise(v, v[:2])

    def test_columns(self) -> None:
        column = np.array(SENTENCES[:2], dtype=object)
        self.assertTrue((self.model.encode(column) == self.model.encode(SENTENCES[:2])).all())
        self.assertEqual(self.model.encode([]).shape, (0,))  # as sentence-transformers
        self.assertEqual(self.model.encode([], precision="ubinary").shape, (0,))
        self.assertEqual(self.encoder.encode([]).shape, (0, self.encoder.dim))
        self.assertEqual(self.model.encode([], output_value=None), [])
        with self.assertRaises(calque.ArgumentError):
            self.model.encode(np.zeros(2))


if __name__ == "__main__":
    unittest.main()
