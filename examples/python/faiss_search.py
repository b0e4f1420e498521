"""FAISS: vectors go from calque to an index as one array, without a copy.

    python faiss_search.py [MODEL]
"""

import sys

import faiss

import calque

model = calque.SentenceTransformer(sys.argv[1] if len(sys.argv) > 1 else None)
sentences = ["The train is late.", "The cat sleeps.", "Bread is baked at night.", "The children play football."]
index = faiss.IndexFlatIP(model.get_sentence_embedding_dimension())
index.add(model.encode(sentences, normalize_embeddings=True))
scores, rows = index.search(model.encode(sentences[::-1], normalize_embeddings=True), 1)
print([sentences[i] for i in rows[:, 0]], scores[:, 0])
assert rows[:, 0].tolist() == [3, 2, 1, 0]
