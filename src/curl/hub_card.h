/* The card of a published model: its README.md, whose front matter the hub reads. */
#ifndef CURL_HUB_CARD_H
#define CURL_HUB_CARD_H

#include "base/slice.h"
#include "calque/hub.h"

/* Appends directory/README.md, or a short one if it is missing, with front matter from the options and the hub's tags
 * for sentence encoders, and a usage example with that name. Errors: CQ_ERR_FORMAT, with the line, for front matter
 * that does not end; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_hub_card_write(cq_builder *out, const char *directory, const char *repository,
                                        const cq_hub_put_options *options, cq_error *error);

#endif
