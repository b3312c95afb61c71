#define _GNU_SOURCE
#include "deploy/runtime/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/runtime/cpu_features.h"
#include "deploy/runtime/elf_check.h"
#include "deploy/runtime/error.h"
#include "deploy/runtime/op.h"
#include "deploy/runtime/seal.h"

#define MAX_VALUES 65536
#define MAX_TENSOR_BYTES (INT64_C(1) << 60)
#define MAX_SPECIALIZATIONS 1024

struct temper_module_handle {
  atomic_int references;
  void* library; /* of dlopen */
  int fd;
  const temper_workload_table* workloads; /* may be NULL */
  int count;                              /* specializations */
  const temper_module_info** infos;       /* one each */
  temper_specialization_info* described;  /* one each; they own their inputs and outputs */
  temper_signature all;
  int64_t* shapes; /* of `all`, where it has any of its own */
};

/* By the numbers of DType (base/dtype.h). */
static const DLDataType kTypes[] = {
    {kDLFloat, 32, 1},
    {kDLFloat, 64, 1},
    {kDLFloat, 16, 1},
    {kDLBfloat, 16, 1},
    {kDLInt, 8, 1},
    {kDLInt, 16, 1},
    {kDLInt, 32, 1},
    {kDLInt, 64, 1},
    {kDLUInt, 8, 1},
    {kDLUInt, 16, 1},
    {kDLUInt, 32, 1},
    {kDLUInt, 64, 1},
    {kDLBool, 8, 1},
    {kDLFloat8_e4m3fn, 8, 1},
    {kDLFloat8_e4m3fnuz, 8, 1},
    {kDLFloat8_e5m2, 8, 1},
    {kDLFloat8_e5m2fnuz, 8, 1},
};
enum { kTypeCount = sizeof kTypes / sizeof kTypes[0] };

/* Fills `out` from one value's metadata; -1 where that is not consistent. */
static int ReadValue(const temper_value_info* value, int is_output, temper_tensor_info* out) {
  if (!value->name || value->dtype < 0 || value->dtype >= kTypeCount) return -1;
  if (value->rank < 0 || value->rank > TEMPER_MAX_DIMS) return -1;
  out->name = value->name;
  out->dtype = kTypes[value->dtype];
  out->ndim = value->rank;
  out->shape = value->shape;
  out->max_shape = value->max_shape;
  int64_t bytes = out->dtype.bits / 8;
  for (int d = 0; d < value->rank; ++d) {
    const int64_t most = value->max_shape[d];
    if (most < 0 || (most && bytes > MAX_TENSOR_BYTES / most)) return -1;
    if (most) bytes *= most;
    if (value->shape[d] != most && (value->shape[d] != -1 || !is_output)) return -1;
  }
  return 0;
}

static temper_tensor_info* ReadValues(const temper_value_info* values, int count, int is_output) {
  temper_tensor_info* out = calloc(count ? (size_t)count : 1, sizeof *out);
  for (int i = 0; out && i < count; ++i) {
    if (ReadValue(&values[i], is_output, &out[i])) {
      free(out);
      return NULL;
    }
  }
  return out;
}

static int HasOpenShape(const temper_module_info* info) {
  for (int i = 0; i < info->output_count; ++i) {
    for (int d = 0; d < info->outputs[i].rank; ++d) {
      if (info->outputs[i].shape[d] < 0) return 1;
    }
  }
  return 0;
}

/* Whether the counts and pointers of the metadata make sense together. */
static int IsConsistent(const temper_module_info* info) {
  return info->abi_version >= 1 && info->input_count >= 0 && info->input_count <= MAX_VALUES &&
         info->output_count >= 0 && info->output_count <= MAX_VALUES && info->step_count >= 0 &&
         (info->inputs || !info->input_count) && (info->outputs || !info->output_count) &&
         (info->steps || !info->step_count) && info->arena_bytes >= 0 &&
         info->arena_bytes <= MAX_TENSOR_BYTES && info->weight_bytes >= 0 && info->target &&
         info->producer && info->run && info->run_step;
}

static int CheckCpu(const temper_module_info* info, const char* path) {
  const uint64_t lacking = info->required_features & ~temper_cpu_features();
  if (lacking) {
    char names[512];
    return temper_set_error(
        "%s was compiled for %s and needs instructions that this CPU lacks: %s. Compile it with "
        "`temper compile --target` for this CPU.",
        path, info->target, temper_cpu_feature_names(lacking, names, sizeof names));
  }
  if (temper_cpu_enable(info->required_features)) {
    return temper_set_error("%s needs matrix instructions (AMX) that the system refuses: %s.", path,
                            strerror(errno));
  }
  return 0;
}

/* Names descriptor fd by a path that this process has not used before. The loader keeps every
 * name by which a library was opened for as long as it is loaded and takes a known name for that
 * library, so a path of a descriptor's number alone would, once the number is used again, stand
 * for another file. Each open has a number of its own, written into the path as detours that lead
 * nowhere else: "./" for a zero, "../fd/" for a one. */
static void UniqueName(int fd, char* name, size_t size) {
  static atomic_uint opens;
  unsigned number = atomic_fetch_add_explicit(&opens, 1, memory_order_relaxed);
  int length = snprintf(name, size, "/proc/self/fd/");
  for (; number != 0; number >>= 1) {
    length += snprintf(name + length, size - (size_t)length, number & 1 ? "../fd/" : "./");
  }
  snprintf(name + length, size - (size_t)length, "%d", fd);
}

/* Loads by descriptor, not by name: the loader takes a known name for the file it has already
 * loaded, so a model compiled again to the same path would run the old code. */
static void* OpenLibrary(int fd, const char* path) {
  char name[256];
  UniqueName(fd, name, sizeof name);
  if (!access(name, R_OK)) return dlopen(name, RTLD_NOW | RTLD_LOCAL);
  /* Without /proc, by path; one without a slash would be looked for in the library folders. */
  char* local = malloc(strlen(path) + 3);
  if (!local) return NULL;
  sprintf(local, "%s%s", strchr(path, '/') ? "" : "./", path);
  void* library = dlopen(local, RTLD_NOW | RTLD_LOCAL);
  free(local);
  return library;
}

static int Damaged(const char* path) {
  return temper_set_error("%s has damaged metadata. Compile the model again.", path);
}

/* One specialization's metadata, itself and with that of the first. */
static int CheckInfo(const temper_module_info* info, const temper_module_info* first,
                     const char* path) {
  if (!info || !IsConsistent(info) || info->abi_version != first->abi_version ||
      (HasOpenShape(info) && !info->output_shape)) {
    return Damaged(path);
  }
  if (info->abi_version >= 2 && info->op_limit > temper_op_count) {
    return temper_set_error("%s calls operators that this runtime, %s, lacks. Update the runtime.",
                            path, TEMPER_VERSION);
  }
  if (info->abi_version >= 4) {
    if (info->failure_count < 0 || (info->failure_count && !info->failures)) return Damaged(path);
    for (int i = 0; i < info->failure_count; ++i) {
      const temper_failure_info* f = &info->failures[i];
      if (!f->before ||
          (f->number_at >= 0 && (!f->after || f->number_at > info->arena_bytes - 8))) {
        return Damaged(path);
      }
    }
  }
  if (info->abi_version < 3) return 0;
  if (info->optional_count < 0 || info->optional_count > info->input_count ||
      (info->optional_count && !info->fixed_defaults && !info->defaults) ||
      info->input_count != first->input_count || info->output_count != first->output_count ||
      info->optional_count != first->optional_count) {
    return Damaged(path);
  }
  for (int i = 0; !info->fixed_defaults && i < info->optional_count; ++i) {
    if (!info->defaults[i]) return Damaged(path);
  }
  return 0;
}

static int FindInfos(temper_module_handle* module, const char* path) {
  const temper_module_info* info = dlsym(module->library, TEMPER_MODULE_SYMBOL);
  if (!info) {
    if (dlsym(module->library, TEMPER_CANDIDATE_SYMBOL)) {
      return temper_set_error("%s is a single kernel made for measuring, not a compiled model.",
                              path);
    }
    return temper_set_error(
        "%s is a shared object but not a compiled model. Make one with `temper compile`.", path);
  }
  if (info->abi_version > TEMPER_ABI_VERSION) {
    return temper_set_error(
        "%s was made by a newer compiler (model format %d; this runtime, %s, reads up to %d). "
        "Update the runtime or compile the model again.",
        path, (int)info->abi_version, TEMPER_VERSION, TEMPER_ABI_VERSION);
  }
  if (CheckInfo(info, info, path)) return -1;
  const int more = info->abi_version >= 3 ? info->more_count : 0;
  if (more < 0 || more >= MAX_SPECIALIZATIONS || (more && !info->more)) return Damaged(path);
  module->infos = calloc((size_t)more + 1, sizeof *module->infos);
  module->described = calloc((size_t)more + 1, sizeof *module->described);
  if (!module->infos || !module->described) {
    return temper_set_error("out of memory while opening %s.", path);
  }
  for (int k = 0; k <= more; ++k) {
    module->infos[k] = k ? info->more[k - 1] : info;
    if (CheckInfo(module->infos[k], info, path)) return -1;
  }
  module->count = more + 1;
  const temper_workload_table* workloads = dlsym(module->library, TEMPER_WORKLOADS_SYMBOL);
  if (workloads && workloads->count >= 0 && (workloads->workloads || !workloads->count)) {
    module->workloads = workloads;
  }
  return 0;
}

static int SameValues(const temper_tensor_info* a, const temper_tensor_info* b, int count) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(a[i].name, b[i].name) || a[i].ndim != b[i].ndim ||
        memcmp(&a[i].dtype, &b[i].dtype, sizeof a[i].dtype)) {
      return 0;
    }
  }
  return 1;
}

/* What all specializations have in common of value i, in `shapes`: -1 where they differ, then the
 * largest. */
static int JoinValue(const temper_module_handle* module, int i, int is_output,
                     temper_tensor_info* out, int64_t* shapes) {
  int64_t* shape = shapes;
  int64_t* most = shapes + TEMPER_MAX_DIMS;
  for (int k = 0; k < module->count; ++k) {
    const temper_specialization_info* s = &module->described[k];
    const temper_tensor_info* value = is_output ? &s->outputs[i] : &s->inputs[i];
    for (int d = 0; d < value->ndim; ++d) {
      if (!k || value->max_shape[d] > most[d]) most[d] = value->max_shape[d];
      if (!k) shape[d] = value->shape[d];
      if (value->shape[d] != shape[d]) shape[d] = -1;
    }
    *out = *value;
  }
  out->shape = shape;
  out->max_shape = most;
  int64_t bytes = out->dtype.bits / 8;
  for (int d = 0; d < out->ndim; ++d) {
    if (most[d] && bytes > MAX_TENSOR_BYTES / most[d]) return -1;
    if (most[d]) bytes *= most[d];
  }
  return 0;
}

/* Describes each specialization and all together. */
static int Describe(temper_module_handle* module, const char* path) {
  const temper_module_info* first = module->infos[0];
  const int inputs = first->input_count, outputs = first->output_count;
  const int optional = first->abi_version >= 3 ? first->optional_count : 0;
  for (int k = 0; k < module->count; ++k) {
    const temper_module_info* info = module->infos[k];
    temper_specialization_info* s = &module->described[k];
    s->inputs = ReadValues(info->inputs, inputs, 0);
    s->outputs = ReadValues(info->outputs, outputs, 1);
    if (!s->inputs || !s->outputs || !SameValues(s->inputs, module->described[0].inputs, inputs) ||
        !SameValues(s->outputs, module->described[0].outputs, outputs)) {
      return Damaged(path);
    }
    s->optional = s->inputs + (inputs - optional);
    s->fixed_defaults = info->abi_version >= 3 && optional && info->fixed_defaults;
    s->steps = info->steps;
    s->step_count = info->step_count;
    s->arena_bytes = info->arena_bytes;
  }
  temper_signature* all = &module->all;
  all->input_count = inputs - optional;
  all->optional_count = optional;
  all->output_count = outputs;
  all->inputs = calloc((size_t)inputs + 1, sizeof *all->inputs);
  all->outputs = calloc((size_t)outputs + 1, sizeof *all->outputs);
  const size_t count = (size_t)inputs + (size_t)outputs;
  module->shapes = calloc(count + 1, 2 * TEMPER_MAX_DIMS * sizeof *module->shapes);
  if (!all->inputs || !all->outputs || !module->shapes) {
    return temper_set_error("out of memory while opening %s.", path);
  }
  for (size_t i = 0; i < count; ++i) {
    const int is_output = i >= (size_t)inputs;
    const int at = (int)i - (is_output ? inputs : 0);
    if (JoinValue(module, at, is_output, is_output ? &all->outputs[at] : &all->inputs[at],
                  module->shapes + i * 2 * TEMPER_MAX_DIMS)) {
      return Damaged(path);
    }
  }
  return 0;
}

static int Load(temper_module_handle* module, const char* path) {
  module->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (module->fd < 0) return temper_set_error("cannot open %s: %s.", path, strerror(errno));
  if (temper_seal_check(module->fd, path) || temper_elf_check(module->fd, path)) return -1;
  module->library = OpenLibrary(module->fd, path);
  if (!module->library) {
    const char* reason = dlerror();
    if (!reason) return temper_set_error("cannot load %s: out of memory.", path);
    if (!strncmp(reason, "/proc/self/fd/", 14) && strstr(reason, ": ")) {
      reason = strstr(reason, ": ") + 2; /* the user's name for the file is the better one */
    }
    return temper_set_error("cannot load %s: %s.", path, reason);
  }
  if (FindInfos(module, path) || CheckCpu(module->infos[0], path)) return -1;
  return Describe(module, path);
}

temper_module_handle* temper_module_load(const char* path) {
  temper_module_handle* module = calloc(1, sizeof *module);
  if (!module) {
    temper_set_error("out of memory while opening %s.", path);
    return NULL;
  }
  module->fd = -1;
  atomic_init(&module->references, 1);
  if (Load(module, path)) {
    temper_module_release(module);
    return NULL;
  }
  return module;
}

void temper_module_retain(temper_module_handle* module) {
  atomic_fetch_add_explicit(&module->references, 1, memory_order_relaxed);
}

void temper_module_release(temper_module_handle* module) {
  if (atomic_fetch_sub_explicit(&module->references, 1, memory_order_acq_rel) != 1) return;
  if (module->library) dlclose(module->library);
  if (module->fd >= 0) close(module->fd);
  for (int k = 0; k < module->count; ++k) {
    free((void*)module->described[k].inputs);
    free((void*)module->described[k].outputs);
  }
  free(module->infos);
  free(module->described);
  free(module->all.inputs);
  free(module->all.outputs);
  free(module->shapes);
  free(module);
}

int temper_module_count(const temper_module_handle* module) { return module->count; }

const temper_module_info* temper_module_get(const temper_module_handle* module, int k) {
  return module->infos[k];
}

const temper_specialization_info* temper_module_describe(const temper_module_handle* module,
                                                         int k) {
  return &module->described[k];
}

const temper_signature* temper_module_signature(const temper_module_handle* module) {
  return &module->all;
}

const temper_workload_table* temper_module_workloads(const temper_module_handle* module) {
  return module->workloads;
}
