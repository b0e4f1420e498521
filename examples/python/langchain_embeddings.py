"""LangChain: a vector store over calque's embeddings.

    python langchain_embeddings.py [MODEL]
"""

import sys

from langchain_core.vectorstores import InMemoryVectorStore

import calque
from calque.langchain import CalqueEmbeddings

if __name__ == "__main__":
    store = InMemoryVectorStore(CalqueEmbeddings(sys.argv[1] if len(sys.argv) > 1 else calque.DEFAULT_MODEL))
    store.add_texts(["The train to Berlin is late.", "The cat sleeps on the sofa.", "Bread is baked at night."])
    for question in ("The train is late.", "Die Katze schläft auf dem Sofa."):
        print(question, "->", store.similarity_search(question, k=1)[0].page_content)
    assert "train" in store.similarity_search("The train is late.", k=1)[0].page_content
