"""Writes tests/golden/eval/: figures that the measures of src/eval/ and src/recipe/evaluate/evaluate.c must reproduce.

    HF_HUB_OFFLINE=1 python reference/golden_eval.py tests/golden

needs numpy, scipy and sentence-transformers (made with 6.2), and tests/golden/models/ (reference/golden_models.py). Files:

    numbers.txt       NAME VALUE, one a line
    vectors.npy       f32 [41, 19]: quantization's input; ranges come from its first 20 rows (calibration)
    int8.npy, binary.npy, ubinary.npy     sentence_transformers.util.quantize_embeddings of it
    correlation.npy   f64 [60, 6]: columns for correlations, with ties, offsets and a constant
    a.npy, b.npy      f32 [50, 24]: rows that belong together, with duplicates and zero rows
    pairs.tsv         source TAB target, some targets twice
    sts.tsv           sentence TAB sentence TAB gold
"""

import os
import sys

import numpy as np
import scipy.stats
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import (EmbeddingSimilarityEvaluator, MSEEvaluator,
                                                                   TranslationEvaluator)
from sentence_transformers.util import quantize_embeddings

PAIRS = [
    ("The baker opens his shop.", "Der Bäcker öffnet seinen Laden."),
    ("Two children are building a boat.", "Zwei Kinder bauen ein Boot."),
    ("My sister plays the violin.", "Meine Schwester spielt Geige."),
    ("The train leaves at seven.", "Der Zug fährt um sieben ab."),
    ("Nobody knows who painted this picture.", "Niemand weiß, wer dieses Bild gemalt hat."),
    ("We walked along the river.", "Nous avons marché le long de la rivière."),
    ("Please close the window.", "Bitte schließen Sie das Fenster."),
    ("Close the window, please.", "Bitte schließen Sie das Fenster."),
    ("Our neighbours have a garden.", "Unsere Nachbarn haben einen Garten."),
    ("Is there a doctor in this village?", "¿Hay un médico en este pueblo?"),
    ("The soup needs salt.", "Die Suppe braucht Salz."),
    ("Water freezes at 0 degrees.", "Wasser gefriert bei 0 Grad."),
    ("She reads the newspaper.", "Elle lit le journal."),
    ("He forgot his umbrella again!", "Он снова забыл зонт!"),
    ("The birds fly to warmer countries.", "Птицы улетают в тёплые края."),
    ("It became dark.", "Стало темно."),
    ("It got dark.", "Стало темно."),
    ("The library has 1,250 books.", "La bibliothèque a 1 250 livres."),
    ("A good teacher listens.", "Un buen maestro escucha."),
    ("The children play.", "两个孩子在玩。"),
    ("The train goes to the coast.", "火车开往海边。"),
    ("The river is dark.", "النهر مظلم."),
    ("The boat is old.", "नाव पुरानी है।"),
    ("The garden is full of apple trees.", "Der Garten ist voller Apfelbäume."),
]

STS = [
    ("The baker opens his shop.", "The shop is opened by the baker.", 4.8),
    ("Two children build a boat.", "Two children are building a boat.", 5.0),
    ("My sister plays the violin.", "My sister prefers the piano.", 2.5),
    ("The train leaves at seven.", "The train to the coast leaves at seven in the morning.", 3.8),
    ("Water boils at 100 degrees.", "The soup needs salt.", 0.6),
    ("He forgot his keys.", "He forgot his phone.", 2.5),
    ("We walked along the river.", "Wir gingen am Fluss entlang.", 5.0),
    ("Please close the window.", "Nobody knows the harbour.", 0.0),
    ("Please close the window.", "Close the window, it is cold.", 4.0),
    ("A good teacher listens.", "Un buen maestro escucha.", 5.0),
    ("The birds fly.", "The children play.", 1.0),
    ("The library has books.", "The library is full of books.", 4.4),
    ("It became dark.", "It got dark.", 5.0),
    ("She drinks coffee.", "The garden is full of trees.", 0.0),
    ("Is there a doctor here?", "Is there a baker here?", 2.0),
]


def main():
    golden = sys.argv[1]
    out = os.path.join(golden, "eval")
    os.makedirs(out, exist_ok=True)
    numbers = {}
    r = np.random.default_rng(7)

    vectors = (r.normal(0, 1, (41, 19)) * r.uniform(0.1, 3, 19) + r.normal(0, 1, 19)).astype(np.float32)
    vectors[:, 4] = 0.25  # a constant dimension: its step is taken as 1
    vectors[3, 5], vectors[4, 6] = 0.0, -0.0
    np.save(os.path.join(out, "vectors.npy"), vectors)
    for precision in ("int8", "binary", "ubinary"):
        options = {"calibration_embeddings": vectors[:20]} if precision == "int8" else {}
        np.save(os.path.join(out, precision + ".npy"), quantize_embeddings(vectors, precision, **options))

    n = 60
    x = r.normal(0, 1, n)
    columns = np.stack([x, 0.5 * x + r.normal(0, 1, n), np.round(2 * x) / 2, r.integers(0, 6, n).astype(float), x + 1e8,
                        np.full(n, 0.1)], 1)
    np.save(os.path.join(out, "correlation.npy"), columns)
    for i in range(6):
        for j in range(i + 1, 5):
            numbers[f"pearson_{i}{j}"] = scipy.stats.pearsonr(columns[:, i], columns[:, j])[0]
            numbers[f"spearman_{i}{j}"] = scipy.stats.spearmanr(columns[:, i], columns[:, j])[0]

    a = r.normal(0, 1, (50, 24)).astype(np.float32)
    b = (a + r.normal(0, 1.3, a.shape)).astype(np.float32)
    a[7], b[9], b[11] = a[6], b[8], b[8]
    a[20], b[21], b[22] = 0, 0, 0
    np.save(os.path.join(out, "a.npy"), a)
    np.save(os.path.join(out, "b.npy"), b)
    numbers["mse_100"] = 100 * ((a.astype(float) - b) ** 2).mean()

    def unit(v):
        length = np.linalg.norm(v.astype(float), axis=1, keepdims=True)
        return np.divide(v, length, out=np.zeros_like(v, dtype=float), where=length > 0)

    # Equal rows must give equal cosines: the sums are made row by row, not by a blocked product.
    cosine = np.array([[np.dot(p, q) for q in unit(b)] for p in unit(a)])
    numbers["source_to_target"] = (cosine.argmax(1) == np.arange(50)).mean()
    numbers["target_to_source"] = (cosine.argmax(0) == np.arange(50)).mean()

    with open(os.path.join(out, "pairs.tsv"), "w") as f:
        f.write("".join(s + "\t" + t + "\n" for s, t in PAIRS))
    with open(os.path.join(out, "sts.tsv"), "w") as f:
        f.write("".join(f"{s}\t{t}\t{gold}\n" for s, t, gold in STS))
    options = {"device": "cpu", "local_files_only": True, "model_kwargs": {"dtype": torch.float32}}
    teacher = SentenceTransformer(os.path.join(golden, "models", "bert-uncased"), **options)
    student = SentenceTransformer(os.path.join(golden, "models", "xlmr-both"), **options)
    sources, targets = zip(*PAIRS)
    evaluate = MSEEvaluator(list(sources), list(targets), teacher_model=teacher, write_csv=False)
    numbers["eval_mse_target"] = -evaluate(student)["negative_mse"]
    evaluate = MSEEvaluator(list(sources), list(sources), teacher_model=teacher, write_csv=False)
    numbers["eval_mse_source"] = -evaluate(student)["negative_mse"]
    v = teacher.encode(list(sources)).astype(float)
    numbers["eval_teacher_variance"] = 100 * ((v - v.mean(0)) ** 2).mean()
    numbers["eval_teacher_norm"] = np.linalg.norm(v, axis=1).mean()
    first, second, gold = zip(*STS)
    for name, columns in (("pairs", (sources, targets)), ("sts", (first, second))):
        for model in ("labse", "mpnet-mean"):
            encoder = SentenceTransformer(os.path.join(golden, "models", model), device="cpu", local_files_only=True)
            result = TranslationEvaluator(list(columns[0]), list(columns[1]), write_csv=False)(encoder)
            numbers[f"eval_source_to_target_{name}_{model}"] = result["src2trg_accuracy"]
            numbers[f"eval_target_to_source_{name}_{model}"] = result["trg2src_accuracy"]
    result = EmbeddingSimilarityEvaluator(list(first), list(second), [g / 5 for g in gold], write_csv=False,
                                          similarity_fn_names=["cosine"])(student)
    numbers["eval_spearman"] = result["spearman_cosine"]
    numbers["eval_pearson"] = result["pearson_cosine"]

    with open(os.path.join(out, "numbers.txt"), "w") as f:
        f.write("".join(f"{name} {float(value)!r}\n" for name, value in numbers.items()))


if __name__ == "__main__":
    main()
