/* The location and layout of the Hugging Face hub's cache:
 *
 *   CACHE/models--ORG--NAME/refs/main                 the commit of a branch, tag or pull request
 *   CACHE/models--ORG--NAME/snapshots/COMMIT/...      the files, relative links into blobs/
 *   CACHE/models--ORG--NAME/blobs/ETAG                contents, named by the hub's hash
 *   CACHE/models--ORG--NAME/blobs/ETAG.incomplete     an unfinished download
 *   CACHE/.locks/models--ORG--NAME/ETAG.lock          flock, held while blobs/ETAG is written
 *
 * CACHE is HF_HUB_CACHE, else HF_HOME/hub, else XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. */
#ifndef HUB_HUB_CACHE_H
#define HUB_HUB_CACHE_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { CQ_HUB_PATH = 4096, CQ_HUB_NAME = 512 };

/* An environment variable that is set and not empty; otherwise NULL. */
const char *cq_hub_environment(const char *name);
/* Whether the variable is true, as in huggingface_hub: 1, on, yes, true. */
bool cq_hub_environment_is_true(const char *name);
bool cq_hub_is_offline(void); /* HF_HUB_OFFLINE says so */

/* False if there is no home directory, or the path is too long. */
bool cq_hub_cache_directory(char out[CQ_HUB_PATH]);
/* The file where `hf auth login` stores the token: HF_TOKEN_PATH, else token next to the cache. */
bool cq_hub_token_file(char out[CQ_HUB_PATH]);

/* "models--ORG--NAME"; kind is "models" or "datasets", organization NULL if the name includes it or has none. False for
 * an invalid name. */
bool cq_hub_folder(char *out, size_t size, const char *kind, const char *organization, const char *name);

/* The snapshot of a model in the cache, at a branch, tag or full commit hash; revision NULL: main, or else the only
 * snapshot. *looked: the path that was tried, for an error. */
bool cq_hub_find_snapshot(char *out, size_t size, char looked[CQ_HUB_PATH], const char *cache, const char *kind,
                          const char *organization, const char *name, const char *revision);

/* "ORG/NAME" for a model's snapshot, or for anything else within the cache; false for other paths. */
bool cq_hub_name_of(char *out, size_t size, const char *path);

#endif
