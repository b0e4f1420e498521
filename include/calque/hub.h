/** @file The Hugging Face hub: fetching models and data sets into huggingface_hub's cache, and publishing models.
 *
 *      char *directory;
 *      cq_hub_get(&directory, "sentence-transformers/all-MiniLM-L6-v2", NULL, &err);
 *      cq_encoder_open(&encoder, "all-MiniLM-L6-v2", NULL, &err);          // found by its name from now on
 *      cq_free(directory);
 *
 * It needs calque's plugin for libcurl, which is loaded by the first call.
 *
 * Environment, as huggingface_hub reads it: HF_HUB_CACHE, HF_HOME and XDG_CACHE_HOME (where the cache is), HF_TOKEN,
 * HF_TOKEN_PATH (the user), HF_ENDPOINT (another hub), HF_HUB_OFFLINE (nothing is fetched), HF_HUB_ETAG_TIMEOUT and
 * HF_HUB_DOWNLOAD_TIMEOUT (seconds without an answer; 10); https_proxy, all_proxy and no_proxy as curl reads them;
 * CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or SSL_CERT_FILE (certificates to trust).
 *
 * @threads Calls are independent of one another, in one process or several: a file that two of them need is fetched
 * once. progress is called on the calling thread. */
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

/** Receives the number of bytes done, the total, and the current file, several times a second; return false to stop. */
typedef bool (*cq_hub_progress_fn)(void *context, const char *file, uint64_t done, uint64_t n_all);

typedef struct cq_hub_options {
  size_t size;
  cq_hub_type type;
  /** Which files: `*` matches any characters, including slashes, `?` one character; `data/` everything in it. None: the
   * files of a model that calque reads (weights as safetensors if possible, else as pickles), or all files of a data
   * set. */
  const char *const *files;
  size_t n_files;
  cq_hub_progress_fn progress;
  void *progress_context;
} cq_hub_options;
CQ_DEFAULT_OPTIONS(cq_hub_options, cq_hub_default_options, hub) /**< group "hub" */

/** Fetches a repository's files that the cache lacks. With HF_HUB_OFFLINE, only uses the cache. Contents are verified
 * by the hub's hashes (SHA-256 for large files, git's SHA-1 for small ones) before they get their names; names appear
 * when all files are complete. An interrupted call is resumed.
 * @param directory   receives the snapshot's path, released with cq_free()
 * @param repository  "ORG/NAME" or "NAME", then optionally `@` and a branch, tag, pull request or commit instead of
 *                    main. A model's NAME without ORG is first tried as sentence-transformers/NAME
 * @errors CQ_ERR_ARGUMENT for an invalid name, and patterns that no file matches; CQ_ERR_IO for errors of the hub, the
 * network or the disk; CQ_ERR_FORMAT for an invalid response: wrong hash or size, no JSON, a file name outside the
 * directory; CQ_ERR_UNSUPPORTED without the plugin; CQ_ERR_STOPPED; CQ_ERR_MEMORY. Messages name the URL, or the file,
 * and the reason. */
CQ_API CQ_MUST_USE cq_status cq_hub_get(char **directory, const char *repository, const cq_hub_options *options,
                                        cq_error *error);

typedef struct cq_hub_put_options {
  size_t size;
  /** For the card (README.md); each option replaces the card's value. */
  const char *license;            /**< by the hub's name: "apache-2.0", "cc-by-4.0" */
  const char *const *base_models; /**< such as "sentence-transformers/all-MiniLM-L6-v2" */
  size_t n_base_models;
  const char *const *languages; /**< ISO 639: "de" */
  size_t n_languages;
  const char *const *datasets; /**< training data, by their names on the hub */
  size_t n_datasets;
  const char *message; /**< commit message; NULL: one with the model and calque's version */
  bool is_private;     /**< create the repository as a private one */
  bool replace;        /**< replace files with other contents; otherwise, they are an error */
  cq_hub_progress_fn progress;
  void *progress_context;
  cq_notice_fn notice; /**< receives fields that the card lacks, and files that the hub already has */
  void *notice_context;
} cq_hub_put_options;
CQ_DEFAULT_OPTIONS(cq_hub_put_options, cq_hub_put_default_options, hub_put) /**< group "hub_put" */

/** Publishes a model's directory on the hub in one commit: all files appear or none. A missing repository is created.
 * Large files are sent first, unless the hub already has them. Hidden files are left out. It requires a token with
 * write access (HF_TOKEN).
 * @param url         receives the commit's address, released with cq_free()
 * @param repository  "ORG/NAME", then optionally `@` and an existing branch instead of main
 * @errors CQ_ERR_ARGUMENT for a directory without a model, a name without an organization, and, without replace, a file
 * that differs in the repository; CQ_ERR_IO for errors of the hub, the network or the disk, also when somebody else has
 * changed the repository meanwhile; CQ_ERR_FORMAT, CQ_ERR_UNSUPPORTED, CQ_ERR_STOPPED, CQ_ERR_MEMORY as for
 * cq_hub_get(). */
CQ_API CQ_MUST_USE cq_status cq_hub_put(char **url, const char *directory, const char *repository,
                                        const cq_hub_put_options *options, cq_error *error);

/** What cq_hub_put() would send, without connecting to the hub: one line per file with size and name, then the card.
 * @param text  released with cq_free() */
CQ_API CQ_MUST_USE cq_status cq_hub_put_preview(char **text, const char *directory, const char *repository,
                                                const cq_hub_put_options *options, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
