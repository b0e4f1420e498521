/* Asking a server whether it is ready. */
#ifndef SERVE_HEALTH_H
#define SERVE_HEALTH_H

#include "calque/status.h"

/* CQ_OK if the server replies to GET /health with 200; host may be the address that it listens on. Errors: CQ_ERR_IO,
 * with the actual reply. */
CQ_MUST_USE cq_status serve_health(const char *host, int port, cq_error *error);

#endif
