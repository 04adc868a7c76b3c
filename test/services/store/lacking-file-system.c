/*
 * Loaded before the C library (LD_PRELOAD), it makes a file system without shared memory (LACKS=memory) or without locks
 * (LACKS=locks) of the one that has the task database, as 9p, NFS and WSL 1 have none: for these files alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/mman.h>
static int lacks(const char *what) { const char *l = getenv("LACKS"); return l && strstr(l, what); }
static int ours(int fd) { char link[64], path[4096]; snprintf(link, sizeof link, "/proc/self/fd/%d", fd); ssize_t n = readlink(link, path, sizeof path - 1); if (n < 0) return 0; path[n] = 0; return strstr(path, "tasks.db") != NULL; }
void *mmap(void *a, size_t l, int p, int f, int fd, off_t o) { static void *(*real)(void*,size_t,int,int,int,off_t); if (!real) real = dlsym(RTLD_NEXT, "mmap"); if (fd >= 0 && (f & MAP_SHARED) && lacks("memory") && ours(fd)) { errno = ENODEV; return MAP_FAILED; } return real(a,l,p,f,fd,o); }
void *mmap64(void *a, size_t l, int p, int f, int fd, off_t o) { return mmap(a,l,p,f,fd,o); }
static int lock(const char *name, int fd, int cmd, void *arg) { int (*real)(int,int,...) = dlsym(RTLD_NEXT, name); if ((cmd == F_SETLK || cmd == F_SETLKW) && lacks("locks") && ours(fd)) { errno = ENOLCK; return -1; } return real(fd, cmd, arg); }
int fcntl(int fd, int cmd, ...) { va_list v; va_start(v, cmd); void *arg = va_arg(v, void *); va_end(v); return lock("fcntl", fd, cmd, arg); }
int fcntl64(int fd, int cmd, ...) { va_list v; va_start(v, cmd); void *arg = va_arg(v, void *); va_end(v); return lock("fcntl64", fd, cmd, arg); }
