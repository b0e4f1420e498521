/* The functions of search/faiss_plugin.h, by FAISS. Exceptions become messages, since the caller is written in C. */
#include "search/faiss_plugin.h"

#include "base/guarded.h"

#include <algorithm>
#include <cmath>
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexScalarQuantizer.h>
#include <faiss/index_io.h>
#include <memory>
#include <omp.h>
#include <stdexcept>
#include <vector>

namespace {

constexpr int links = 32;                // of a node in the graph; twice as many on its lowest floor
constexpr int effort_building = 100;     // candidates kept while a node finds its neighbors
constexpr size_t min_effort = 128;       // candidates kept while searching the graph
constexpr size_t kept_at_once = 1 << 18; // candidates of all queries that FAISS is given at a time
constexpr size_t rows_for_a_list = 64;   // at least; k-means wants 39
constexpr size_t max_lists = CQ_FAISS_MAX_TRAINING_ROWS / rows_for_a_list;

// OpenMP's threads for the calling thread, which may use OpenMP itself.
class Threads {
public:
  explicit Threads(int n) : before(omp_get_max_threads()) { omp_set_num_threads(std::max(1, n)); }
  ~Threads() { omp_set_num_threads(before); }
  Threads(const Threads &) = delete;
  Threads &operator=(const Threads &) = delete;

private:
  int before;
};

int make(void **out, int graph, size_t n, size_t dim, char *message, size_t message_size) {
  return cq_guarded(message, message_size, [&] {
    const auto type = faiss::ScalarQuantizer::QT_8bit;
    if (graph) {
      auto index = std::make_unique<faiss::IndexHNSWSQ>(static_cast<int>(dim), type, links);
      index->hnsw.efConstruction = effort_building;
      *out = static_cast<faiss::Index *>(index.release());
      return;
    }
    const size_t wanted = static_cast<size_t>(4 * std::sqrt(static_cast<double>(n)));
    const size_t n_lists = std::max<size_t>(1, std::min({wanted, n / rows_for_a_list, max_lists}));
    auto lists = std::make_unique<faiss::IndexFlatIP>(static_cast<int64_t>(dim));
    auto index =
        std::make_unique<faiss::IndexIVFScalarQuantizer>(lists.get(), dim, n_lists, type, faiss::METRIC_INNER_PRODUCT);
    index->own_fields = lists.release() != nullptr;
    *out = static_cast<faiss::Index *>(index.release());
  });
}

int train(void *index, const float *vectors, size_t n, int n_threads, char *message, size_t message_size) {
  const Threads threads(n_threads);
  return cq_guarded(message, message_size,
                    [&] { static_cast<faiss::Index *>(index)->train(static_cast<int64_t>(n), vectors); });
}

int add(void *index, const float *vectors, size_t n, int n_threads, char *message, size_t message_size) {
  const Threads threads(n_threads);
  return cq_guarded(message, message_size,
                    [&] { static_cast<faiss::Index *>(index)->add(static_cast<int64_t>(n), vectors); });
}

int write(FILE *to, const void *index, char *message, size_t message_size) {
  return cq_guarded(message, message_size, [&] { faiss::write_index(static_cast<const faiss::Index *>(index), to); });
}

int read(void **out, FILE *from, size_t *n, size_t *dim, char *message, size_t message_size) {
  return cq_guarded(message, message_size, [&] {
    faiss::Index *index = faiss::read_index(from);
    *out = index;
    *n = static_cast<size_t>(index->ntotal);
    *dim = static_cast<size_t>(index->d);
  });
}

int search(int64_t *rows, const void *index, const float *queries, size_t n_queries, size_t k, size_t effort,
           int n_threads, char *message, size_t message_size) {
  const Threads threads(static_cast<int>(std::min(n_queries, static_cast<size_t>(n_threads))));
  return cq_guarded(message, message_size, [&] {
    const auto *any = static_cast<const faiss::Index *>(index);
    if (any == nullptr) throw std::invalid_argument("no index");
    // Options of this search alone: others search the same index.
    faiss::SearchParametersIVF of_lists;
    faiss::SearchParametersHNSW of_graph;
    const faiss::SearchParameters *parameters = nullptr;
    size_t n_kept = k;
    if (const auto *ivf = dynamic_cast<const faiss::IndexIVF *>(any)) {
      of_lists.nprobe = std::min(ivf->nlist, effort ? effort : std::max<size_t>(8, ivf->nlist / 32));
      parameters = &of_lists;
    } else if (dynamic_cast<const faiss::IndexHNSW *>(any) != nullptr) {
      of_graph.efSearch = static_cast<int>(std::max(k, effort ? effort : min_effort));
      // FAISS 1.7 keeps no more candidates than the index's own efSearch, or than rows that it is requested.
      n_kept = std::max(k, std::min(static_cast<size_t>(of_graph.efSearch), static_cast<size_t>(any->ntotal)));
      parameters = &of_graph;
    }
    const size_t n_at_once = std::max<size_t>(1, kept_at_once / n_kept);
    std::vector<float> scores(std::min(n_queries, n_at_once) * n_kept);
    std::vector<int64_t> kept(scores.size());
    for (size_t first = 0; first < n_queries; first += n_at_once) {
      const size_t n = std::min(n_queries - first, n_at_once);
      any->search(static_cast<int64_t>(n), queries + first * static_cast<size_t>(any->d), static_cast<int64_t>(n_kept),
                  scores.data(), kept.data(), parameters);
      for (size_t q = 0; q < n; q++) std::copy_n(kept.data() + q * n_kept, k, rows + (first + q) * k);
    }
  });
}

void release(void *index) {
  delete static_cast<faiss::Index *>(index);
}

} // namespace

extern "C" __attribute__((visibility("default")))
const cq_faiss_plugin cq_faiss_plugin_table = {CQ_FAISS_PLUGIN_VERSION, make, train, add, write, read, search, release};
