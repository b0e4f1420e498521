"""The package with nothing but Python's own library. Where NumPy is installed it is hidden, so that its absence is
what is tested."""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import unittest
import unittest.mock
from pathlib import Path

sys.modules["numpy"] = None  # type: ignore[assignment]

from support import ROOT, SENTENCES, TEACHER, Case, pairs

import calque
import calque.__main__
import calque._library


class Encoding(Case):
    def setUp(self) -> None:
        super().setUp()
        self.encoder = calque.Encoder(TEACHER)

    def test_lists_without_numpy(self) -> None:
        vectors = self.encoder.encode(SENTENCES)
        self.assertEqual((len(vectors), {len(v) for v in vectors}), (6, {self.encoder.dim}))
        self.assertIsInstance(vectors[0][0], float)
        self.assertEqual(self.encoder.encode([]), [])
        self.assertEqual(vectors[1], self.encoder.encode(SENTENCES[1:2])[0])

    def test_models_that_calque_comes_with(self) -> None:
        wanted = self.encoder.encode(["A cat."])
        (self.folder / "calque-small").symlink_to(TEACHER)
        damaged = self.folder / "calque-base"
        damaged.mkdir()
        with unittest.mock.patch.dict(os.environ, CALQUE_MODELS=str(self.folder)):
            self.assertEqual(calque.Encoder("small").encode(["A cat."]), wanted)
            self.assertEqual(calque.SentenceTransformer("small").encode(["A cat."]), wanted)
            for name in ("modules.json", "config.json"):
                (damaged / name).write_text("{")
                with self.assertRaisesRegex(calque.Error, "model calque-base is damaged: reinstall calque"):
                    calque.SentenceTransformer()
        with unittest.mock.patch.dict(os.environ, CALQUE_MODELS=str(self.folder / "nowhere")):
            with self.assertRaisesRegex(calque.Error, "calque-small: .* is not installed: looked in .*nowhere"):
                calque.Encoder("small")

    def test_options(self) -> None:
        short = self.encoder.encode(["A cat."], truncate_dim=8, normalize=True)[0]
        self.assertEqual(len(short), 8)
        self.assertAlmostEqual(sum(x * x for x in short), 1, places=5)
        with self.assertRaises(calque.ArgumentError) as raised:
            self.encoder.encode(["A cat."], promt="x")
        self.assertIn("did you mean prompt", str(raised.exception))
        for wrong in ({"normalize": 1}, {"truncate_dim": "8"}, {"truncate_dim": 1.5}, {"truncate_dim": True}):
            with self.subTest(wrong), self.assertRaises(calque.ArgumentError):
                self.encoder.encode(["A cat."], **wrong)
        with self.assertRaises(calque.Error) as limit:
            self.encoder.encode(["A cat.", "word " * 5000], strict=True)
        self.assertEqual((limit.exception.code, limit.exception.line), ("limit", 2))

    def test_bad_sentences(self) -> None:
        with self.assertRaises(calque.Error) as raised:
            self.encoder.encode(["A cat.", "\ud800"])
        self.assertEqual((raised.exception.code, raised.exception.line), ("format", 2))
        for wrong in ([b"bytes"], [None], [1], "one string"):
            with self.subTest(wrong), self.assertRaises(calque.ArgumentError) as argument:
                self.encoder.encode(wrong)  # type: ignore[arg-type]
            self.assertEqual(argument.exception.code, "argument")

    def test_line_of_a_later_block(self) -> None:
        with self.assertRaises(calque.Error) as raised:
            self.encoder.encode(["A cat."] * 100 + ["word " * 5000], strict=True)
        self.assertEqual(raised.exception.line, 101)

    def test_progress(self) -> None:
        told: list[tuple[int, int]] = []
        self.encoder.encode(["A cat."] * 100, progress=lambda done, n: told.append((done, n)))
        self.assertEqual((told[0], told[-1]), ((64, 100), (100, 100)))
        with self.assertRaises(calque.Error) as raised:
            self.encoder.encode(["A cat."] * 100, progress=lambda done, n: False)
        self.assertEqual(raised.exception.code, "stopped")

    def test_token_ids(self) -> None:
        first, second = self.encoder.token_ids(["A cat.", ""])
        self.assertGreater(len(first), len(second))
        self.assertIsNotNone(self.encoder.token(first[0]))
        self.assertIsNone(self.encoder.token(10**8))
        self.assertIsNone(self.encoder.token(-1))
        self.assertIsNone(self.encoder.token(2**40))  # not token 0

    def test_closed(self) -> None:
        self.encoder.close()
        self.encoder.close()
        with self.assertRaises(calque.ArgumentError) as raised:
            self.encoder.encode(["A cat."])
        self.assertIn("closed", str(raised.exception))

    def test_not_a_model(self) -> None:
        with self.assertRaises(calque.Error) as raised:
            calque.Encoder(self.folder / "nowhere")
        self.assertEqual(raised.exception.code, "io")
        self.assertTrue(raised.exception.file.endswith("nowhere"))
        for wrong in (None, 3, b"x"):
            with self.assertRaises(calque.ArgumentError):
                calque.Encoder(wrong)  # type: ignore[arg-type]
        with self.assertRaises(calque.ArgumentError):
            calque.Encoder("a\0b")
        with self.assertRaises(TypeError):
            pickle.dumps(self.encoder)
        again = pickle.loads(pickle.dumps(calque.ArgumentError("x", "f", 3)))
        self.assertEqual((again.code, again.file, again.line, str(again)), ("argument", "f", 3, "x"))

    def test_threads_agree(self) -> None:
        alone = self.encoder.encode(SENTENCES * 10)
        found: list[object] = [None] * 8

        def work(i: int) -> None:
            found[i] = self.encoder.encode(SENTENCES * 10)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertTrue(all(f == alone for f in found))

    def test_fork(self) -> None:
        alone = self.encoder.encode(SENTENCES)
        child = os.fork()
        if child == 0:
            os._exit(0 if self.encoder.encode(SENTENCES) == alone else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


class SentenceTransformer(Case):
    def test_encode(self) -> None:
        with calque.SentenceTransformer(TEACHER, prompts={"query": "find: "}) as model:
            one = model.encode("A cat.")
            self.assertEqual(one, model.encode(["A cat."])[0])
            asked = model.encode("find: A cat.")
            for same in (
                model.encode("A cat.", prompt_name="query"),
                model.encode("A cat.", prompt="find: "),
                model.encode_query("A cat."),
            ):
                self.assertEqual(same, asked)
            self.assertEqual(model.encode_document("A cat."), one)
            with self.assertRaises(ValueError):
                model.encode("A cat.", prompt_name="passage")
            with calque.SentenceTransformer(TEACHER) as bare:  # without prompts, the two names are known and empty
                for name in ("query", "document"):
                    self.assertEqual(bare.encode("A cat.", prompt_name=name), one)
                with self.assertRaisesRegex(ValueError, r"'passage' not found .* keys \['query', 'document'\]"):
                    bare.encode("A cat.", prompt_name="passage")
            with model.truncate_sentence_embeddings(8):
                self.assertEqual(len(model.encode("A cat.")), 8)
                self.assertEqual(model.get_sentence_embedding_dimension(), 8)
            self.assertEqual(len(model.encode(["A cat."], precision="ubinary")[0]), model.encoder.dim // 8)
            with self.assertRaises(calque.ArgumentError):
                model.encode("A cat.", precision="float16")
            for wrong in ({"output_value": "tokens"}, {"batch_size": 0}, {"batch_size": True}):
                with self.subTest(wrong), self.assertRaises(calque.ArgumentError):
                    model.encode("A cat.", **wrong)
            with self.assertRaises(ImportError):
                model.similarity([one], [one])

    def test_output_values(self) -> None:
        model = calque.SentenceTransformer(TEACHER)
        items = model.encode(SENTENCES, output_value=None)
        self.assertEqual([i["sentence_embedding"] for i in items], model.encode(SENTENCES))
        self.assertEqual([i["input_ids"] for i in items], model.encoder.token_ids(SENTENCES))
        self.assertEqual(items[0]["attention_mask"], [1] * len(items[0]["input_ids"]))
        self.assertEqual(model.encode(SENTENCES[0], output_value=None), items[0])
        static = calque.SentenceTransformer(ROOT / "tests" / "golden" / "models" / "static-mean")
        self.assertNotIn("token_embeddings", static.encode("A cat.", output_value=None))
        with self.assertRaises(calque.Error) as raised:
            static.encode("A cat.", output_value="token_embeddings")
        self.assertEqual(raised.exception.code, "unsupported")
        if not hasattr(calque._library.library(), "cq_encoder_token_vectors"):
            self.skipTest("this library gives no vectors of tokens")
        rows = model.encode(SENTENCES, output_value="token_embeddings")
        self.assertEqual([len(r) for r in rows], [len(i["input_ids"]) for i in items])
        self.assertEqual(rows[0], items[0]["token_embeddings"])
        self.assertEqual(model.encode([], output_value="token_embeddings"), [])
        for row, vector in zip(rows, model.encode(SENTENCES)):  # the teacher's pooling is the mean
            for column, x in zip(zip(*row), vector):
                self.assertAlmostEqual(sum(column) / len(row), x, places=4)

    def test_modules(self) -> None:
        model = calque.SentenceTransformer(TEACHER)
        self.assertEqual([m.type for m in model], ["Transformer", "Pooling"])
        self.assertEqual((len(model), model[-1].get_pooling_mode_str(), model[0].max_seq_length), (2, "mean", 64))
        self.assertEqual(model[0].get_word_embedding_dimension(), 128)
        with self.assertRaises(IndexError):
            model[2]
        with self.assertRaisesRegex(AttributeError, "no 'auto_model'"):
            model[0].auto_model
        tokenizer = model[0].tokenizer
        ids = tokenizer.encode("A cat.")
        self.assertEqual((ids[0], ids[-1]), (tokenizer.cls_token_id, tokenizer.sep_token_id))
        self.assertEqual(tokenizer.convert_ids_to_tokens(ids), [tokenizer.cls_token, "a", "cat", ".", tokenizer.sep_token])
        self.assertEqual(tokenizer.tokenize("A cat."), ["a", "cat", "."])
        self.assertEqual((tokenizer.model_max_length, len(tokenizer)), (64, 1400))
        padded = tokenizer(["A cat.", ""])
        self.assertEqual(padded["input_ids"][1], [0, 2] + [tokenizer.pad_token_id] * (len(ids) - 2))
        self.assertEqual(padded["attention_mask"][1], [1, 1] + [0] * (len(ids) - 2))
        self.assertEqual(tokenizer(["A cat.", ""], padding=False)["input_ids"], [ids, [0, 2]])
        self.assertEqual(tokenizer("A cat.")["input_ids"], ids)
        for wrong in (lambda: tokenizer("x", return_tensors="tf"), lambda: tokenizer("x", max_length=3),
                      lambda: tokenizer.convert_ids_to_tokens([1400])):
            with self.assertRaises(calque.ArgumentError):
                wrong()

    def test_processes(self) -> None:
        model = calque.SentenceTransformer(TEACHER)
        pool = model.start_multi_process_pool(["cpu", "cpu"])
        wanted = model.encode(SENTENCES)
        self.assertEqual(model.encode(SENTENCES, pool=pool, chunk_size=2), wanted)
        self.assertEqual(model.encode(SENTENCES, device=["cpu", "cpu"]), wanted)
        self.assertEqual(model.encode_multi_process(SENTENCES, pool, batch_size=2), wanted)
        model.stop_multi_process_pool(pool)
        with self.assertWarns(UserWarning):
            model.start_multi_process_pool(["cpu", "cuda:0"])

    def test_what_the_program_does(self) -> None:
        model = calque.SentenceTransformer(TEACHER)
        for call, command in ((model.fit, "calque finetune"), (lambda: model.push_to_hub("a/b"), "calque model put DIRECTORY a/b")):
            with self.assertRaises(calque.Error) as raised:
                call()
            self.assertEqual(raised.exception.code, "unsupported")
            self.assertIn(command, str(raised.exception))

    def test_tasks(self) -> None:
        router = ROOT / "tests" / "golden" / "models" / "router"
        model = calque.SentenceTransformer(router)
        text = ["A cat sleeps."]
        query, document = (calque.Encoder(router, task=task) for task in ("query", "document"))
        self.assertNotEqual(query.encode(text, prompt=""), document.encode(text, prompt=""))
        self.assertEqual(model.encode_query(text), query.encode(text))
        self.assertEqual(model.encode_document(text), document.encode(text))
        self.assertEqual(model.encode(text, task="query"), query.encode(text, prompt=""))
        self.assertEqual(model.encode(text), document.encode(text, prompt=""))
        with self.assertRaises(calque.ArgumentError) as raised:
            model.encode(text, task="clustering")
        self.assertIn("query, document", str(raised.exception))
        for closed in (model, calque.SentenceTransformer(router)):
            closed.close()
            with self.assertRaises(calque.ArgumentError):
                closed.encode_query(text)

    def test_arguments(self) -> None:
        model = calque.SentenceTransformer(TEACHER, processor_kwargs={})
        self.assertEqual(model.encode(inputs=["A cat."]), model.encode(["A cat."]))
        self.assertEqual(model.encode_query(inputs="A cat."), model.encode("A cat."))
        self.assertEqual(model.encode("A cat.", pool=None, chunk_size=None, task="query"), model.encode("A cat."))
        for wrong in ({"normalise_embeddings": True}, {"batchsize": 3}):
            with self.subTest(wrong), self.assertRaises(ValueError) as raised:
                model.encode("A cat.", **wrong)  # type: ignore[arg-type]
            self.assertIn(next(iter(wrong)), str(raised.exception))
        with self.assertRaises(ValueError):
            model.encode()

    def test_revision(self) -> None:
        cached = self.folder / "models--org--model"
        (cached / "refs").mkdir(parents=True)
        (cached / "snapshots").mkdir()
        for name, commit, target in (("main", "a" * 40, "static-mean"), ("v2", "b" * 40, "pool-max-new")):
            (cached / "refs" / name).write_text(commit)
            (cached / "snapshots" / commit).symlink_to(ROOT / "tests" / "golden" / "models" / target)
        with unittest.mock.patch.dict(os.environ, {"HF_HUB_CACHE": str(self.folder)}):
            first = calque.SentenceTransformer("org/model")
            second = calque.SentenceTransformer("org/model", revision="v2")
            self.assertNotEqual(first.encode("A cat."), second.encode("A cat."))
            with self.assertRaises(calque.Error):
                calque.SentenceTransformer("org/model", revision="v3")
        for wrong in (TEACHER, None):
            with self.assertRaises(calque.ArgumentError):
                calque.SentenceTransformer(wrong, revision="main")

    def test_mapping(self) -> None:
        model = calque.SentenceTransformer(TEACHER)
        with self.assertRaises(calque.ArgumentError):
            model.encode({"text": 1})
        with self.assertRaises(calque.ArgumentError):
            model.encoder.encode({"text": 1})  # type: ignore[arg-type]

    def test_devices(self) -> None:
        with self.assertWarns(UserWarning):
            calque.SentenceTransformer(TEACHER, device="cuda")
        with self.assertRaises(ValueError):
            calque.SentenceTransformer(TEACHER, default_prompt_name="query")
        with self.assertRaises(ValueError):
            calque.SentenceTransformer(TEACHER, similarity_fn_name="cosinus")

    def test_save(self) -> None:
        model = calque.SentenceTransformer(TEACHER, prompts={"query": "find: "}, default_prompt_name="query")
        model.save(self.folder / "out")
        again = calque.SentenceTransformer(self.folder / "out")
        self.assertEqual((again.prompts, again.default_prompt_name), ({"query": "find: "}, "query"))
        self.assertEqual(again.encode("A cat."), model.encode("A cat."))
        card = (self.folder / "out" / "README.md").read_text()
        self.assertEqual(card, (TEACHER / "README.md").read_text())  # the model's own
        config = json.loads((self.folder / "out" / "sentence_bert_config.json").read_text())
        self.assertEqual(config["model_args"], {"add_pooling_layer": False})  # no weights are reported as missing
        bare = calque.SentenceTransformer(ROOT / "tests" / "golden" / "models" / "modernbert")
        bare.save(self.folder / "bare")
        self.assertNotIn("model_args", (self.folder / "bare" / "sentence_bert_config.json").read_text())
        written = (self.folder / "bare" / "README.md").read_text()
        self.assertTrue(written.startswith("---\nlibrary_name: sentence-transformers\n"), written)
        for line in ("# bare", "- dimensions: %d" % bare.encoder.dim, "- similarity: cosine"):
            self.assertIn("\n%s\n" % line, written)
        bare.save(self.folder / "none", create_model_card=False)
        self.assertFalse((self.folder / "none" / "README.md").exists())
        model.save(self.folder / "out")  # a model's directory is replaced, another is not
        (self.folder / "mine").mkdir()
        self.write("mine/letter.txt", "x")
        with self.assertRaises(calque.ArgumentError):
            model.save(self.folder / "mine")
        self.assertTrue((self.folder / "mine" / "letter.txt").exists())

    def test_max_seq_length(self) -> None:
        model = calque.SentenceTransformer(TEACHER)
        model.max_seq_length = 4
        self.assertEqual(model.max_seq_length, 4)
        rows = model.tokenize(["one two three four five six", "one"])
        self.assertEqual({len(r) for r in rows["input_ids"]}, {4})

    def test_shipped_model(self) -> None:
        self.assertEqual(len(calque.SentenceTransformer().encode("Hallo")), 384)


class CrossEncoder(Case):
    def setUp(self) -> None:
        super().setUp()
        self.root = ROOT / "tests" / "golden" / "rerankers"
        rows = [line.split("\t") for line in (self.root / "pairs.tsv").read_text(encoding="utf-8").splitlines()]
        self.pairs = [(query, passage) for query, passage in rows]
        raw = (self.root / "bert" / "logits.npy").read_bytes()
        self.wanted = struct.unpack("<%df" % len(rows), raw[-4 * len(rows) :])

    def test_predict(self) -> None:
        with calque.CrossEncoder(self.root / "bert") as model:
            self.assertEqual(model.max_length, 40)
            logits = model.predict(self.pairs, activation_fn=lambda x: x)
            scores = model.predict(self.pairs)
            one = model.predict(self.pairs[1])
            self.assertEqual(model.predict([]), [])
        for logit, score, wanted in zip(logits, scores, self.wanted):
            self.assertAlmostEqual(logit, wanted, places=5)
            self.assertAlmostEqual(score, 1 / (1 + math.exp(-wanted)), places=5)
        self.assertEqual(one, scores[1])
        with self.assertRaisesRegex(calque.ArgumentError, "closed"):
            model.predict(self.pairs)

    def test_rank(self) -> None:
        model = calque.CrossEncoder(str(self.root / "bert-vocab"), max_length=20, precision="f32")  # Identity
        query, passages = self.pairs[0][0], [p for _, p in self.pairs]
        ranked = model.rank(query, passages, top_k=3, return_documents=True)
        scores = model.logits([query] * len(passages), passages)
        best = sorted(range(len(passages)), key=lambda i: -scores[i])[:3]
        self.assertEqual([r["corpus_id"] for r in ranked], best)
        self.assertEqual([r["score"] for r in ranked], [scores[i] for i in best])
        self.assertEqual([r["text"] for r in ranked], [passages[i] for i in best])
        self.assertEqual(sorted(model.rank(query, passages)[0]), ["corpus_id", "score"])

    def test_wrong(self) -> None:
        for name, why in (("three-labels", "3 labels"), ("../models/bert-cased", "embedding model")):
            with self.assertRaisesRegex(calque.Error, why) as caught:
                calque.CrossEncoder(self.root / name)
            self.assertEqual(caught.exception.code, "unsupported")
        model = calque.CrossEncoder(self.root / "xlmr")
        with self.assertRaisesRegex(calque.ArgumentError, "pair 2 must have"):
            model.predict([("a", "b"), ("a", "b", "c")])
        with self.assertRaisesRegex(calque.ArgumentError, "2 queries have 1 passages"):
            model.logits(["a", "b"], ["a"])
        with self.assertRaisesRegex(calque.ArgumentError, "a list of strings"):
            model.rank("a", "b")  # type: ignore[arg-type]


class Index(Case):
    def test_life(self) -> None:
        documents = [
            {"id": "1", "text": "A cat sleeps.", "year": 2020},
            calque.Document("2", "The train is late.", "en", title="Rail", metadata={"year": 2024}),
        ]
        with calque.Index.new(self.folder / "i", model=TEACHER) as index:
            self.assertEqual(index.add(documents), 2)
            self.assertEqual(len(index), 0)
            index.commit()
            self.assertEqual(len(index), 2)
            hits = index.search("The train is late.", top=1)
            self.assertEqual([(h.id, h.title, h.metadata) for h in hits], [("2", "Rail", {"year": 2024})])
            self.assertGreater(hits[0].cosine, 0.5)  # of title and text
            self.assertEqual(index.search("The train is late.", k=1), hits)
            by_words = index.search("train", ranking="words")
            self.assertEqual([h.id for h in by_words], ["2"])
            for same in ({"ranking": "lexical"}, {"mode": "words"}, {"mode": "lexical"}):
                self.assertEqual(index.search("train", **same), by_words)
            for wrong in ({"k": 1, "top": 1}, {"mode": "dense", "ranking": "dense"}, {"mode": "nearest"}):
                with self.assertRaises(calque.ArgumentError):
                    index.search("train", **wrong)
            self.assertEqual([[h.id for h in one] for one in index.search(["cat", "x"], filter="year < 2021")], [["1"]] * 2)
            vectors = calque.Encoder(TEACHER).encode(["A cat sleeps."])
            self.assertEqual(index.search(None, vectors=vectors)[0][0].id, "1")
            with self.assertRaises(calque.ArgumentError):
                index.search(None, vectors=[[1.0, 2.0]])
            with self.assertRaises(calque.ArgumentError) as raised:
                index.search("x", filter="year >>")
            self.assertIn("byte 7", str(raised.exception))
            self.assertEqual(index.get("2"), documents[1])
            self.assertIsNone(index.get("3"))
            self.assertEqual(index.delete(["1", "3"]), 1)
            index.commit()
        with calque.Index.open(self.folder / "i") as index:
            self.assertEqual((len(index), index.dim, index.model), (1, calque.Encoder(TEACHER).dim, str(TEACHER)))
            with self.assertRaises(calque.ArgumentError):
                index.add([{"id": "3", "text": "x"}])
        with self.assertRaises(calque.ArgumentError):
            index.search("x")

    def test_default_model(self) -> None:
        with unittest.mock.patch.dict(os.environ, CALQUE_MODELS=str(self.folder)):
            (self.folder / "calque-base").symlink_to(TEACHER)
            with calque.Index.new(self.folder / "i") as index:
                self.assertEqual((index.model, index.dim), (calque.DEFAULT_MODEL, 128))

    def test_bad_documents(self) -> None:
        with calque.Index.new(self.folder / "i", model=TEACHER) as index:
            for wrong in ({"text": "x"}, {"id": 1, "text": "x"}, {"id": "1", "text": "x", "m": object()}, "x",
                          {"id": "1", "text": "x", "title": 3}):
                with self.subTest(wrong), self.assertRaises(calque.ArgumentError) as raised:
                    index.add([{"id": "0", "text": "good"}, wrong])  # type: ignore[list-item]
                self.assertIn("document 2", str(raised.exception))
            with self.assertRaises(calque.ArgumentError):
                index.add([{"id": "", "text": "x"}])


class Training(Case):
    def setUp(self) -> None:
        super().setUp()
        self.train = self.write("en-de.tsv", pairs(64))
        self.student = self.folder / "student"
        calque.new_student(str(self.student), kind="copy", from_=TEACHER)

    def distill(self, progress: object, **more: object) -> calque.Result:
        return calque.distill(
            teacher=TEACHER, student=self.student, train={"de": self.train}, output=self.folder / "out", batch=8,
            steps=4, cache=self.folder / "cache", progress=progress, resume=True, **more,  # type: ignore[arg-type]
        )

    def test_distill(self) -> None:
        def boom(_: calque.Progress) -> None:
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            self.distill(boom)
        with self.assertRaises(calque.Error) as stopped:
            self.distill(lambda _: False)
        self.assertEqual(stopped.exception.code, "stopped")
        with self.assertRaises(KeyboardInterrupt):
            self.distill(lambda _: os.kill(os.getpid(), signal.SIGINT))
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        phases = set()
        result = self.distill(lambda p: phases.add(p.phase))
        self.assertEqual(result.steps, 4)
        self.assertIsNone(result.best_score)
        self.assertIn("teacher", phases)
        self.assertEqual(calque.Encoder(self.folder / "out").dim, calque.Encoder(TEACHER).dim)

    def test_finetune(self) -> None:
        result = calque.finetune(
            model=self.student, pairs=[self.train], output=self.folder / "out", batch=8, steps=2,
        )
        self.assertEqual(result.steps, 2)

    def test_wrong(self) -> None:
        bad = self.write("bad.tsv", "one column\n")
        with self.assertRaises(calque.Error) as raised:
            calque.finetune(model=self.student, pairs=bad, output=self.folder / "out", steps=1)
        self.assertEqual((raised.exception.code, raised.exception.line), ("format", 1))
        self.assertTrue(raised.exception.file.endswith("bad.tsv"))
        with self.assertRaises(calque.ArgumentError):
            calque.extend(TEACHER, to=str(self.train), output="x", kind="bodie")
        with self.assertRaises(calque.ArgumentError):
            calque.extend(TEACHER, to=3, output="x")
        with self.assertRaisesRegex(calque.ArgumentError, "contrast: for vectors"):
            calque.extend(ROOT / "tests" / "golden" / "rerankers" / "bert", to=self.train, output="x", contrast=1)

    def test_extend_tells(self) -> None:
        told: list[calque.Progress] = []

        def tell(p: calque.Progress) -> bool:
            told.append(p)
            return False

        with self.assertRaises(calque.Error) as raised:
            calque.extend(TEACHER, to={"de": self.train}, output=self.folder / "e", progress=tell)
        self.assertEqual((raised.exception.code, len(told)), ("stopped", 1))


class Measures(Case):
    def test_files(self) -> None:
        same = self.write("t.tsv", "A cat sleeps.\tA cat sleeps.\nThe train is late.\tThe train is late.\n")
        self.assertEqual(calque.eval.translation(TEACHER, same), (1, 1, 1, 2, 0))
        self.assertEqual(calque.eval.search(TEACHER, TEACHER, same).mrr, 1)
        with calque.Encoder(TEACHER) as encoder:
            self.assertEqual(calque.eval.mse(encoder, encoder, same).target, 0)
            self.assertEqual(calque.eval.xsim(encoder, same, max_rows=1).n, 1)
        sts = self.write("s.tsv", "A cat.\tA cat.\t5\nA cat.\tThe train is late.\t0\n")
        self.assertAlmostEqual(calque.eval.sts(calque.SentenceTransformer(TEACHER), sts).pearson, 1)
        bad = self.write("bad.tsv", "a\tb\t1\na\tb\tmuch\n")
        with self.assertRaises(calque.Error) as raised:
            calque.eval.sts(TEACHER, bad)
        self.assertEqual((raised.exception.code, raised.exception.line), ("format", 2))
        self.assertEqual(calque.eval.translation_accuracy([[1, 0], [0, 1]], [[1, 0], [0, 1]]).mean, 1)
        with self.assertRaises(calque.ArgumentError):
            calque.eval.translation_accuracy([[1, 0]], [[1, 0], [0, 1]])
        for empty in ([], [[]]):
            with self.assertRaises(calque.ArgumentError):
                calque.eval.translation_accuracy(empty, empty)

    def test_mine(self) -> None:
        told: list[str] = []
        found = calque.mine(
            ["A cat sleeps.", "The train is late."], ["The train is late.", "A cat sleeps."], model=TEACHER,
            progress=lambda what, done, n: told.append(what), cache=self.folder,
        )
        self.assertEqual([(p.source, p.target) for p in found if p.source != p.target], [])
        self.assertEqual(len(found), 2)
        self.assertEqual(set(told), {"encode", "search"})
        with self.assertRaises(calque.Error) as raised:
            calque.mine(["a"], ["b"], model=TEACHER, progress=lambda *_: False, cache=self.folder)
        self.assertEqual(raised.exception.code, "stopped")
        with self.assertRaises(calque.ArgumentError):
            calque.mine(["a", 3], ["b"], model=TEACHER)  # type: ignore[list-item]


class Align(Case):
    """Twenty of the sample's sentences in German; the sixth is missing, and the eleventh and twelfth are one."""

    def setUp(self) -> None:
        super().setUp()
        rows = dict(reversed(line.split("\t")[:2]) for line in pairs(60).splitlines())  # each German sentence once
        both = list({english: german for german, english in rows.items()}.items())[:20]
        self.english = [english for english, _ in both]
        german = [german for _, german in both]
        self.german = [*german[:5], *german[6:10], german[10] + " " + german[11], *german[12:]]

    def align(self, source: object, target: object, **more: object) -> list[calque.Bead]:
        return calque.align(source, target, cache=self.folder / "cache", languages=["en", "de"], **more)  # type: ignore[arg-type]

    def test_beads(self) -> None:
        beads = self.align(self.english, self.german)
        self.assertEqual([list(b.source_rows) for b in beads][:11],
                         [[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10, 11]])
        alone = beads[5]
        self.assertEqual((alone.score, alone.source, alone.target, list(alone.target_rows)), (0, self.english[5], None, []))
        merged = beads[10]
        self.assertEqual(merged.source, " ".join(self.english[10:12]))
        self.assertEqual((merged.target, list(merged.target_rows)), (self.german[9], [9]))
        self.assertTrue(all(0 < b.score <= 1 for b in beads if b is not alone))
        self.assertEqual({(b.source_id, b.target_id) for b in beads}, {("", "")})
        source = self.write("a.txt", "\n".join(self.english) + "\n")
        target = self.write("b.txt", "\n".join(self.german) + "\n")
        files = self.align(source, target, lines=True)
        self.assertEqual([b[:5] for b in files], [b[:5] for b in beads])
        self.assertTrue(files[0].source_id.endswith("a.txt") and files[0].target_id.endswith("b.txt"), files[0])
        self.assertEqual([b[:5] for b in self.align(self.english, target)], [b[:5] for b in beads])

    def test_unrelated(self) -> None:
        told: list[str] = []
        self.assertEqual(self.align(self.english, self.german[::-1], notice=told.append), [])
        self.assertTrue(any("translations" in t for t in told), told)

    def test_wrong(self) -> None:
        for source, more in ((["a", " "], {}), (["a", 3], {}), (["a"], {"lines": False}), ([], {}), (["a"], {"groups": 3})):
            with self.subTest(source), self.assertRaises(calque.ArgumentError):
                self.align(source, ["b"], **more)
        with self.assertRaises(calque.Error) as missing:
            self.align(self.folder / "nowhere", ["b"])
        self.assertEqual(missing.exception.code, "io")
        with self.assertRaises(calque.Error) as stopped:
            self.align(self.english, self.german, progress=lambda *_: False)
        self.assertEqual(stopped.exception.code, "stopped")
        with self.assertRaises(ZeroDivisionError):
            self.align(self.english, self.german, progress=lambda *_: 1 / 0)


class Program(Case):
    def run_program(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = dict(os.environ)
        if "CALQUE_TEST_INSTALLED" not in os.environ:
            environment["PYTHONPATH"] = str(ROOT / "python")
        return subprocess.run([sys.executable, "-m", "calque", *arguments], env=environment, capture_output=True, text=True)

    def test_program(self) -> None:
        done = self.run_program("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(calque.__version__, done.stdout)
        text = self.write("text", "A cat.\n")
        done = self.run_program("encode", "--model", str(TEACHER), str(text), "-o", str(self.folder / "v.npy"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "v.npy").stat().st_size % 512, 128 % 512)
        self.assertEqual(self.run_program("nothing").returncode, 2)

    def test_not_installed(self) -> None:
        program = calque.__main__
        with unittest.mock.patch.object(program, "__file__", str(self.folder / "a" / "b" / "__main__.py")):
            with unittest.mock.patch.dict(os.environ, PATH=str(self.folder)):
                self.assertIsNone(program.program())
                with unittest.mock.patch("sys.stderr"):
                    self.assertEqual(program.main(), 1)
                (self.folder / "calque").write_text("#!/bin/sh\n")
                (self.folder / "calque").chmod(0o755)
                self.assertEqual(program.program(), str(self.folder / "calque"))
                with unittest.mock.patch.object(sys, "argv", [str(self.folder / "calque")]):
                    self.assertIsNone(program.program())  # it would call itself forever


class Interface(Case):
    def test_options_are_the_librarys(self) -> None:
        for group in ("encoder", "encode", "extend", "distill", "finetune", "index", "search", "mine", "eval", "align"):
            self.assertTrue(calque.options(group), group)
        lr = next(o for o in calque.options("distill") if o.name == "lr")
        self.assertEqual((lr.type, lr.default), ("number", "2e-05"))
        with self.assertRaises(calque.ArgumentError):
            calque.options("nothing")

    def test_threads(self) -> None:
        for wrong in (-1, 5000, True, "2"):
            with self.assertRaises(calque.ArgumentError):
                calque.set_threads(wrong)  # type: ignore[arg-type]
        calque.set_threads(2)

    def test_damaged_library(self) -> None:
        """In a process of its own: this one has loaded the whole library."""
        whole = os.path.realpath(calque._library.library()._name)
        bytes_ = Path(whole).read_bytes()
        for name, contents, reason in (
            ("half.so", bytes_[: len(bytes_) // 2], "is truncated: it has %d of " % (len(bytes_) // 2)),
            ("short.so", bytes_[:40], "too short"),
            ("text.so", b"<html>" * 100, "ELF"),
            ("program.so", Path(sys.executable).read_bytes(), ""),
        ):
            (self.folder / name).write_bytes(contents)
            code = "import calque; calque.Encoder(%r)" % str(TEACHER)
            environment = {**os.environ, "CALQUE_LIBRARY": str(self.folder / name)}
            if "CALQUE_TEST_INSTALLED" not in os.environ:
                environment["PYTHONPATH"] = str(ROOT / "python")
            done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, (name, done.stderr))
            last = done.stderr.strip().split("\n")[-1]
            self.assertTrue(last.startswith("ImportError: "), last)
            self.assertIn(reason, last)
            self.assertIn(name, last)

    def test_versions_agree(self) -> None:
        self.assertEqual(calque.version(), calque.__version__)
        self.assertIn('version = "%s"' % calque.__version__, (ROOT / "python" / "pyproject.toml").read_text())


if __name__ == "__main__":
    unittest.main()
