/* calque's own interface: similarity, mining, a map. Unknown fields are refused, by name. */
#include "serve/input.h"
#include "serve/route.h"

const serve_route serve_api_routes[] = {{0}};
