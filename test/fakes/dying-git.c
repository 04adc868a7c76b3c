/*
 * Loaded before the C library into git (LD_PRELOAD), it notes in a file (DYING_LOG) each moment at which git begins, is about
 * to change something on the disk, or has done all and is about to exit: a line of fixed length each, so that a line's place is
 * its number. At the moment with the number DYING_AT, git is killed with all that it has started.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH = 100 };

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

static const char *command = "";

static void at(const char *what, const char *path)
{
	const char *log = getenv("DYING_LOG"), *when = getenv("DYING_AT"), *group = getenv("DYING_GROUP");
	char line[LENGTH + 1];
	int fd, length = path && strlen(path) > 40 ? (int)strlen(path) - 40 : 0;
	long number;
	if (!log || (fd = REAL(open)(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) < 0)
		return;
	memset(line, ' ', LENGTH);
	length = snprintf(line, LENGTH, "%.20s: %.20s %.50s", command, what, path ? path + length : "");
	line[length < LENGTH ? length : LENGTH - 1] = ' ';
	line[LENGTH - 1] = '\n';
	if (REAL(write)(fd, line, LENGTH) != LENGTH)
		abort();
	/* Where it has been appended to, whoever else writes there. */
	number = lseek(fd, 0, SEEK_CUR) / LENGTH;
	REAL(close)(fd);
	if (!when || number != atol(when))
		return;
	/* The group is git's own where git leads it: a test that runs git itself is not killed. */
	kill(group && atoi(group) == getpgrp() ? 0 : getpid(), SIGKILL);
}

__attribute__((constructor)) static void begin(int argc, char **argv)
{
	char group[16];
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-c"))
			i++;
		else if (argv[i][0] != '-') {
			command = argv[i];
			break;
		}
	}
	if (getpgrp() == getpid()) {
		snprintf(group, sizeof group, "%d", getpid());
		setenv("DYING_GROUP", group, 1);
	}
	at("begins", 0);
}

__attribute__((destructor)) static void end(void) { at("has done all", 0); }

static int isFile(int fd)
{
	struct stat facts;
	return fd > 2 && !fstat(fd, &facts) && S_ISREG(facts.st_mode);
}

#define OPEN(name) \
	int name(const char *path, int flags, ...) \
	{ \
		va_list more; \
		va_start(more, flags); \
		int mode = va_arg(more, int); \
		va_end(more); \
		if (flags & (O_CREAT | O_TRUNC)) \
			at("creates", path); \
		return REAL(name)(path, flags, mode); \
	}
OPEN(open)
OPEN(open64)

#define FOPEN(name) \
	FILE *name(const char *path, const char *how) \
	{ \
		if (strchr(how, 'w')) \
			at("creates", path); \
		return REAL(name)(path, how); \
	}
FOPEN(fopen)
FOPEN(fopen64)

ssize_t write(int fd, const void *bytes, size_t count)
{
	if (isFile(fd))
		at("writes", 0);
	return REAL(write)(fd, bytes, count);
}
int rename(const char *from, const char *to) { at("renames to", to); return REAL(rename)(from, to); }
int link(const char *from, const char *to) { at("links", to); return REAL(link)(from, to); }
int symlink(const char *from, const char *to) { at("symlinks", to); return REAL(symlink)(from, to); }
int unlink(const char *path) { at("unlinks", path); return REAL(unlink)(path); }
int rmdir(const char *path) { at("removes", path); return REAL(rmdir)(path); }
int mkdir(const char *path, mode_t mode) { at("makes", path); return REAL(mkdir)(path, mode); }
