/* The tools of `calque serve --mcp`: each is a route that has no path, so its arguments are checked, and its errors
 * are written, as those of the server's own interface. */
#ifndef SERVE_MCP_TOOLS_H
#define SERVE_MCP_TOOLS_H

#include "serve/route.h"

/* The tool of this name; NULL: there is none, or it needs an index. */
const serve_route *serve_mcp_tool(const char *name, bool has_index);
/* [{"name", "description", "inputSchema", "annotations"}, ...] */
void serve_mcp_put_tools(cq_builder *b, bool has_index);

/* Runs a tool, or another route, for request->body; encodes what it leaves to be encoded. */
void serve_mcp_run_tool(serve_request *request);

#endif
