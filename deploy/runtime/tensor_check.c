#include "deploy/runtime/tensor_check.h"

#include <stdio.h>

#include "deploy/runtime/abi.h"
#include "deploy/runtime/error.h"

#define TEXT 256

static const char* TypeName(DLDataType type, char text[TEXT]) {
  const char* kind = "type code ";
  switch (type.code) {
    case kDLInt:
      kind = "int";
      break;
    case kDLUInt:
      kind = "uint";
      break;
    case kDLFloat:
      kind = "float";
      break;
    case kDLBfloat:
      kind = "bfloat";
      break;
    case kDLBool:
      if (type.bits == 8 && type.lanes == 1) return "bool";
      kind = "bool";
      break;
    case kDLFloat8_e4m3fn:
      return "float8_e4m3fn";
    case kDLFloat8_e4m3fnuz:
      return "float8_e4m3fnuz";
    case kDLFloat8_e5m2:
      return "float8_e5m2";
    case kDLFloat8_e5m2fnuz:
      return "float8_e5m2fnuz";
    default:
      snprintf(text, TEXT, "type %d of %d bits", type.code, type.bits);
      return text;
  }
  if (type.lanes == 1) {
    snprintf(text, TEXT, "%s%d", kind, type.bits);
  } else {
    snprintf(text, TEXT, "%s%dx%d", kind, type.bits, type.lanes);
  }
  return text;
}

static const char* ShapeText(int ndim, const int64_t* shape, char text[TEXT]) {
  int used = snprintf(text, TEXT, "(");
  for (int d = 0; d < ndim && d <= TEMPER_MAX_DIMS && used < TEXT; ++d) {
    used +=
        snprintf(text + used, TEXT - (size_t)used, "%s%lld", d ? ", " : "", (long long)shape[d]);
  }
  if (used < TEXT)
    snprintf(text + used, TEXT - (size_t)used, ndim > TEMPER_MAX_DIMS ? ", ...)" : ")");
  return text;
}

int temper_tensor_has_shape(const DLTensor* tensor, int ndim, const int64_t* shape) {
  if (!tensor || tensor->ndim != ndim || (ndim && !tensor->shape)) return 0;
  for (int d = 0; d < ndim; ++d) {
    if (tensor->shape[d] != shape[d]) return 0;
  }
  return 1;
}

static int IsDense(const DLTensor* tensor) {
  if (!tensor->strides) return 1;
  int64_t dense = 1;
  for (int d = tensor->ndim - 1; d >= 0; --d) {
    if (tensor->shape[d] != 1 && tensor->strides[d] != dense) {
      return 0;
    }
    dense *= tensor->shape[d];
  }
  return 1;
}

static int HasElements(const DLTensor* tensor) {
  for (int d = 0; d < tensor->ndim; ++d) {
    if (!tensor->shape[d]) return 0;
  }
  return 1;
}

int temper_tensor_check(const char* kind, const temper_tensor_info* want, const DLTensor* tensor) {
  char wanted[TEXT], given[TEXT];
  if (!tensor) return temper_set_error("%s %s: the tensor is NULL.", kind, want->name);
  if (tensor->device.device_type != kDLCPU) {
    return temper_set_error("%s %s is on device type %d; this model takes tensors in CPU memory.",
                            kind, want->name, (int)tensor->device.device_type);
  }
  if (tensor->dtype.code != want->dtype.code || tensor->dtype.bits != want->dtype.bits ||
      tensor->dtype.lanes != want->dtype.lanes) {
    return temper_set_error("%s %s has elements of %s; the model has %s.", kind, want->name,
                            TypeName(tensor->dtype, given), TypeName(want->dtype, wanted));
  }
  if (!temper_tensor_has_shape(tensor, want->ndim, want->max_shape)) {
    const int known = tensor->ndim >= 0 && (tensor->shape || !tensor->ndim);
    return temper_set_error("%s %s has shape %s; the model has %s.", kind, want->name,
                            known ? ShapeText(tensor->ndim, tensor->shape, given) : "NULL",
                            ShapeText(want->ndim, want->max_shape, wanted));
  }
  if (!HasElements(tensor)) return 0;
  if (!IsDense(tensor)) {
    return temper_set_error(
        "%s %s is not dense: its strides must be NULL or those of a row-major tensor. Copy it "
        "first.",
        kind, want->name);
  }
  if (!tensor->data) return temper_set_error("%s %s has no data.", kind, want->name);
  return 0;
}

int64_t temper_tensor_max_bytes(const temper_tensor_info* info) {
  int64_t bytes = info->dtype.bits / 8;
  for (int d = 0; d < info->ndim; ++d) bytes *= info->max_shape[d];
  return bytes;
}
