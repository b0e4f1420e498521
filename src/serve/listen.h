/* The listening socket, and notifications to systemd. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The socket passed by the system (systemd's LISTEN_FDS and LISTEN_PID); -1: none. */
int serve_listen_inherited(void);
/* Errors: CQ_ERR_IO, with the address and the reason. */
CQ_MUST_USE cq_status serve_listen(int *out, const char *host, int port, cq_error *error);
/* Whether a host is a loopback address: 127.0.0.0/8, ::1, localhost. */
bool serve_is_loopback(const char *host);
/* "http://[::1]:8080" of a socket. */
void serve_listen_address(char *out, size_t n, int fd);

/* Sends a state ("READY=1") to systemd, if NOTIFY_SOCKET is set. Threads: any. */
void serve_notify(const char *state);

#endif
