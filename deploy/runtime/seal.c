#define _GNU_SOURCE
#include "deploy/runtime/seal.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/runtime/error.h"

#define MAGIC_BYTES 16
#define SEAL_BYTES (MAGIC_BYTES + 16)
#define LANES 4
#define BLOCK (8 * LANES)
#define CHUNK (256 << 10) /* a multiple of BLOCK that a core's cache holds */

static const char kMagic[MAGIC_BYTES] = "temper-seal 1";

/* Undone by no other word: multiplying by an odd number and the shift are reversible. */
static uint64_t Mix(uint64_t state, uint64_t word) {
  state = (state ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return state ^ state >> 32;
}

static uint64_t Little(uint64_t v) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return __builtin_bswap64(v);
#else
  return v;
#endif
}

/* Several lanes, since a multiplication has to wait for the one before it. */
static void MixBlocks(uint64_t lanes[LANES], const char* data, size_t size) {
  for (size_t at = 0; at < size; at += BLOCK) {
    for (int i = 0; i < LANES; ++i) {
      uint64_t word;
      memcpy(&word, data + at + 8 * i, 8);
      lanes[i] = Mix(lanes[i], Little(word));
    }
  }
}

/* Reads size bytes or says why not: -1 with errno set. */
static int ReadAt(int fd, char* to, size_t size, off_t at) {
  while (size) {
    const ssize_t got = pread(fd, to, size, at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (!got) errno = EIO;
      return -1;
    }
    to += got;
    size -= (size_t)got;
    at += got;
  }
  return 0;
}

/* Of the first `length` bytes. -1 with errno set. */
static int Checksum(int fd, uint64_t length, uint64_t* sum) {
  char* chunk = malloc(CHUNK);
  if (!chunk) return -1;
  uint64_t lanes[LANES] = {1, 2, 3, 4};
  for (uint64_t at = 0; at < length; at += CHUNK) {
    const size_t size = length - at < CHUNK ? (size_t)(length - at) : CHUNK;
    const size_t blocks = (size + BLOCK - 1) / BLOCK * BLOCK;
    memset(chunk + size, 0, blocks - size);
    if (ReadAt(fd, chunk, size, (off_t)at)) {
      free(chunk);
      return -1;
    }
    MixBlocks(lanes, chunk, blocks);
  }
  free(chunk);
  *sum = length;
  for (int i = 0; i < LANES; ++i) *sum = Mix(*sum, lanes[i]);
  return 0;
}

int temper_seal_append(int fd) {
  struct stat info;
  if (fstat(fd, &info)) return -1;
  uint64_t words[2] = {(uint64_t)info.st_size, 0};
  if (Checksum(fd, words[0], &words[1])) return -1;
  char seal[SEAL_BYTES];
  memcpy(seal, kMagic, MAGIC_BYTES);
  for (int i = 0; i < 2; ++i) words[i] = Little(words[i]);
  memcpy(seal + MAGIC_BYTES, words, sizeof words);
  for (size_t done = 0; done < SEAL_BYTES;) {
    const ssize_t put =
        pwrite(fd, seal + done, SEAL_BYTES - done, (off_t)((uint64_t)info.st_size + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return -1;
    done += (size_t)put;
  }
  return 0;
}

int temper_seal_check(int fd, const char* path) {
  struct stat info;
  if (fstat(fd, &info)) return temper_set_error("cannot read %s: %s.", path, strerror(errno));
  if (!S_ISREG(info.st_mode) || info.st_size < SEAL_BYTES) return 0;
  const uint64_t length = (uint64_t)info.st_size - SEAL_BYTES;
  char seal[SEAL_BYTES];
  if (ReadAt(fd, seal, SEAL_BYTES, (off_t)length)) {
    return temper_set_error("cannot read %s: %s.", path, strerror(errno));
  }
  if (memcmp(seal, kMagic, MAGIC_BYTES)) return 0;
  uint64_t words[2], sum;
  memcpy(words, seal + MAGIC_BYTES, sizeof words);
  if (Checksum(fd, length, &sum)) {
    return temper_set_error("cannot read %s: %s.", path, strerror(errno));
  }
  if (Little(words[0]) == length && Little(words[1]) == sum) return 0;
  return temper_set_error(
      "%s is damaged: it is not as it was when it was compiled (its checksum is wrong). Copy or "
      "compile it again.",
      path);
}
