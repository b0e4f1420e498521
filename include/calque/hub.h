/* Models and data sets of the Hugging Face hub, fetched into the cache that huggingface_hub keeps, and models sent there.
 *
 *   char *directory;
 *   cq_hub_get(&directory, "sentence-transformers/all-MiniLM-L6-v2", NULL, &err);
 *   cq_encoder_open(&encoder, "all-MiniLM-L6-v2", NULL, &err);          // found by its name from now on
 *   cq_free(directory);
 *
 * Nothing else in calque uses the network. It needs calque's plugin for libcurl, which is loaded by the first call.
 *
 * Environment, as huggingface_hub reads it: HF_HUB_CACHE, HF_HOME and XDG_CACHE_HOME (where the cache is), HF_TOKEN,
 * HF_TOKEN_PATH (who asks), HF_ENDPOINT (another hub), HF_HUB_OFFLINE (nothing is fetched), HF_HUB_ETAG_TIMEOUT and
 * HF_HUB_DOWNLOAD_TIMEOUT (seconds without an answer; 10); https_proxy, all_proxy and no_proxy as curl reads them;
 * CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or SSL_CERT_FILE (certificates to trust).
 *
 * Threads: calls are independent of one another, in one process or several: a file that two of them want is fetched
 * once. progress is told on the calling thread. */
#ifndef CALQUE_HUB_H
#define CALQUE_HUB_H

#include "calque/options.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_hub_type { CQ_HUB_MODEL, CQ_HUB_DATASET } cq_hub_type;

/* How many bytes of all that are needed are there, and the file at work. Called several times a second; returns false
 * to stop. */
typedef bool (*cq_hub_progress_fn)(void *context, const char *file, uint64_t done, uint64_t n_all);

typedef struct cq_hub_options { /* group "hub" */
  size_t size;
  cq_hub_type type;
  /* Which files: "*" stands for any characters, slashes among them, "?" for one; "data/" for all in it. None: of a model
   * what calque reads, weights as safetensors where there are any, else as pickles; of a data set everything. */
  const char *const *files;
  size_t n_files;
  cq_hub_progress_fn progress;
  void *progress_context;
} cq_hub_options;
CQ_DEFAULT_OPTIONS(cq_hub_options, cq_hub_default_options, hub)

/* Fetches what the cache lacks of a repository.
 *   directory    receives the snapshot's path, to be released with cq_free
 *   repository   "ORG/NAME" or "NAME", with "@" and a branch, tag, pull request or commit behind it; else it is main. A
 *                model's NAME alone is sentence-transformers' if that has one.
 * Contents are compared with the hub's hashes (SHA-256 of large files, git's SHA-1 of small ones) before they get their
 * names; names appear when all files are there. An interrupted call continues where it was. With HF_HUB_OFFLINE it returns
 * what the cache has.
 * Errors: CQ_ERR_ARGUMENT for a name that none can have, and patterns that no file matches; CQ_ERR_IO for whatever the
 * hub, the network or the disk refuses; CQ_ERR_FORMAT for answers that are not what they should be: another hash or
 * size, no JSON, a file name that leaves the directory; CQ_ERR_UNSUPPORTED without the plugin; CQ_ERR_STOPPED;
 * CQ_ERR_MEMORY. Messages name the URL, or the file, and the reason. */
CQ_API CQ_MUST_USE cq_status cq_hub_get(char **directory, const char *repository, const cq_hub_options *options,
                                        cq_error *error);

typedef struct cq_hub_put_options { /* group "hub_put" */
  size_t size;
  /* For the card (README.md); each replaces what the directory's says. */
  const char *license;            /* as the hub calls it: "apache-2.0", "cc-by-4.0" */
  const char *const *base_models; /* that it was made from: "sentence-transformers/all-MiniLM-L6-v2" */
  size_t n_base_models;
  const char *const *languages; /* ISO 639: "de" */
  size_t n_languages;
  const char *const *datasets; /* that it was trained on, by the hub's names */
  size_t n_datasets;
  const char *message; /* of the commit; NULL: one that says which model and which calque */
  bool is_private;     /* a repository that is created */
  bool replace;        /* files that are there with other contents; else they are an error */
  cq_hub_progress_fn progress;
  void *progress_context;
  cq_notice_fn notice; /* what the card lacks; files that are there already */
  void *notice_context;
} cq_hub_put_options;
CQ_DEFAULT_OPTIONS(cq_hub_put_options, cq_hub_put_default_options, hub_put)

/* Sends a model's directory to the hub, where it is one commit: all files appear or none. A repository that does not exist
 * is created. Large files are sent first, those that the hub has already are not.
 *   url          receives the commit's address, to be released with cq_free
 *   repository   "ORG/NAME", with "@" and a branch that exists behind it; else it is main
 * It needs a token that may write (HF_TOKEN). Files with a dot in front stay here.
 * Errors: CQ_ERR_ARGUMENT for a directory without a model, a name without an organization, and, without replace, a file
 * that the repository has with other contents, which the message names; CQ_ERR_IO for whatever the hub, the network or
 * the disk refuses, also when somebody else has changed the repository meanwhile; CQ_ERR_FORMAT, CQ_ERR_UNSUPPORTED,
 * CQ_ERR_STOPPED, CQ_ERR_MEMORY as above. */
CQ_API CQ_MUST_USE cq_status cq_hub_put(char **url, const char *directory, const char *repository,
                                        const cq_hub_put_options *options, cq_error *error);

/* What would be sent, without asking the hub: a line for each file, its size and name, then the card.
 *   text   to be released with cq_free */
CQ_API CQ_MUST_USE cq_status cq_hub_put_preview(char **text, const char *directory, const char *repository,
                                                const cq_hub_put_options *options, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
