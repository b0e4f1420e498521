/* The parts of a SentencePiece model file that encoding needs: protocol buffers, read by format/protobuf.h, because the
 * installed headers of libsentencepiece (0.1.97) expose too little. SentencePieceProcessor has pieces, scores, and
 * whether a piece is unknown, control, unused or a byte. It lacks
 *
 *   user-defined pieces      they look like normal ones
 *   trainer_spec             model_type, treat_whitespace_as_suffix, byte_fallback, ids
 *   normalizer_spec          the charsmap and the three switches
 *
 * ModelProto has them, but is only declared: sentencepiece_model.pb.h is not installed, and the library has its own
 * protobuf. Parsing the pieces as well takes only twenty more lines and 2 ms for 32,000 pieces; the processor takes 60
 * ms to start. Nothing is written: a trained model is saved as the trainer's bytes.
 *
 *   ModelProto       1 pieces*, 2 trainer_spec, 3 normalizer_spec
 *   piece            1 text, 2 score (f32), 3 type (1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte)
 *   trainer_spec     3 model_type (1 unigram, 2 BPE, 3 word, 4 char), 24 treat_whitespace_as_suffix, 35 byte_fallback,
 *                    40 unk_id, 41 bos_id, 42 eos_id
 *   normalizer_spec  2 precompiled_charsmap, 3 add_dummy_prefix, 4 remove_extra_whitespaces, 5 escape_whitespaces,
 *                    6 normalization_rule_tsv */
#ifndef TOKEN_MODEL_PROTO_H
#define TOKEN_MODEL_PROTO_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { CQ_SP_NORMAL = 1, CQ_SP_UNKNOWN, CQ_SP_CONTROL, CQ_SP_USER_DEFINED, CQ_SP_UNUSED, CQ_SP_BYTE };
enum { CQ_SP_UNIGRAM = 1, CQ_SP_BPE };

typedef struct cq_sp_piece {
  cq_slice text; /* borrowed from the file's bytes, UTF-8 */
  float score;
  int type;
} cq_sp_piece;

typedef struct cq_sp_model {
  cq_sp_piece *pieces;
  size_t n, capacity;
  cq_slice charsmap;
  int64_t model_type;
  int32_t unk_id, bos_id, eos_id; /* negative: none */
  bool byte_fallback, whitespace_as_suffix, add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
} cq_sp_model;

/* Errors: CQ_ERR_FORMAT with the byte, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_sp_model_read(cq_sp_model *out, cq_slice bytes, const char *path, cq_error *error);
void cq_sp_model_free(cq_sp_model *model);

/* Appends a normal piece to a model's bytes. */
void cq_sp_model_append_piece(cq_builder *bytes, cq_slice text, float score);
/* Removes the piece with that text from a model's bytes and updates their number *n; without such a piece, nothing
 * changes. Errors: as cq_sp_model_read. */
CQ_MUST_USE cq_status cq_sp_model_drop_piece(char *bytes, size_t *n, cq_slice text, cq_error *error);
/* In the same way, removes the name of the charsmap's rules file, which the trainer writes into a model: the same text
 * and options then give the same model. */
CQ_MUST_USE cq_status cq_sp_model_drop_rules_name(char *bytes, size_t *n, cq_error *error);

#endif
