/* Everything of calque at once. */
#ifndef CALQUE_CALQUE_H
#define CALQUE_CALQUE_H

#include "calque/analysis.h"
#include "calque/autoencode.h"
#include "calque/autoencode_trials.h"
#include "calque/chart.h"
#include "calque/classify.h"
#include "calque/clir.h"
#include "calque/cluster.h"
#include "calque/compare.h"
#include "calque/corpus.h"
#include "calque/distill.h"
#include "calque/embedding.h"
#include "calque/encoder.h"
#include "calque/eval.h"
#include "calque/index.h"
#include "calque/lexical.h"
#include "calque/lines.h"
#include "calque/mine.h"
#include "calque/mt.h"
#include "calque/nearest.h"
#include "calque/npy.h"
#include "calque/pool.h"
#include "calque/project.h"
#include "calque/retrieval.h"
#include "calque/schedule.h"
#include "calque/slice.h"
#include "calque/status.h"
#include "calque/student.h"
#include "calque/words.h"

#endif
