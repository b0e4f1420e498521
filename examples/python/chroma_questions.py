"""Chroma: an index made with an English model answers questions in other languages; no document is encoded again.

    python chroma_questions.py [ENGLISH_MODEL [ITS_MULTILINGUAL_STUDENT]]

The student is what `calque extend ENGLISH_MODEL` makes: it gives a sentence the vector that the English model gives its
translation. So an index keeps its vectors, and only questions are encoded by another model.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")

import chromadb

import calque
from calque.chroma import CalqueEmbeddingFunction

SAMPLE = str(Path(__file__).resolve().parents[2] / "sample" / "teacher")


if __name__ == "__main__":
    english = sys.argv[1] if len(sys.argv) > 1 else SAMPLE
    student = sys.argv[2] if len(sys.argv) > 2 else english
    documents = [
        "The train to Moscow leaves at seven in the morning.",
        "The cat sleeps on the sofa all day.",
        "Fresh bread is baked every night.",
        "The doctor recommends drinking more water.",
        "The children play football in the garden.",
    ]
    # The index as it was made with the English model.
    client = chromadb.EphemeralClient()
    made = client.create_collection("documents", embedding_function=CalqueEmbeddingFunction(english))
    made.add(ids=[str(i) for i in range(len(documents))], documents=documents)

    # Five lines: the same collection, asked through the student.
    model = calque.SentenceTransformer(student)
    questions = ["Когда отправляется поезд в Москву?", "Где спит кошка?", "Что советует врач?", "Во что играют дети?"]
    if student == english:  # a model of English alone
        questions = ["When does the train leave?", "Where does the cat sleep?", "What does the doctor recommend?", "What do the children play?"]
    found = made.query(query_embeddings=model.encode(questions, normalize_embeddings=True), n_results=1)
    answers = [ids[0] for ids in found["ids"]]
    for question, answer in zip(questions, answers):
        print(question, "->", documents[int(answer)])
    right = sum(a == b for a, b in zip(answers, ["0", "1", "3", "4"]))
    print("%d of %d" % (right, len(questions)))
    assert right >= 3
