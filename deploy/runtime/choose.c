#include "deploy/runtime/choose.h"

#include <stdarg.h>
#include <stdio.h>

#include "deploy/runtime/error.h"
#include "deploy/runtime/tensor_check.h"

#define TEXT 400

static int Fits(const temper_module_handle* module, int k, const DLTensor* const* inputs,
                const DLTensor* const* optional) {
  const temper_signature* all = temper_module_signature(module);
  const temper_specialization_info* s = temper_module_describe(module, k);
  for (int i = 0; i < all->input_count; ++i) {
    if (!temper_tensor_has_shape(inputs[i], s->inputs[i].ndim, s->inputs[i].max_shape)) return 0;
  }
  for (int i = 0; optional && i < all->optional_count; ++i) {
    if (!optional[i]) continue;
    if (s->fixed_defaults ||
        !temper_tensor_has_shape(optional[i], s->optional[i].ndim, s->optional[i].max_shape)) {
      return 0;
    }
  }
  return 1;
}

/* A text that ends in "..." where it is too long. */
typedef struct {
  char text[TEXT];
  size_t used;
} list;

static void Append(list* l, const char* format, ...) {
  if (l->used >= TEXT - 4) return;
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(l->text + l->used, TEXT - 3 - l->used, format, arguments);
  va_end(arguments);
  if (n < 0) return;
  l->used += (size_t)n;
  if (l->used < TEXT - 4) return;
  snprintf(l->text + TEXT - 4, 4, "...");
  l->used = TEXT;
}

static void AppendShape(list* l, const char* name, int ndim, const int64_t* shape) {
  Append(l, "%s (", name);
  for (int d = 0; d < ndim && d <= TEMPER_MAX_DIMS; ++d) {
    Append(l, "%s%lld", d ? ", " : "", (long long)shape[d]);
  }
  Append(l, ")");
}

/* Whether the specializations differ in it. */
static int Varies(const temper_tensor_info* info) {
  for (int d = 0; d < info->ndim; ++d) {
    if (info->shape[d] < 0) return 1;
  }
  return 0;
}

/* Of all inputs. */
static int SameShapes(const temper_module_handle* module, int a, int b) {
  const temper_signature* all = temper_module_signature(module);
  const temper_tensor_info* x = temper_module_describe(module, a)->inputs;
  const temper_tensor_info* y = temper_module_describe(module, b)->inputs;
  for (int i = 0; i < all->input_count + all->optional_count; ++i) {
    for (int d = 0; d < x[i].ndim; ++d) {
      if (x[i].shape[d] != y[i].shape[d]) return 0;
    }
  }
  return 1;
}

static int IsRepeated(const temper_module_handle* module, int k) {
  for (int i = 0; i < k; ++i) {
    if (SameShapes(module, i, k)) return 1;
  }
  return 0;
}

static int NoneFits(const temper_module_handle* module, const DLTensor* const* inputs,
                    const DLTensor* const* optional) {
  const temper_signature* all = temper_module_signature(module);
  /* An input that is wrong whatever the specialization has an error of its own. */
  for (int i = 0; i < all->input_count + all->optional_count; ++i) {
    const int given = i < all->input_count;
    const DLTensor* tensor = given ? inputs[i] : optional ? optional[i - all->input_count] : NULL;
    if (!given && !tensor) continue;
    if (Varies(&all->inputs[i]) && tensor && (tensor->shape || !tensor->ndim)) continue;
    if (temper_tensor_check("input", &all->inputs[i], tensor)) return -1;
  }
  list have = {"", 0}, known = {"", 0};
  for (int i = 0; i < all->input_count; ++i) {
    if (!Varies(&all->inputs[i])) continue;
    Append(&have, have.used ? ", " : "");
    AppendShape(&have, all->inputs[i].name, inputs[i]->ndim, inputs[i]->shape);
  }
  for (int k = 0; k < temper_module_count(module); ++k) {
    if (IsRepeated(module, k)) continue;
    if (known.used) Append(&known, "; ");
    const temper_specialization_info* s = temper_module_describe(module, k);
    int first = 1;
    for (int i = 0; i < all->input_count; ++i) {
      if (!Varies(&all->inputs[i])) continue;
      if (!first) Append(&known, ", ");
      first = 0;
      AppendShape(&known, s->inputs[i].name, s->inputs[i].ndim, s->inputs[i].max_shape);
    }
  }
  return temper_set_error(
      "the inputs %s fit none of the shapes that the model was compiled for: %s. Give it one of "
      "them, or compile it with a further --shape.",
      have.text, known.text);
}

int temper_module_choose(const temper_module_handle* module, const DLTensor* const* inputs,
                         const DLTensor* const* optional) {
  const int count = temper_module_count(module);
  if (count == 1) return 0;
  for (int k = 0; k < count; ++k) {
    if (Fits(module, k, inputs, optional)) return k;
  }
  return NoneFits(module, inputs, optional);
}
