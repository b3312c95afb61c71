/* The structs of DLPack that the runtime reads: a tensor by reference, as other libraries also
 * describe it. Binary compatible with DLPack 0.8 and 1.x (https://dmlc.github.io/dlpack). A program
 * that also uses the official dlpack.h includes that one first. */
#ifndef TEMPER_DEPLOY_RUNTIME_DLPACK_H_
#define TEMPER_DEPLOY_RUNTIME_DLPACK_H_

#ifndef DLPACK_DLPACK_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an element's bits mean. */
typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13
} DLDataTypeCode;

typedef struct {
  uint8_t code;   /* DLDataTypeCode */
  uint8_t bits;   /* of one lane */
  uint16_t lanes; /* 1 but for vectors */
} DLDataType;

enum { kDLCPU = 1 };

typedef struct {
  int32_t device_type; /* kDLCPU is the one the runtime takes */
  int32_t device_id;
} DLDevice;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;       /* ndim extents */
  int64_t* strides;     /* ndim numbers of elements; NULL: dense, row-major */
  uint64_t byte_offset; /* the first element is at data + byte_offset */
} DLTensor;

#ifdef __cplusplus
}
#endif
#endif /* DLPACK_DLPACK_H_ */
#endif /* TEMPER_DEPLOY_RUNTIME_DLPACK_H_ */
