/* A checksum at the end of a compiled model, so that a damaged file is refused before any of it is
 * used. The last 32 bytes of the file, behind all that an ELF loader looks at:
 *   16 bytes  "temper-seal 1" and zeros
 *   uint64    bytes of the file before the seal
 *   uint64    their checksum
 * Little-endian. It guards against accidents, not against someone who means harm: every change of
 * up to eight neighbouring, aligned bytes is found for certain, any other with high probability. */
#ifndef TEMPER_DEPLOY_RUNTIME_SEAL_H_
#define TEMPER_DEPLOY_RUNTIME_SEAL_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Appends the seal to a file that has none, open for reading and writing. 0, or -1 with errno set.
 */
int temper_seal_append(int fd);

/* 0 where the file has no seal (models of older compilers, and stripped ones) or an intact one. -1,
 * with the error set, where it has been changed since, or cannot be read. Reads all of the file. */
int temper_seal_check(int fd, const char* path);

#ifdef __cplusplus
}
#endif

#endif /* TEMPER_DEPLOY_RUNTIME_SEAL_H_ */
