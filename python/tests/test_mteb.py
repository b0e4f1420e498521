"""`calque eval mteb` beside mteb's own evaluation of the same data: mteb reads the files, and the figures are equal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest

import mteb
import numpy as np
from datasets import Dataset, DatasetDict
from mteb.abstasks.classification import AbsTaskClassification
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.sts import AbsTaskSTS
from mteb.abstasks.text.bitext_mining import AbsTaskBitextMining
from mteb.results import TaskResult
from support import ROOT, TEACHER, Case, pairs

sys.path.insert(0, str(ROOT / "examples" / "python"))
from mteb_model import CalqueModel

PROGRAM = os.environ.get("CALQUE", str(ROOT / "build" / "release" / "calque"))


def metadata(name: str, kind: str, score: str, languages: list[str]) -> mteb.TaskMetadata:
    return mteb.TaskMetadata(
        name=name, description="local", reference=None, dataset={"path": "local", "revision": "local"}, type=kind,
        category="t2t", modalities=["text"], eval_splits=["test"], eval_langs=languages, main_score=score, date=None,
        domains=None, task_subtypes=None, license=None, annotations_creators=None, dialect=None, sample_creation=None,
        bibtex_citation=None,
    )  # fmt: skip


class Mteb(Case):
    def ours(self, name: str, kind: str, *arguments: str) -> TaskResult:
        out = self.folder / "out"
        command = [PROGRAM, "eval", "mteb", "--model", str(TEACHER), "--type", kind, "--name", name, "-o", str(out)]
        subprocess.run([*command, *arguments], check=True, capture_output=True)
        [file] = out.glob("results/*/*/%s.json" % name)
        meta = json.loads((file.parent / "model_meta.json").read_text())
        self.assertEqual((meta["name"], len(meta["revision"])), ("teacher", 32))
        return TaskResult.from_disk(file)

    def same(self, ours: TaskResult, task: mteb.AbsTask, tolerance: float = 1e-6) -> None:
        theirs = task.evaluate(CalqueModel(str(TEACHER)), "test", encode_kwargs={"batch_size": 32})
        [scores] = ours.scores["test"]
        [[_, expected]] = theirs.items()
        n = 0
        for key, value in scores.items():
            if isinstance(value, float):
                self.assertAlmostEqual(value, float(expected[key]), delta=tolerance, msg=key)
                n += 1
        self.assertGreater(n, 4)
        self.assertAlmostEqual(scores["main_score"], float(expected["main_score"]), delta=tolerance)
        self.assertAlmostEqual(ours.get_score(), scores["main_score"])

    def test_sts(self) -> None:
        file = ROOT / "sample" / "sts" / "en-en.tsv"
        with open(file, encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f]

        class Local(AbsTaskSTS):
            metadata = metadata("LocalSTS", "STS", "cosine_spearman", ["eng-Latn"])

        task = Local()
        columns = {"sentence1": [r[0] for r in rows], "sentence2": [r[1] for r in rows],
                   "score": [float(r[2]) for r in rows]}  # fmt: skip
        task.dataset, task.data_loaded = DatasetDict(test=Dataset.from_dict(columns)), True
        self.same(self.ours("LocalSTS", "sts", "default:eng-Latn=%s" % file), task)

    def test_bitext(self) -> None:
        rows = [line.split("\t") for line in pairs(150).splitlines()]
        file = self.write("en-de.tsv", "".join("%s\t%s\n" % (r[0], r[1]) for r in rows))

        class Local(AbsTaskBitextMining):
            metadata = metadata("LocalBitext", "BitextMining", "f1", ["eng-Latn", "deu-Latn"])

        task = Local()
        columns = {"sentence1": [r[0] for r in rows], "sentence2": [r[1] for r in rows]}
        task.dataset, task.data_loaded = DatasetDict(test=Dataset.from_dict(columns)), True
        self.same(self.ours("LocalBitext", "bitext", "default:eng-Latn,deu-Latn=%s" % file), task)

    def test_classification(self) -> None:
        """Which rows are learned from is drawn by each program's own random numbers: here there is no choice."""
        rows = [line.split("\t") for line in pairs(200).splitlines()]
        rows = [(r[i], ("english", "german")[i]) for r in rows for i in (0, 1)]
        train, test = rows[:16], rows[16:]
        parts = (("a", train), ("b", test))
        files = [self.write("%s.tsv" % n, "".join("%s\t%s\n" % r for r in part)) for n, part in parts]

        class Local(AbsTaskClassification):
            metadata = metadata("LocalClasses", "Classification", "accuracy", ["eng-Latn"])
            n_experiments = 2

        task = Local()
        label = {"english": 0, "german": 1}
        task.dataset, task.data_loaded = DatasetDict({
            name: Dataset.from_dict({"text": [r[0] for r in part], "label": [label[r[1]] for r in part]})
            for name, part in (("train", train), ("test", test))
        }), True  # fmt: skip
        result = self.ours("LocalClasses", "classification", "--train", str(files[0]), "--experiments", "2",
                           "default:eng-Latn=%s" % files[1])  # fmt: skip
        self.same(result, task, 3e-3)

    def test_retrieval(self) -> None:
        rows = [line.split("\t") for line in pairs(120).splitlines()]
        documents = self.write("documents.tsv", "".join("d%d\t%s\n" % (i, r[0]) for i, r in enumerate(rows)))
        topics = self.write("topics.tsv", "".join("q%d\t%s\n" % (i, r[1]) for i, r in enumerate(rows[:40])))
        # Grades, and several documents for a query.
        judged = {"q%d" % i: {"d%d" % i: 2, "d%d" % (i + 1): 1} for i in range(40)}
        lines = ["%s 0 %s %d\n" % (q, d, g) for q, r in judged.items() for d, g in r.items()]
        qrels = self.write("qrels.txt", "".join(lines))

        class Local(AbsTaskRetrieval):
            metadata = metadata("LocalRetrieval", "Retrieval", "ndcg_at_10", ["eng-Latn"])

        task = Local()
        task.dataset = {"default": {"test": {
            "corpus": Dataset.from_list([{"id": "d%d" % i, "text": r[0], "title": ""} for i, r in enumerate(rows)]),
            "queries": Dataset.from_list([{"id": "q%d" % i, "text": r[1]} for i, r in enumerate(rows[:40])]),
            "relevant_docs": judged, "top_ranked": None,
        }}}  # fmt: skip
        task.data_loaded = True
        result = self.ours("LocalRetrieval", "retrieval", "--documents", str(documents), "--topics", str(topics),
                           "default:eng-Latn=%s" % qrels)  # fmt: skip
        self.same(result, task, 1e-5)


if __name__ == "__main__":
    unittest.main()
