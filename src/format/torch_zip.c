/* The archive; its entries are not compressed:
 *
 *   NAME/data.pkl    the pickle
 *   NAME/data/KEY    the bytes of storage KEY
 *   NAME/byteorder   "little"
 *
 * The pickle, once run, is {tensor name: _rebuild_tensor_v2(storage, offset, shape, stride, ...)}, where a storage is a
 * persistent id ("storage", torch.FloatStorage, KEY, device, elements). A stack machine with a memo runs it; its values
 * have the eleven kinds below. Containers are shared by reference, as in Python, so nothing is deep-copied. Sources:
 * Python's pickletools; torch/serialization.py. */
#include "format/torch_zip.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/stored_file.h"
#include "format/zip.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors are borrowed from a little-endian file");

enum kind { NOTHING, MARK, BOOLEAN, INTEGER, REAL, STRING, LIST, DICTIONARY, GLOBAL, STORAGE, TENSOR };

enum global { ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER, SIZE, STORAGE_TYPE };

static const struct known_global {
  const char *name; /* module and name with a space between them, as in the pickle */
  enum global global;
  const char *dtype_text;
  cq_dtype dtype;
  size_t size;
} globals[] = {
    {"collections OrderedDict", ORDERED_DICT, NULL, CQ_OTHER_DTYPE, 0},
    {"torch._utils _rebuild_tensor_v2", REBUILD_TENSOR, NULL, CQ_OTHER_DTYPE, 0},
    {"torch._utils _rebuild_parameter", REBUILD_PARAMETER, NULL, CQ_OTHER_DTYPE, 0},
    {"torch Size", SIZE, NULL, CQ_OTHER_DTYPE, 0},
    {"torch FloatStorage", STORAGE_TYPE, "F32", CQ_F32, 4},
    {"torch HalfStorage", STORAGE_TYPE, "F16", CQ_F16, 2},
    {"torch BFloat16Storage", STORAGE_TYPE, "BF16", CQ_BF16, 2},
    {"torch DoubleStorage", STORAGE_TYPE, "F64", CQ_F64, 8},
    {"torch LongStorage", STORAGE_TYPE, "I64", CQ_I64, 8},
    {"torch IntStorage", STORAGE_TYPE, "I32", CQ_I32, 4},
    {"torch ShortStorage", STORAGE_TYPE, "I16", CQ_OTHER_DTYPE, 2},
    {"torch CharStorage", STORAGE_TYPE, "I8", CQ_I8, 1},
    {"torch ByteStorage", STORAGE_TYPE, "U8", CQ_U8, 1},
    {"torch BoolStorage", STORAGE_TYPE, "BOOL", CQ_BOOL, 1},
};

struct value {
  enum kind kind;
  union {
    int64_t integer; /* BOOLEAN, INTEGER; REAL: not kept, nothing needs it */
    cq_slice string;
    struct list *list; /* LIST: also tuples; DICTIONARY: alternating keys and values */
    const struct known_global *global;
    const struct storage *storage;
    const cq_stored_tensor *tensor;
  } as;
};

struct list {
  struct value *items;
  size_t n, capacity;
};

struct storage {
  const struct known_global *type;
  const unsigned char *data;
  size_t n_elements;
};

struct machine {
  cq_safetensors *file; /* its arena holds all values */
  cq_error *error;
  const cq_zip_entry *entries;
  size_t n_entries;
  cq_slice folder;            /* "NAME/" of the archive */
  const unsigned char *p;     /* the pickle */
  size_t n, at, here;         /* here: the instruction at work */
  struct value *stack, *memo; /* malloc'ed */
  size_t n_stack, stack_capacity, memo_capacity;
};

/* ---- failing ---- */

static uint64_t pickle_position(const struct machine *m) {
  return (uint64_t)(m->p - m->file->mapping.data) + m->here;
}

static cq_status fail_pickle(const struct machine *m, const char *problem) {
  return cq_fail_byte(m->error, CQ_ERR_FORMAT, m->file->path, pickle_position(m), "broken pickle: %s", problem);
}

static cq_status refuse_pickle(const struct machine *m, const char *what) {
  return cq_fail_byte(m->error, CQ_ERR_UNSUPPORTED, m->file->path, pickle_position(m),
                      "%s, expected a dictionary of tensors", what);
}

static cq_status no_memory(const struct machine *m) {
  return cq_fail_memory(m->error, m->file->path);
}

/* ---- stack and containers ---- */

static cq_status push_value(struct machine *m, struct value v) {
  if (!cq_reserve((void **)&m->stack, &m->stack_capacity, m->n_stack + 1, sizeof *m->stack)) return no_memory(m);
  m->stack[m->n_stack++] = v;
  return CQ_OK;
}

/* Takes the top value; a MARK is none. */
static cq_status pop_value(struct value *out, struct machine *m) {
  if (m->n_stack == 0 || m->stack[m->n_stack - 1].kind == MARK) return fail_pickle(m, "the stack is empty");
  *out = m->stack[--m->n_stack];
  return CQ_OK;
}

static cq_status append_items(struct machine *m, struct list *list, const struct value *items, size_t n) {
  if (list->n + n > list->capacity) {
    size_t capacity = list->n + n > 2 * list->capacity ? list->n + n : 2 * list->capacity;
    struct value *grown = cq_arena_array(&m->file->arena, capacity, sizeof *grown);
    if (!grown) return no_memory(m);
    if (list->n) memcpy(grown, list->items, list->n * sizeof *grown);
    list->items = grown;
    list->capacity = capacity;
  }
  if (n) memcpy(list->items + list->n, items, n * sizeof *items);
  list->n += n;
  return CQ_OK;
}

/* Replaces the n topmost values by one container that holds them. */
static cq_status push_container(struct machine *m, enum kind kind, size_t n) {
  struct list *list = cq_arena_alloc(&m->file->arena, sizeof *list);
  if (!list) return no_memory(m);
  *list = (struct list){0};
  if (n > m->n_stack) return fail_pickle(m, "the stack is empty");
  cq_status status = n ? append_items(m, list, m->stack + m->n_stack - n, n) : CQ_OK;
  m->n_stack -= n;
  return status ? status : push_value(m, (struct value){.kind = kind, .as.list = list});
}

/* The number of values above the topmost MARK; removes the mark. */
static cq_status above_mark(size_t *n, struct machine *m) {
  size_t i = m->n_stack;
  while (i > 0 && m->stack[i - 1].kind != MARK) i--;
  if (i == 0) return fail_pickle(m, "no mark on the stack");
  *n = m->n_stack - i;
  memmove(m->stack + i - 1, m->stack + i, *n * sizeof *m->stack);
  m->n_stack--;
  return CQ_OK;
}

/* Moves the n topmost values into the container below them. */
static cq_status extend_list(struct machine *m, enum kind kind, size_t n) {
  if (n >= m->n_stack || m->stack[m->n_stack - n - 1].kind != kind) return fail_pickle(m, "items without a container");
  if (kind == DICTIONARY && n % 2) return fail_pickle(m, "a key without a value");
  m->n_stack -= n;
  return append_items(m, m->stack[m->n_stack - 1].as.list, m->stack + m->n_stack, n);
}

/* ---- reading the pickle ---- */

static cq_status take_bytes(const unsigned char **out, struct machine *m, size_t n) {
  if (m->n - m->at < n) return fail_pickle(m, "it ends too early");
  *out = m->p + m->at;
  m->at += n;
  return CQ_OK;
}

/* A number of 1 to 8 bytes; `is_signed` extends its sign. */
static cq_status take_number(int64_t *out, struct machine *m, size_t n_bytes, bool is_signed) {
  const unsigned char *p = NULL;
  cq_status status = take_bytes(&p, m, n_bytes);
  uint64_t x = 0;
  for (size_t i = n_bytes; !status && i > 0; i--) x = x << 8 | p[i - 1];
  if (is_signed && n_bytes > 0 && n_bytes < 8 && !status && p[n_bytes - 1] & 0x80) x |= ~(uint64_t)0 << 8 * n_bytes;
  *out = (int64_t)x;
  return status;
}

static cq_status push_string(struct machine *m, size_t length_bytes) {
  int64_t n = 0;
  const unsigned char *p = NULL;
  cq_status status = take_number(&n, m, length_bytes, false);
  if (!status && n < 0) return fail_pickle(m, "it ends too early");
  if (!status) status = take_bytes(&p, m, (size_t)n);
  return status ? status : push_value(m, (struct value){.kind = STRING, .as.string = {(const char *)p, (size_t)n}});
}

static cq_status push_number(struct machine *m, enum kind kind, size_t n_bytes, bool is_signed) {
  int64_t x;
  cq_status status = take_number(&x, m, n_bytes, is_signed);
  return status ? status : push_value(m, (struct value){.kind = kind, .as.integer = x});
}

static cq_status push_global(struct machine *m, cq_slice module, cq_slice name) {
  for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
    const char *space = strchr(globals[i].name, ' ');
    cq_slice known = {globals[i].name, (size_t)(space - globals[i].name)};
    if (cq_slice_equal(module, known) && cq_slice_equal(name, cq_slice_of(space + 1)))
      return push_value(m, (struct value){.kind = GLOBAL, .as.global = &globals[i]});
  }
  return cq_fail_byte(m->error, CQ_ERR_UNSUPPORTED, m->file->path, pickle_position(m),
                      "it needs %.*s.%.*s, which is not part of a state dict (nothing was run)",
                      module.n < 100 ? (int)module.n : 100, module.data, name.n < 100 ? (int)name.n : 100, name.data);
}

static cq_status take_pickle_line(cq_slice *out, struct machine *m) {
  const unsigned char *end = memchr(m->p + m->at, '\n', m->n - m->at);
  if (!end) return fail_pickle(m, "it ends too early");
  *out = (cq_slice){(const char *)m->p + m->at, (size_t)(end - m->p) - m->at};
  m->at += out->n + 1;
  return CQ_OK;
}

/* ---- memo ---- */

static cq_status put_memo(struct machine *m, int64_t index) {
  if (m->n_stack == 0 || m->stack[m->n_stack - 1].kind == MARK) return fail_pickle(m, "the stack is empty");
  if (index < 0 || (uint64_t)index > m->n) return fail_pickle(m, "a memo number that is too high");
  size_t before = m->memo_capacity, i = (size_t)index;
  if (!cq_reserve((void **)&m->memo, &m->memo_capacity, i + 1, sizeof *m->memo)) return no_memory(m);
  for (size_t k = before; k < m->memo_capacity; k++) m->memo[k].kind = MARK; /* not set */
  m->memo[i] = m->stack[m->n_stack - 1];
  return CQ_OK;
}

static cq_status get_memo(struct machine *m, int64_t index) {
  if (index < 0 || (uint64_t)index >= m->memo_capacity || m->memo[index].kind == MARK)
    return fail_pickle(m, "it recalls a memo that was not stored");
  return push_value(m, m->memo[index]);
}

/* ---- storages and tensors ---- */

static const cq_zip_entry *find_entry(const struct machine *m, const char *before, cq_slice name) {
  size_t n = strlen(before);
  for (size_t i = 0; i < m->n_entries; i++) {
    cq_slice e = m->entries[i].name;
    if (e.n == m->folder.n + n + name.n && cq_slice_equal((cq_slice){e.data, m->folder.n}, m->folder) &&
        !memcmp(e.data + m->folder.n, before, n) && cq_slice_equal((cq_slice){e.data + m->folder.n + n, name.n}, name))
      return &m->entries[i];
  }
  return NULL;
}

/* ("storage", type, key, device, elements) becomes a storage. */
static cq_status load_storage(struct machine *m) {
  struct value id = {0};
  cq_status status = pop_value(&id, m);
  if (status) return status;
  const struct value *v = id.kind == LIST && id.as.list->n == 5 ? id.as.list->items : NULL;
  if (!v || v[0].kind != STRING || !cq_slice_equal(v[0].as.string, cq_slice_of("storage")) || v[1].kind != GLOBAL ||
      v[1].as.global->global != STORAGE_TYPE || v[2].kind != STRING || v[4].kind != INTEGER || v[4].as.integer < 0)
    return fail_pickle(m, "expected (\"storage\", type, key, device, size)");
  const struct known_global *type = v[1].as.global;
  const cq_zip_entry *entry = find_entry(m, "data/", v[2].as.string);
  if (!entry) return fail_pickle(m, "a storage is not in the archive");
  if (entry->n % type->size || entry->n / type->size != (uint64_t)v[4].as.integer)
    return fail_pickle(m, "a storage has another size than the pickle says");
  struct storage *storage = cq_arena_alloc(&m->file->arena, sizeof *storage);
  if (!storage) return no_memory(m);
  *storage = (struct storage){type, entry->data, entry->n / type->size};
  return push_value(m, (struct value){.kind = STORAGE, .as.storage = storage});
}

static cq_status rebuild_tensor(struct machine *m, const struct list *args) {
  const struct value *v = args->items;
  if (args->n < 6 || v[0].kind != STORAGE || v[1].kind != INTEGER || v[2].kind != LIST || v[3].kind != LIST ||
      v[2].as.list->n != v[3].as.list->n)
    return fail_pickle(m, "expected (storage, offset, shape, stride, ...)");
  cq_stored_tensor *t = cq_arena_alloc(&m->file->arena, sizeof *t);
  if (!t) return no_memory(m);
  const struct storage *storage = v[0].as.storage;
  const struct list *shape = v[2].as.list, *stride = v[3].as.list;
  *t = (cq_stored_tensor){.dtype = storage->type->dtype, .dtype_text = storage->type->dtype_text, .n_elements = 1};
  if (shape->n > sizeof t->shape / sizeof *t->shape) return refuse_pickle(m, "a tensor of more than 8 dimensions");
  t->n_dims = (int)shape->n;
  bool empty = false, contiguous = true;
  for (size_t i = shape->n; i > 0; i--) { /* from the last dimension: stride 1, then the last one's size, ... */
    const struct value *size = &shape->items[i - 1], *step = &stride->items[i - 1];
    if (size->kind != INTEGER || step->kind != INTEGER || size->as.integer < 0)
      return fail_pickle(m, "a shape of no whole numbers");
    t->shape[i - 1] = size->as.integer;
    if (size->as.integer != 1 && step->as.integer != t->n_elements) contiguous = false;
    if (size->as.integer == 0)
      empty = true;
    else if (__builtin_mul_overflow(t->n_elements, size->as.integer, &t->n_elements))
      return fail_pickle(m, "a shape of more than 2^63 elements");
  }
  if (empty)
    t->n_elements = 0;
  else if (!contiguous)
    return refuse_pickle(m, "a tensor that is not contiguous (a transposed view?)");
  uint64_t offset = (uint64_t)v[1].as.integer;
  if (v[1].as.integer < 0 || offset > storage->n_elements || (uint64_t)t->n_elements > storage->n_elements - offset)
    return fail_pickle(m, "a tensor reaches past its storage");
  t->data = storage->data + offset * storage->type->size;
  return push_value(m, (struct value){.kind = TENSOR, .as.tensor = t});
}

/* Calls the global below the argument tuple: one of the four supported ones. */
static cq_status reduce_call(struct machine *m) {
  struct value args = {0}, global = {0};
  cq_status status = pop_value(&args, m);
  if (!status) status = pop_value(&global, m);
  if (status) return status;
  if (args.kind != LIST || global.kind != GLOBAL) return fail_pickle(m, "a call of no known function");
  const struct list *list = args.as.list;
  switch (global.as.global->global) {
  case ORDERED_DICT:
    if (list->n) return refuse_pickle(m, "an ordered dictionary that is made with items");
    return push_container(m, DICTIONARY, 0);
  case REBUILD_TENSOR: return rebuild_tensor(m, list);
  case REBUILD_PARAMETER:
    if (list->n < 1 || list->items[0].kind != TENSOR) return fail_pickle(m, "a parameter without a tensor");
    return push_value(m, list->items[0]);
  case SIZE:
    if (list->n != 1 || list->items[0].kind != LIST) return fail_pickle(m, "a size without numbers");
    return push_value(m, list->items[0]);
  case STORAGE_TYPE: break;
  }
  return fail_pickle(m, "a call of no known function");
}

/* ---- the machine ---- */

static cq_status run_opcode(struct machine *m, unsigned char code) {
  struct value v = {0};
  cq_slice module, name;
  int64_t x = 0;
  size_t n = 0;
  cq_status status = CQ_OK;
  switch (code) {
  case 0x80: return take_number(&x, m, 1, false); /* PROTO */
  case 0x95: return take_number(&x, m, 8, false); /* FRAME */
  case '(': return push_value(m, (struct value){.kind = MARK});
  case 'N': return push_value(m, (struct value){.kind = NOTHING});
  case 0x88: return push_value(m, (struct value){.kind = BOOLEAN, .as.integer = 1});
  case 0x89: return push_value(m, (struct value){.kind = BOOLEAN, .as.integer = 0});
  case 'K': return push_number(m, INTEGER, 1, false);
  case 'M': return push_number(m, INTEGER, 2, false);
  case 'J': return push_number(m, INTEGER, 4, true);
  case 'G': return push_number(m, REAL, 8, false);
  case 0x8A: /* LONG1 */
    if ((status = take_number(&x, m, 1, false))) return status;
    if (x > 8) return fail_pickle(m, "an integer of more than 64 bits");
    return push_number(m, INTEGER, (size_t)x, true);
  case 'X': return push_string(m, 4);
  case 0x8C: return push_string(m, 1);
  case 0x8D: return push_string(m, 8);
  case ')': return push_container(m, LIST, 0);
  case ']': return push_container(m, LIST, 0);
  case '}': return push_container(m, DICTIONARY, 0);
  case 0x85:
  case 0x86:
  case 0x87: /* TUPLE1 to TUPLE3 */
    for (size_t i = 0; i < code - 0x84u; i++) {
      if (i >= m->n_stack || m->stack[m->n_stack - 1 - i].kind == MARK) return fail_pickle(m, "the stack is empty");
    }
    return push_container(m, LIST, code - 0x84u);
  case 't': return (status = above_mark(&n, m)) ? status : push_container(m, LIST, n);
  case 'a': return extend_list(m, LIST, 1);
  case 'e': return (status = above_mark(&n, m)) ? status : extend_list(m, LIST, n);
  case 's': return extend_list(m, DICTIONARY, 2);
  case 'u': return (status = above_mark(&n, m)) ? status : extend_list(m, DICTIONARY, n);
  case '0': return pop_value(&v, m);
  case 'q': return (status = take_number(&x, m, 1, false)) ? status : put_memo(m, x);
  case 'r': return (status = take_number(&x, m, 4, false)) ? status : put_memo(m, x);
  case 'h': return (status = take_number(&x, m, 1, false)) ? status : get_memo(m, x);
  case 'j': return (status = take_number(&x, m, 4, false)) ? status : get_memo(m, x);
  case 'c':
    if (!(status = take_pickle_line(&module, m))) status = take_pickle_line(&name, m);
    return status ? status : push_global(m, module, name);
  case 'Q': return load_storage(m);
  case 'R': return reduce_call(m);
  case 'b': /* BUILD: a state dict's own metadata (versions of its modules), which is not needed here */
    if ((status = pop_value(&v, m))) return status;
    if (m->n_stack == 0 || m->stack[m->n_stack - 1].kind != DICTIONARY)
      return refuse_pickle(m, "an object with a state");
    return CQ_OK;
  default:
    return cq_fail_byte(m->error, CQ_ERR_UNSUPPORTED, m->file->path, pickle_position(m),
                        "pickle instruction 0x%02x is not part of a state dict (nothing was run)", code);
  }
}

static cq_status run_pickle(struct value *result, struct machine *m) {
  for (;;) {
    const unsigned char *code = NULL;
    m->here = m->at;
    cq_status status = take_bytes(&code, m, 1);
    if (status) return status;
    if (*code == '.') return pop_value(result, m);
    if ((status = run_opcode(m, *code))) return status;
  }
}

/* ---- from the result to the file ---- */

static cq_status name_tensors(struct machine *m, struct value root) {
  cq_safetensors *file = m->file;
  if (root.kind != DICTIONARY) return refuse_pickle(m, "the pickle holds something else");
  const struct list *items = root.as.list;
  if (items->n / 2 > CQ_MAX_TENSORS)
    return cq_fail_file(m->error, CQ_ERR_LIMIT, file->path, "%zu tensors, at most %d are read", items->n / 2,
                        CQ_MAX_TENSORS);
  file->tensors = cq_arena_array(&file->arena, items->n / 2, sizeof *file->tensors);
  if (!file->tensors) return no_memory(m);
  for (size_t i = 0; i < items->n / 2; i++) {
    const struct value *key = &items->items[2 * i], *value = key + 1;
    if (key->kind != STRING || memchr(key->as.string.data, 0, key->as.string.n))
      return refuse_pickle(m, "a key that is not a name");
    char *name = cq_arena_strndup(&file->arena, key->as.string.data, key->as.string.n);
    if (!name) return no_memory(m);
    if (value->kind != TENSOR)
      return cq_fail_file(m->error, CQ_ERR_UNSUPPORTED, file->path, "entry '%.200s' of the dictionary is not a tensor",
                          name);
    if (cq_map_get(&file->by_name, cq_slice_of(name)) != CQ_MAP_NONE)
      return cq_fail_file(m->error, CQ_ERR_FORMAT, file->path, "two tensors are named '%.200s'", name);
    file->tensors[i] = *value->as.tensor;
    file->tensors[i].name = name;
    if (!cq_map_put_borrowed(&file->by_name, cq_slice_of(name), i)) return no_memory(m);
  }
  file->n = items->n / 2;
  return CQ_OK;
}

static cq_status read_archive(cq_safetensors *file, cq_error *error) {
  const unsigned char *bytes = file->mapping.data;
  cq_zip_entry *entries;
  struct machine m = {.file = file, .error = error};
  if (file->mapping.n >= 1 && bytes[0] == 0x80)
    return cq_fail_byte(error, CQ_ERR_UNSUPPORTED, file->path, 0,
                        "older than PyTorch 1.6; save it again, best as safetensors");
  if (file->mapping.n < 4 || memcmp(bytes, "PK\3\4", 4) != 0)
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, 0, "not a file that torch.save wrote");
  cq_status status =
      cq_zip_read(&entries, &m.n_entries, &file->arena, bytes, file->mapping.n, false, file->path, error);
  if (status) return status;
  m.entries = entries;
  for (size_t i = 0; i < m.n_entries && !m.p; i++) {
    static const char pickle[] = "data.pkl";
    cq_slice name = entries[i].name;
    if (name.n < sizeof pickle || memcmp(name.data + name.n - 9, "/data.pkl", 9) != 0) continue;
    m.folder = (cq_slice){name.data, name.n - 8};
    m.p = entries[i].data;
    m.n = entries[i].n;
  }
  if (!m.p) return cq_fail_file(error, CQ_ERR_FORMAT, file->path, "the archive has no data.pkl");
  const cq_zip_entry *order = find_entry(&m, "byteorder", (cq_slice){0});
  if (order && !cq_slice_equal((cq_slice){(const char *)order->data, order->n}, cq_slice_of("little")))
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, file->path, "big-endian tensors");
  struct value root = {0};
  status = run_pickle(&root, &m);
  if (!status) status = name_tensors(&m, root);
  cq_free(m.stack);
  cq_free(m.memo);
  return status;
}

cq_status cq_torch_zip_open(cq_safetensors **out, const char *path, cq_error *error) {
  return cq_stored_file_open(out, path, read_archive, error);
}
