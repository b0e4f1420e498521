"""Requests of programs that are no packages of Python: Dify, Open WebUI, n8n, and plug-ins of Obsidian.

A row of REQUESTS is one request as its program's source makes it: where it is in the source (repository, file, line;
commit), method, path, headers, body, and what is checked in the answer, which the program reads there. TEXTS are the
program's texts, NAME the model's name as the server lists it.
"""
import base64
import json
import struct
import urllib.error
import urllib.request

from common import LONG, TEXTS, URL, check, cosines, expected, finish, is_ranking, same

DIFY = "langgenius/dify-official-plugins@7af2283"
OPEN_WEBUI = "open-webui/open-webui@60b8cfb"
N8N = "n8n-io/n8n"
LANGCHAIN = "langchain-ai/langchainjs"
COPILOT = "logancyang/obsidian-copilot@611831b"
SMART = "brianpetro/jsbrains@ba80525"

KEY = {"Authorization": "Bearer any-key"}
QUERY, DOCUMENTS = TEXTS[0], TEXTS[1:]


def send(method, path, headers, body):
    """The status, and the answer if it is JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, {"Content-Type": "application/json", **headers}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            status, got = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, got = error.code, error.read()
    try:
        return status, json.loads(got)
    except ValueError:
        return status, got


# ---- what a program reads in an answer ----
def ollama_vectors(answer, what):
    same(answer["embeddings"], WANT, what)
    check(answer["prompt_eval_count"] > len(TEXTS), f"{what}: prompt_eval_count")


def ollama_long(answer, what):
    same(answer["embeddings"], expected([LONG]), what)


def openai_vectors(answer, what):
    same([row["embedding"] for row in answer["data"]], WANT, what)
    check(answer["usage"]["total_tokens"] > len(TEXTS), f"{what}: usage")


def base64_vectors(answer, what):
    rows = [base64.b64decode(row["embedding"]) for row in answer["data"]]
    same([list(struct.unpack(f"<{len(row) // 4}f", row)) for row in rows], WANT, what)


def tei_info(answer, what):
    check(list(answer["model_type"])[:1] == ["embedding"], f"{what}: model_type")
    for name in "max_input_length", "max_client_batch_size":
        check(isinstance(answer[name], int) and answer[name] > 0, f"{what}: {name} is {answer[name]}")


def tei_ranks(answer, what):
    is_ranking([(row["index"], row["score"]) for row in answer], COSINES, what)
    check([row["text"] for row in answer] == [DOCUMENTS[row["index"]] for row in answer], f"{what}: texts")


def cohere_ranks(answer, what):
    is_ranking([(row["index"], row["relevance_score"]) for row in answer["results"]], COSINES, what)
    for row in answer["results"]:  # Dify's plug-in for Ollama takes a "document" for the text itself
        check(row.get("document", DOCUMENTS[row["index"]]) == DOCUMENTS[row["index"]], f"{what}: document")


def ollama_models(answer, what):
    check([row["name"] for row in answer["models"]] == [NAME], what)


def ollama_show(answer, what):
    lengths = [v for k, v in answer["model_info"].items() if "embedding_length" in k]
    limits = [v for k, v in answer["model_info"].items() if "context_length" in k]
    check(lengths == [len(WANT[0])] and limits and limits[0] > 0, f"{what}: {answer['model_info']}")


def openai_models(answer, what):
    check([row["id"] for row in answer["data"]] == [NAME], what)


def lm_studio_models(answer, what):
    check(answer["object"] == "list", f"{what}: object")
    rows = [row for row in answer["data"] if row.get("type") == "embeddings"]
    check([row["id"] for row in rows] == [NAME], f"{what}: a row of type embeddings")
    check(all(row["max_context_length"] > 0 for row in rows), f"{what}: max_context_length")


def anything(answer, what):
    check(bool(answer), what)


COSINES = cosines(expected())
WANT = expected()
NAME = send("GET", "/v1/models", {}, None)[1]["data"][0]["id"]

PLUGIN = f"{DIFY}:models"
NODES = f"{N8N}:packages/@n8n/nodes-langchain"
EMBED = f"{SMART}:smart-embed-model/adapters"
UTILS = f"{OPEN_WEBUI}:backend/open_webui/retrieval"
RANK = {"model": "m", "query": QUERY, "documents": DOCUMENTS}
TEXT_INPUT = {"model": NAME, "input": TEXTS}

REQUESTS = [
    # Dify: ollama 1.0.0, openai_api_compatible 0.0.63, huggingface_tei 0.1.10
    (f"{PLUGIN}/ollama/models/text_embedding/text_embedding.py:77", "POST", "/api/embed", {},
     {"input": TEXTS, "model": NAME, "truncate": True, "options": {"use_mmap": True}}, ollama_vectors),
    (f"{PLUGIN}/ollama/models/text_embedding/text_embedding.py:77, a long text", "POST", "/api/embed", KEY,
     {"input": [LONG], "model": NAME, "truncate": True, "options": {"use_mmap": True}}, ollama_long),
    (f"{PLUGIN}/ollama/models/rerank/rerank.py:67", "POST", "/api/rerank", KEY, RANK, cohere_ranks),
    (f"{PLUGIN}/openai_api_compatible/models/text_embedding/text_embedding.py:197, no key", "POST", "/v1/embeddings",
     {"Authorization": ""}, TEXT_INPUT, openai_vectors),
    (f"{PLUGIN}/openai_api_compatible/models/text_embedding/text_embedding.py:203", "POST", "/v1/embeddings", KEY,
     {**TEXT_INPUT, "encoding_format": "float"}, openai_vectors),
    (f"{PLUGIN}/openai_api_compatible/models/rerank/rerank.py:107", "POST", "/v1/rerank", KEY,
     {**RANK, "top_n": len(DOCUMENTS)}, cohere_ranks),
    (f"{PLUGIN}/openai_api_compatible/models/rerank/rerank.py:107, without /v1", "POST", "/rerank", KEY,
     {**RANK, "top_n": len(DOCUMENTS)}, cohere_ranks),
    (f"{PLUGIN}/huggingface_tei/models/helper.py:77", "GET", "/info", {}, None, tei_info),
    (f"{PLUGIN}/huggingface_tei/models/helper.py:184", "POST", "/v1/embeddings", {}, {"input": TEXTS}, openai_vectors),
    (f"{PLUGIN}/huggingface_tei/models/helper.py:219", "POST", "/rerank", {},
     {"query": QUERY, "texts": DOCUMENTS, "return_text": True}, tei_ranks),
    # Open WebUI: the functions generate_..._batch_embeddings, and ExternalReranker.predict
    (f"{UTILS}/utils.py: generate_ollama_batch_embeddings", "POST", "/api/embed", {"Authorization": "Bearer "},
     TEXT_INPUT, ollama_vectors),
    (f"{UTILS}/utils.py: generate_ollama_batch_embeddings, later", "POST", "/api/embed", KEY,
     {**TEXT_INPUT, "truncate": True}, ollama_vectors),
    (f"{UTILS}/utils.py: generate_openai_batch_embeddings", "POST", "/v1/embeddings",
     {**KEY, "X-OpenWebUI-User-Name": "A%20User", "X-OpenWebUI-User-Role": "user"}, TEXT_INPUT, openai_vectors),
    (f"{OPEN_WEBUI.split('@')[0]}@ab233f8:backend/open_webui/retrieval/models/external.py:39", "POST", "/v1/rerank", KEY,
     {**RANK, "model": "reranker", "top_n": len(DOCUMENTS)}, cohere_ranks),
    # n8n: Embeddings Ollama and Embeddings OpenAI, through LangChain's packages for JavaScript
    (f"{N8N}@0f1d78d:packages/@n8n/nodes-langchain/credentials/OllamaApi.credentials.ts:23", "GET", "/", {}, None,
     anything),
    (f"{N8N}@0f14f47:packages/@n8n/nodes-langchain/nodes/llms/LMOllama/description.ts:27", "GET", "/api/tags", {}, None,
     ollama_models),
    (f"{LANGCHAIN}@0c37659:libs/providers/langchain-ollama/src/embeddings.ts:152", "POST", "/api/embed", KEY,
     {**TEXT_INPUT, "truncate": False}, ollama_vectors),
    (f"{N8N}@010f3e0:packages/nodes-base/credentials/OpenAiApi.credentials.ts:45", "GET", "/v1/models",
     {**KEY, "OpenAI-Organization": ""}, None, openai_models),
    (f"{LANGCHAIN}@08811f2:libs/providers/langchain-openai/src/embeddings.ts:149", "POST", "/v1/embeddings", KEY,
     {"model": "text-embedding-3-small", "input": TEXTS, "encoding_format": "base64"}, base64_vectors),
    (f"{N8N}@0309c77:packages/@n8n/nodes-langchain/nodes/rerankers/RerankerCohere/RerankerCohere.node.ts:84", "POST",
     "/v2/rerank", KEY, {**RANK, "model": "rerank-v3.5", "top_n": len(DOCUMENTS)}, cohere_ranks),
    # Obsidian: Copilot 4.0.2
    (f"{COPILOT}:src/LLMProviders/embeddingManager.ts:269", "POST", "/api/embed", {"Authorization": "Bearer default-key"},
     {**TEXT_INPUT, "truncate": True}, ollama_vectors),
    (f"{COPILOT}:src/LLMProviders/CustomOpenAIEmbeddings.ts:26", "POST", "/v1/embeddings", KEY,
     {**TEXT_INPUT, "encoding_format": "float"}, openai_vectors),
    # Obsidian: Smart Connections 4.7.2
    (f"{EMBED}/ollama.js:88", "GET", "/api/tags", {}, None, ollama_models),
    (f"{EMBED}/ollama.js:239", "POST", "/api/show", {}, {"model": NAME}, ollama_show),
    (f"{EMBED}/ollama.js:396", "POST", "/api/embed", {}, TEXT_INPUT, ollama_vectors),
    (f"{EMBED}/lm_studio.js:43", "GET", "/api/v0/models", {}, None, lm_studio_models),
    (f"{EMBED}/lm_studio.js:42", "POST", "/api/v0/embeddings", {}, TEXT_INPUT, openai_vectors),
]

for source, method, path, headers, body, read in REQUESTS:
    what = f"{source}: {method} {path}"
    status, answer = send(method, path, headers, body)
    check(status == 200, f"{what}: status {status}, {answer}")
    if status == 200:
        read(answer, what)

# LangChain for JavaScript asks Ollama's route not to truncate: the error names what is too long.
status, answer = send("POST", "/api/embed", {}, {"model": NAME, "input": [LONG], "truncate": False})
check(status == 400 and "tokens" in answer["error"], f"a long text, truncate false: {status}, {answer}")

# A page of another origin gets no answer that it may read; the error names the option that allows it.
status, answer = send("GET", "/api/tags", {"Origin": "app://obsidian.md"}, None)
check(status == 403 and "--cors" in str(answer), f"another origin: {status}, {answer}")
finish()
