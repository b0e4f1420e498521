"""MTEB's own harness on the Python class: a local task of STS, whose figures are those of `calque eval sts`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest

import mteb
from datasets import Dataset, DatasetDict
from mteb.abstasks.sts import AbsTaskSTS
from support import ROOT, TEACHER, Case

sys.path.insert(0, str(ROOT / "examples" / "python"))
from mteb_model import CalqueModel

PROGRAM = os.environ.get("CALQUE", str(ROOT / "build" / "release" / "calque"))


class LocalSTS(AbsTaskSTS):
    metadata = mteb.TaskMetadata(
        name="LocalSTS", description="local", reference=None, dataset={"path": "local", "revision": "local"},
        type="STS", category="t2t", modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"],
        main_score="cosine_spearman", date=None, domains=None, task_subtypes=None, license=None,
        annotations_creators=None, dialect=None, sample_creation=None, bibtex_citation=None,
    )  # fmt: skip


class Mteb(Case):
    def test_sts(self) -> None:
        file = ROOT / "sample" / "sts" / "en-en.tsv"
        with open(file, encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f]
        task = LocalSTS()
        columns = {"sentence1": [r[0] for r in rows], "sentence2": [r[1] for r in rows],
                   "score": [float(r[2]) for r in rows]}  # fmt: skip
        task.dataset, task.data_loaded = DatasetDict(test=Dataset.from_dict(columns)), True
        scores = task.evaluate(CalqueModel(str(TEACHER)), "test", encode_kwargs={"batch_size": 32})["default"]
        command = [PROGRAM, "eval", "sts", "--model", str(TEACHER), "--json", str(file)]
        ours = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["results"][0]
        for measure in ("spearman", "pearson"):
            self.assertAlmostEqual(float(scores["cosine_%s" % measure]), ours[measure], delta=1e-6)


if __name__ == "__main__":
    unittest.main()
