/* write_log: what a program writes to its TCP sockets, without slowing it down as strace does.
 *
 *   LD_PRELOAD=write_log.so WRITE_LOG=FILE [REFUSE_NODELAY=1] PROGRAM...
 *
 * FILE gets lines of LINE bytes, after one that holds how far the log has come:
 *     BEFORE_NS AFTER_NS LOCAL_PORT REMOTE_PORT LENGTH NODELAY CORK NOTSENT OUTQ UNACKED CWND WINDOW MSS
 * Both times are CLOCK_REALTIME, before and after the call; the rest is read right after it:
 * NOTSENT is SIOCOUTQNSD and OUTQ is SIOCOUTQ in bytes, UNACKED and CWND are segments (TCP_INFO),
 * WINDOW is the peer's. LENGTH is 0 when the program set TCP_NODELAY or TCP_CORK.
 * With REFUSE_NODELAY, setting TCP_NODELAY succeeds and does nothing.
 * The file is mapped, so that the processes a program starts share it and no exit is needed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 160, LOG_SIZE = 1 << 25 };

static char *log_start;
static int refusing;

__attribute__((constructor)) static void open_log(void)
{
    const char *path = getenv("WRITE_LOG");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    refusing = getenv("REFUSE_NODELAY") != NULL;
    if (fd < 0 || ftruncate(fd, LOG_SIZE) < 0) return;
    char *at = mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at != MAP_FAILED) log_start = at;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int port(int (*name)(int, struct sockaddr *, socklen_t *), int fd)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof a;
    if (name(fd, (struct sockaddr *)&a, &size) < 0) return -1;
    if (a.ss_family != AF_INET && a.ss_family != AF_INET6) return -1;
    return ntohs(((struct sockaddr_in *)&a)->sin_port);       /* same place in IPv6 */
}

static int option(int fd, int name)
{
    int value = 0;
    socklen_t size = sizeof value;
    getsockopt(fd, IPPROTO_TCP, name, &value, &size);
    return value != 0;
}

static void log_line(int fd, int remote, int64_t before, long length)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    int not_sent = 0, queued = 0;
    char text[LINE + 1];
    int64_t after = now_ns();
    ioctl(fd, SIOCOUTQNSD, &not_sent);
    ioctl(fd, SIOCOUTQ, &queued);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return;   /* UDP */
    uint64_t line = 1 + atomic_fetch_add((_Atomic uint64_t *)log_start, 1);
    snprintf(text, sizeof text, "%ld %ld %d %d %ld %d %d %d %d %u %u %u %u", (long)before, (long)after,
             port(getsockname, fd), remote, length, option(fd, TCP_NODELAY), option(fd, TCP_CORK), not_sent,
             queued, info.tcpi_unacked, info.tcpi_snd_cwnd, info.tcpi_snd_wnd, info.tcpi_snd_mss);
    if ((line + 1) * LINE <= LOG_SIZE) memcpy(log_start + line * LINE, text, strlen(text));
}

static ssize_t note(int fd, int64_t before, ssize_t result)
{
    int saved = errno, remote;
    if (result > 0 && log_start && (remote = port(getpeername, fd)) > 0) log_line(fd, remote, before, result);
    errno = saved;
    return result;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    static int (*real)(int, int, int, const void *, socklen_t);
    if (!real) real = (int (*)(int, int, int, const void *, socklen_t))dlsym(RTLD_NEXT, "setsockopt");
    if (level != IPPROTO_TCP || (name != TCP_NODELAY && name != TCP_CORK))
        return real(fd, level, name, value, size);
    int64_t before = now_ns();
    int result = refusing && name == TCP_NODELAY ? 0 : real(fd, level, name, value, size);
    int saved = errno, remote;
    if (log_start && (remote = port(getpeername, fd)) > 0) log_line(fd, remote, before, 0);
    errno = saved;
    return result;
}

#define WRAP(name, parameters, arguments, fd)                                     \
    ssize_t name parameters                                                       \
    {                                                                             \
        static ssize_t (*real) parameters;                                        \
        if (!real) real = (ssize_t(*) parameters)dlsym(RTLD_NEXT, #name);         \
        int64_t before = now_ns();                                                \
        return note(fd, before, real arguments);                                  \
    }

WRAP(write, (int fd, const void *data, size_t n), (fd, data, n), fd)
WRAP(writev, (int fd, const struct iovec *data, int n), (fd, data, n), fd)
WRAP(send, (int fd, const void *data, size_t n, int flags), (fd, data, n, flags), fd)
WRAP(sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), fd)
WRAP(sendfile, (int fd, int from, off_t *at_byte, size_t n), (fd, from, at_byte, n), fd)
WRAP(sendfile64, (int fd, int from, off64_t *at_byte, size_t n), (fd, from, at_byte, n), fd)
WRAP(sendto, (int fd, const void *data, size_t n, int flags, const struct sockaddr *to, socklen_t size),
     (fd, data, n, flags, to, size), fd)
WRAP(splice, (int from, off64_t *a, int fd, off64_t *b, size_t n, unsigned flags), (from, a, fd, b, n, flags), fd)
