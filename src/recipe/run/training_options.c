/* The table of options shared by all trainings of an encoder: names, defaults, ranges, help. */
#include "recipe/run/training_options.h"

#include "base/error.h"
#include "calque/training.h"
#include "train/shards.h"
#include "train/training_data.h"

static const char *const best_bys[] = {"auto", "translation", "mse", "sts", "last", NULL};

static const char *const precisions[] = {"f32", "bf16", NULL};

enum { MAX_COUNT = 1 << 20, MAX_EPOCHS = 1000000 };

#define O cq_training_options
static const cq_option option_rows[] = {
    {CQ_TEXT(O, "output", output, KEEPS, "DIR", "the trained model; work in progress is in DIR.work"), .letter = 'o',
     .flags = CQ_OPTION_REQUIRED},
    {CQ_DATA(O, "dev", dev, n_dev, CHANGES, "[LABEL=]TSV",
             "held-out pairs (dev set), a sentence and its translation or paraphrase, for translation "
             "accuracy in both directions; 'calque distill' also measures MSE on them")},
    {CQ_DATA(O, "sts", sts, n_sts, CHANGES, "[LABEL=]TSV",
             "held-out pairs with a similarity score (STS: sentence, sentence, score), for Spearman's "
             "correlation")},
    {CQ_FLAG(O, "resume", resume, KEEPS, "continue from the last checkpoint in DIR.work")},
    {CQ_FLAG(O, "replace", replace, KEEPS, "overwrite an existing output directory")},
    CQ_SKIP_BAD_ROW(O, KEEPS),
    {CQ_INT(O, "max-characters", max_characters, CHANGES, 250, 0, 0, "N",
            "leave out pairs with a sentence of more characters; 0: no limit")},
    {CQ_INT(O, "max-length", max_seq_length, CHANGES, 0, 0, 0, "TOKENS",
            "maximum sequence length: longer sentences are truncated"),
     .otherwise = "the model's"},
    {CQ_INT(O, "max-sentences", max_sentences, CHANGES, 0, 0, 0, "N", "use the first N entries of each training file"),
     .otherwise = "all"},
    {CQ_FLAG(O, "no-shuffle", no_shuffle, CHANGES, "take batches in the order of the files")},
    {CQ_FLAG(
        O, "balanced", balanced, CHANGES,
        "draw equally from all files (or by weight), so that small files repeat, instead of shuffling all entries")},
    {CQ_INT(O, "batch", batch_pairs, CHANGES, 64, 1, MAX_COUNT, "PAIRS", "batch size in pairs"), .letter = 'b'},
    {CQ_INT(O, "accumulate", accumulate, CHANGES, 1, 1, MAX_COUNT, "N",
            "gradient accumulation: batches summed before an update")},
    {CQ_NUMBER(O, "epochs", epochs, CHANGES, 5, 0, MAX_EPOCHS, "N", "passes over the data"), .letter = 'e'},
    {CQ_COUNT(O, "steps", steps, CHANGES, 0, 0, 0, "N", "total updates, instead of --epochs"),
     .otherwise = "by --epochs"},
    {CQ_NUMBER(O, "lr", learning_rate, CHANGES, 2e-5, 0, 1e300, "RATE", "peak learning rate"),
     .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_NUMBER(O, "embedding-lr", embedding_learning_rate, CHANGES, 0, 0, 1e300, "RATE",
               "peak learning rate of the vocabulary's embeddings"),
     .otherwise = "as --lr"},
    {CQ_CHOICE(O, "schedule", schedule, CHANGES, CQ_SCHEDULE_LINEAR, cq_schedule_names, "SHAPE",
               "learning rate after the warm-up")},
    {CQ_NUMBER(O, "warmup", warmup_steps, CHANGES, 0.1, 0, 0x1p53, "STEPS",
               "warm-up: steps in which the learning rate rises; below 1: a share of all steps")},
    {CQ_NUMBER(O, "weight-decay", weight_decay, CHANGES, 0.01, 0, 1e6, "X", "AdamW: weight decay")},
    {CQ_NUMBER(O, "beta1", adam_beta1, CHANGES, 0.9, 0, 1, "X", "AdamW: decay of the first moment"),
     .flags = CQ_OPTION_BELOW_MAX},
    {CQ_NUMBER(O, "beta2", adam_beta2, CHANGES, 0.999, 0, 1, "X", "AdamW: decay of the second moment"),
     .flags = CQ_OPTION_BELOW_MAX},
    /* Not the paper's 1e-6: with a teacher of unit length, gradients are so small that it would dampen them. */
    {CQ_NUMBER(O, "eps", adam_eps, CHANGES, 1e-8, 0, 1e6, "X", "AdamW: epsilon"), .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_NUMBER(O, "clip", clip_norm, CHANGES, 1, 0, 1e38, "NORM", "gradient clipping: maximum norm; 0: no clipping")},
    {CQ_NUMBER(O, "dropout", dropout, CHANGES, -1, -1, 1, "P", "dropout while training"), .flags = CQ_OPTION_BELOW_MAX,
     .otherwise = "the model's"},
    {CQ_CHOICE(O, "precision", precision, CHANGES, CQ_TRAINING_F32, precisions, "TYPE",
               "mixed precision: multiply in this precision, also for a teacher's vectors; weights and the optimizer "
               "stay f32")},
    {CQ_CHOICE(O, "exchange", exchange, CHANGES, CQ_TRAINING_F32, precisions, "TYPE",
               "with mpirun: type of the gradients sent between ranks; bf16: half the bytes, but rounded, and the "
               "model depends on the number of ranks")},
    {CQ_FLAG(O, "shard-tables", shard_tables, KEEPS,
             "with mpirun: each rank keeps a part of the word embeddings and of their optimizer's state")},
    {CQ_INT(O, "evaluate-every", evaluate_every, CHANGES, 1000, -1, 0, "STEPS",
            "steps between measurements on --dev and --sts; 0: only at the end; -1: a tenth of all steps")},
    {CQ_INT(O, "checkpoint-every", checkpoint_every, KEEPS, 1000, -1, 0, "STEPS",
            "steps between checkpoints for --resume; 0: only at the end and when stopped; -1: a tenth of all steps")},
    {CQ_CHOICE(O, "best-by", best_by, CHANGES, CQ_BEST_AUTO, best_bys, "MEASURE",
               "keep the best model by this held-out figure (as early stopping does, but the run continues "
               "to its end); auto: translation with --dev, else sts with --sts, else last; mse: 'calque "
               "distill' only, where it also decides between translation accuracies within a standard error")},
    {CQ_INT(O, "average", average, CHANGES, 0, 0, MAX_COUNT, "N",
            "stochastic weight averaging (SWA): the mean of the weights at the last N evaluations is another candidate "
            "for the best model; with --best-by last it is the model that is kept; if N is larger than their number, "
            "the start counts, too, so that less of it is lost (WiSE-FT); 0: no averaging")},
    {CQ_INT(O, "shards", n_shards, CHANGES, 4, 1, CQ_MAX_SHARDS, "N",
            "parts that a batch is divided into: at most this many threads can compute; results depend on it")},
    CQ_SEED_ROW(O, 1),
    {CQ_TEXT(O, "log", log_path, KEEPS, "FILE", "write the run's figures (the learning curve) here, as JSON lines"),
     .otherwise = "DIR/log.jsonl"},
    {CQ_FLAG(O, "freeze-body", freeze_body, CHANGES,
             "train only the vocabulary's embeddings: all other weights stay the same, and steps are faster")},
};

static cq_status check_training(const void *options, cq_error *error) {
  const O *o = options;
  if (!o->output) return cq_fail(error, CQ_ERR_ARGUMENT, "an output directory is needed");
  if (o->steps == 0 && !(o->epochs > 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "epochs is 0, expected more than 0, or a number of steps");
  const bool needs_dev = o->best_by == CQ_BEST_TRANSLATION || o->best_by == CQ_BEST_MSE;
  if ((needs_dev && o->n_dev == 0) || (o->best_by == CQ_BEST_STS && o->n_sts == 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "choosing the best model by %s needs %s files; or keep the last",
                   o->best_by == CQ_BEST_TRANSLATION ? "translation"
                   : o->best_by == CQ_BEST_MSE       ? "MSE"
                                                     : "STS",
                   needs_dev ? "development" : "STS");
  return CQ_OK;
}

const cq_option_group cq_group_training = {.name = "training",
                                           CQ_ROWS(O, option_rows),
                                           .check = check_training,
                                           CQ_FIELDS(CQ_CALLBACK(O, progress), CQ_FIELD(O, ranks))};
