/* Decompressors for input files, one file each: decompress_gzip.c, ... */
#ifndef BASE_COMPRESSION_H
#define BASE_COMPRESSION_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cq_decompressed {
  CQ_DECOMPRESS_MORE,   /* bytes were taken or made: call again */
  CQ_DECOMPRESS_END,    /* the input and the stream end here */
  CQ_DECOMPRESS_BROKEN, /* see `why` */
  CQ_DECOMPRESS_MEMORY,
} cq_decompressed;

/* A step consumes bytes at the front of `in` and writes bytes at the front of `out`, advancing both. */
typedef struct cq_decompress_step {
  const unsigned char *in;
  size_t n_in;
  unsigned char *out;
  size_t n_out;
  bool is_last;    /* there is no input after `in` */
  const char *why; /* why a stream is broken, after "Zstandard stream: " or the like; valid until the state is closed */
} cq_decompress_step;

typedef struct cq_compression {
  const char *name;
  const char *begins; /* how each file of it begins */
  size_t n_begins;
  void *(*open)(void); /* NULL: out of memory */
  cq_decompressed (*step)(void *state, cq_decompress_step *step);
  void (*close)(void *state); /* takes NULL, too */
} cq_compression;

extern const cq_compression cq_gzip, cq_zstandard, cq_zstandard_skippable, cq_xz;
extern const cq_compression cq_deflate; /* HTTP's: zlib's format, or none around it; no file has it */

/* bzip2 is a plugin (src/bzip2): its table of functions. */
enum { CQ_BZIP2_PLUGIN_VERSION = 1 };
typedef struct cq_bzip2_plugin {
  int version; /* CQ_BZIP2_PLUGIN_VERSION */
  const cq_compression *bzip2;
} cq_bzip2_plugin;

#define CQ_ENDS_TOO_EARLY "ends too early"

#endif
