"""pandas and Arrow: a column of text becomes a column of vectors, and comes back from a Parquet file.

    python pandas_and_arrow.py [MODEL]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import calque

model = calque.SentenceTransformer(sys.argv[1] if len(sys.argv) > 1 else None)
frame = pd.DataFrame({"id": [1, 2, 3], "text": ["The train is late.", "The cat sleeps.", "Bread is baked at night."]})
vectors = model.encode(frame["text"])

# Arrow: the array's memory is the column's, a list of fixed size a row.
column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
table = pa.Table.from_pandas(frame, preserve_index=False).append_column("vector", column)
with tempfile.TemporaryDirectory() as folder:
    pq.write_table(table, Path(folder) / "text.parquet")
    again = pq.read_table(Path(folder) / "text.parquet")
back = again["vector"].combine_chunks().flatten().to_numpy().reshape(-1, vectors.shape[1])
assert (back == vectors).all()

# pandas: the nearest row of each question.
questions = pd.Series(["The train is late today.", "The cat is sleeping."])
similarity = np.asarray(model.similarity(model.encode(questions), back))
print(pd.DataFrame({"question": questions, "nearest": frame["text"].to_numpy()[similarity.argmax(1)]}))
assert similarity.argmax(1).tolist() == [0, 1]
