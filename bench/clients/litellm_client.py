"""litellm's routes to servers of one's own: OpenAI's, Ollama's, Cohere's and text-embeddings-inference's interfaces."""
import litellm
from common import TEXTS, URL, cosines, expected, finish, is_ranking, raises, same

litellm.suppress_debug_info = True
want = expected()
near = cosines(want)


def vectors(model, base, **options):
    answer = litellm.embedding(model=model, input=TEXTS, api_base=base, api_key="none", num_retries=0, **options)
    return [d["embedding"] for d in answer.data]


same(vectors("openai/any", URL + "/v1"), want, "openai/")
same(vectors("hosted_vllm/any", URL + "/v1"), want, "hosted_vllm/")
same(vectors("ollama/any", URL), want, "ollama/")
same(vectors("cohere/any", URL + "/v1/embed"), want, "cohere/, v1")
same(vectors("huggingface/any", URL, input_type="feature-extraction"), want, "huggingface/")
raises(litellm.BadRequestError, lambda: vectors("openai/any", URL + "/v1", dimensions=100000), "too many dimensions")
for model, base in (("cohere/any", URL), ("hosted_vllm/any", URL), ("huggingface/any", URL), ("jina_ai/any", URL)):
    ranked = litellm.rerank(model=model, query=TEXTS[0], documents=TEXTS[1:], api_base=base, api_key="none")
    is_ranking([(r["index"], r["relevance_score"]) for r in ranked.results], near, f"rerank: {model}")
finish()
