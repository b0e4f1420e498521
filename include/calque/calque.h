/** @file All of calque, except calque/extra/ and calque/lab/, which are outside the promise of a stable ABI.
 *
 * @threads See each header, and docs/threading.md. */
#ifndef CALQUE_CALQUE_H
#define CALQUE_CALQUE_H

#include "calque/analysis.h"
#include "calque/cache.h"
#include "calque/classify.h"
#include "calque/cluster.h"
#include "calque/context.h"
#include "calque/corpus.h"
#include "calque/dataset.h"
#include "calque/distill.h"
#include "calque/document.h"
#include "calque/embedding.h"
#include "calque/encoder.h"
#include "calque/eval.h"
#include "calque/extend.h"
#include "calque/finetune.h"
#include "calque/hub.h"
#include "calque/index.h"
#include "calque/index_copy.h"
#include "calque/language.h"
#include "calque/lexical.h"
#include "calque/lines.h"
#include "calque/mine.h"
#include "calque/nearest.h"
#include "calque/npy.h"
#include "calque/options.h"
#include "calque/precision.h"
#include "calque/process.h"
#include "calque/quantize.h"
#include "calque/ranks.h"
#include "calque/schedule.h"
#include "calque/slice.h"
#include "calque/status.h"
#include "calque/student.h"
#include "calque/training.h"
#include "calque/trim.h"
#include "calque/version.h"
#include "calque/words.h"

#endif
