/* Whether a file is a whole shared object for this machine: the dynamic loader trusts a file's
 * tables, and one cut short (a copy that did not finish) would end in SIGBUS. */
#ifndef TEMPER_DEPLOY_RUNTIME_ELF_CHECK_H_
#define TEMPER_DEPLOY_RUNTIME_ELF_CHECK_H_

/* 0, or -1 with the error set, naming `path`. fd: the file, open for reading; its offset is not
 * moved. */
int temper_elf_check(int fd, const char* path);

#endif /* TEMPER_DEPLOY_RUNTIME_ELF_CHECK_H_ */
