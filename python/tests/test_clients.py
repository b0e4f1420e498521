"""calque.langchain and calque.chroma with the packages that they are for."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

import numpy as np
from support import ROOT, TEACHER, Case

os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")

import chromadb
from langchain_core.vectorstores import InMemoryVectorStore

import calque
from calque.chroma import CalqueEmbeddingFunction
from calque.langchain import CalqueEmbeddings

DOCUMENTS = ["The train to Berlin is late.", "The cat sleeps on the sofa.", "Bread is baked at night."]


class LangChain(Case):
    def test_store(self) -> None:
        embeddings = CalqueEmbeddings(TEACHER, prompts={"query": "find: "})
        store = InMemoryVectorStore(embeddings)
        store.add_texts(DOCUMENTS)
        self.assertEqual(store.similarity_search("A cat sleeps.", k=1)[0].page_content, DOCUMENTS[1])
        model = calque.SentenceTransformer(TEACHER)
        wanted = model.encode("find: A cat.", normalize_embeddings=True).tolist()
        self.assertEqual(embeddings.embed_query("A cat."), wanted)
        self.assertEqual(embeddings.embed_documents(["find: A cat."]), [wanted])
        self.assertEqual(embeddings.embed_documents([]), [])


class Chroma(Case):
    def test_new_process(self) -> None:
        client = chromadb.PersistentClient(str(self.folder / "kept"))
        made = client.create_collection("documents", embedding_function=CalqueEmbeddingFunction(TEACHER))
        made.add(ids=["0", "1", "2"], documents=DOCUMENTS)
        code = (
            "import chromadb, calque.chroma\n"
            "found = chromadb.PersistentClient(%r).get_collection('documents').query(query_texts=['A cat sleeps.'], n_results=1)\n"
            "print(found['ids'][0][0], found['distances'][0][0])" % str(self.folder / "kept")
        )
        environment = dict(os.environ)
        if "CALQUE_TEST_INSTALLED" not in os.environ:
            environment["PYTHONPATH"] = str(ROOT / "python")
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        found, distance = done.stdout.split()
        self.assertEqual(found, "1")
        a, b = calque.SentenceTransformer(TEACHER).encode(["A cat sleeps.", DOCUMENTS[1]], normalize_embeddings=True)
        self.assertAlmostEqual(float(distance), 1 - float(np.dot(a, b)), places=5)

    def test_config(self) -> None:
        here = os.getcwd()
        os.chdir(TEACHER.parent)
        self.addCleanup(os.chdir, here)
        function = CalqueEmbeddingFunction("teacher")
        self.assertEqual(function.get_config(), {"model": str(TEACHER)})
        again = CalqueEmbeddingFunction.build_from_config(function.get_config())
        self.assertTrue((again(DOCUMENTS)[0] == function(DOCUMENTS)[0]).all())
        with self.assertRaises(calque.ArgumentError):
            function.validate_config_update(function.get_config(), {"model": "other"})
        with self.assertRaises(calque.Error):
            CalqueEmbeddingFunction.build_from_config({"model": str(self.folder / "nowhere")})


if __name__ == "__main__":
    unittest.main()
