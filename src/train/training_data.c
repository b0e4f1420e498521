/* Files for training or evaluation, from an option's text and back: see training_data.h. */
#include "train/training_data.h"

#include "base/error.h"
#include "base/number.h"
#include "base/slice.h"

#include <string.h>
#include <unistd.h>

static cq_status parse_training_data(void *item, const char *option, char *text, cq_error *error) {
  cq_training_data *out = item;
  char *colon = strrchr(text, ':');
  double weight;
  *out = (cq_training_data){.path = text, .weight = 1};
  if (access(text, F_OK) == 0) return CQ_OK;
  if (colon && cq_slice_number(&weight, cq_slice_of(colon + 1))) {
    if (!(weight > 0)) return cq_fail(error, CQ_ERR_ARGUMENT, "%s %s: the weight must be above 0", option, text);
    *colon = '\0';
    out->weight = weight;
  }
  char *equals = cq_option_label_end(text);
  if (equals) {
    *equals = '\0';
    out->label = text, out->path = equals + 1;
  }
  return CQ_OK;
}

static void print_training_data(struct cq_builder *out, const void *item) {
  const cq_training_data *d = item;
  char weight[32];
  cq_print_number(weight, d->weight);
  cq_builder_printf(out, "%s%s%s", d->label ? d->label : "", d->label ? "=" : "", d->path);
  if (d->weight != 1) cq_builder_printf(out, ":%s", weight);
}

const cq_option_items cq_training_data_items = {sizeof(cq_training_data), parse_training_data, print_training_data};
