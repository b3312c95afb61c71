/* The calling thread's last error message. */
#ifndef TEMPER_DEPLOY_RUNTIME_ERROR_H_
#define TEMPER_DEPLOY_RUNTIME_ERROR_H_

/* Formats the message that temper_error returns, cut to 1023 bytes; arguments may be parts of the
 * last one. Returns -1, for use in `return temper_set_error(...)`. */
__attribute__((format(printf, 1, 2))) int temper_set_error(const char* format, ...);

#endif /* TEMPER_DEPLOY_RUNTIME_ERROR_H_ */
