/*
 * Loaded before the C library (LD_PRELOAD), it makes a file system that lacks something of the one that has the task database,
 * for the files of that alone. What it lacks is named by LACKS: "memory" that processes share, as 9p and WSL 1; "locks", as some
 * network folders; "writing", as a disk that the kernel has made read-only because of errors; "room", as a full one. With
 * LACKS_WHILE, it lacks that for as long as there is a file at that path.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

static int isNow(void)
{
	const char *while_ = getenv("LACKS_WHILE");
	return !while_ || access(while_, F_OK) == 0;
}

static int lacks(const char *what)
{
	const char *lacked = getenv("LACKS");
	return lacked && strstr(lacked, what) && isNow();
}

static int isOurs(const char *path) { return path && strstr(path, "tasks.db") != NULL; }

static int isOursAt(int fd)
{
	char link[64], path[4096];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, sizeof path - 1);
	if (length < 0)
		return 0;
	path[length] = 0;
	return isOurs(path);
}

/* What writing fails with; 0 where it does not. */
static int refusal(void) { return lacks("writing") ? EROFS : lacks("room") ? ENOSPC : 0; }

#define REFUSE(isOfOurs) \
	int why = refusal(); \
	if (why && (isOfOurs)) { \
		errno = why; \
		return -1; \
	}

void *mmap(void *at, size_t length, int access, int flags, int fd, off_t offset)
{
	if (fd >= 0 && (flags & MAP_SHARED) && lacks("memory") && isOursAt(fd)) {
		errno = ENODEV;
		return MAP_FAILED;
	}
	return REAL(mmap)(at, length, access, flags, fd, offset);
}
void *mmap64(void *at, size_t length, int access, int flags, int fd, off_t offset)
{
	return mmap(at, length, access, flags, fd, offset);
}

#define FCNTL(name) \
	int name(int fd, int command, ...) \
	{ \
		va_list more; \
		va_start(more, command); \
		void *given = va_arg(more, void *); \
		va_end(more); \
		if ((command == F_SETLK || command == F_SETLKW) && lacks("locks") && isOursAt(fd)) { \
			errno = ENOLCK; \
			return -1; \
		} \
		return REAL(name)(fd, command, given); \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

#define OPEN(name) \
	int name(const char *path, int flags, ...) \
	{ \
		va_list more; \
		va_start(more, flags); \
		int mode = va_arg(more, int); \
		va_end(more); \
		if (isOurs(path) && (flags & O_ACCMODE) != O_RDONLY && lacks("writing")) { \
			errno = EROFS; \
			return -1; \
		} \
		if (isOurs(path) && (flags & O_CREAT) && access(path, F_OK) != 0 && lacks("room")) { \
			errno = ENOSPC; \
			return -1; \
		} \
		return REAL(name)(path, flags, mode); \
	}
OPEN(open)
OPEN(open64)

ssize_t write(int fd, const void *bytes, size_t count) { REFUSE(isOursAt(fd)) return REAL(write)(fd, bytes, count); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at)
{
	REFUSE(isOursAt(fd))
	return REAL(pwrite)(fd, bytes, count, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t at)
{
	REFUSE(isOursAt(fd))
	return REAL(pwrite64)(fd, bytes, count, at);
}
int ftruncate(int fd, off_t length) { REFUSE(lacks("writing") && isOursAt(fd)) return REAL(ftruncate)(fd, length); }
int ftruncate64(int fd, off_t length) { REFUSE(lacks("writing") && isOursAt(fd)) return REAL(ftruncate64)(fd, length); }
int unlink(const char *path) { REFUSE(lacks("writing") && isOurs(path)) return REAL(unlink)(path); }
int rename(const char *from, const char *to) { REFUSE(lacks("writing") && isOurs(to)) return REAL(rename)(from, to); }
int mkdir(const char *path, mode_t mode) { REFUSE(isOurs(path)) return REAL(mkdir)(path, mode); }
