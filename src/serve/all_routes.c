/* The tables of routes. Lower layers do not depend on them: the server receives this list. */
#include "serve/route.h"

const serve_route *const serve_all_routes[] = {serve_openai_routes,
                                               serve_tei_routes,
                                               serve_ollama_routes,
                                               serve_cohere_routes,
                                               serve_rerank_routes,
                                               serve_api_routes,
                                               serve_search_routes,
                                               serve_document_routes,
                                               serve_file_routes,
                                               serve_page_routes,
                                               NULL};
