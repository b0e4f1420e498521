/* The parts of Thrift's compact protocol that Parquet uses: structs of numbered fields, read in file order; unknown
 * fields are skipped.
 *
 *   struct   field... 0                       field   difference of ids (4 bits) | type (4 bits), value
 *   number   zigzag varint                            0 | type, id as a zigzag varint, value
 *   bytes    length as a varint, the bytes    list    n (4 bits; 15: a varint follows) | type of all, elements
 *   boolean  in a field: its type; in a list: a byte
 *
 * The first problem is kept: after it, every number is 0 and there are no more fields. So it is enough to check `why`
 * at the end.
 *
 * Source: Apache Thrift, doc/specs/thrift-compact-protocol.md. */
#ifndef FORMAT_THRIFT_H
#define FORMAT_THRIFT_H

#include "base/slice.h"

#include <stdint.h>

typedef struct cq_thrift {
  const unsigned char *p, *end;
  const char *why;         /* NULL: all is well */
  const unsigned char *at; /* where that was */
} cq_thrift;

typedef struct cq_thrift_field {
  int id, type;
} cq_thrift_field;

/* The next field of a struct; *field is the previous one, {0} at first. False: there are no more. */
bool cq_thrift_next(cq_thrift_field *field, cq_thrift *t);

/* A field's value. A field of another type sets a problem. */
int64_t cq_thrift_number(cq_thrift *t, cq_thrift_field field);
int32_t cq_thrift_number32(cq_thrift *t, cq_thrift_field field); /* another problem: it needs more bits */
bool cq_thrift_boolean(cq_thrift *t, cq_thrift_field field);
cq_slice cq_thrift_bytes(cq_thrift *t, cq_thrift_field field); /* borrowed */
/* Its fields follow. */
bool cq_thrift_struct(cq_thrift *t, cq_thrift_field field);
/* The number of structs that follow; at most the number of bytes left, since each takes at least one. */
size_t cq_thrift_structs(cq_thrift *t, cq_thrift_field field);
void cq_thrift_skip(cq_thrift *t, cq_thrift_field field);

#endif
