/* What server and load generator share: frames of a 4-byte length and text, and a log of writes. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 256, MOST_WRITES = 256, STACK = 64 * 1024 };

struct connection {
    int socket, port, ready;                    /* port: the client's */
    pthread_mutex_t lock;
    pthread_cond_t poked;
    uint64_t opened, written_at[MOST_WRITES];   /* ns since the epoch */
    unsigned lengths[MOST_WRITES], writes;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void set_nodelay(int socket)
{
    int on = 1;
    if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
        fail("TCP_NODELAY");
}

/* Reads one frame; 0 at the end of the stream. */
static int receive(int socket, char *text)
{
    uint32_t length;
    if (recv(socket, &length, 4, MSG_WAITALL) != 4)
        return 0;
    length = ntohl(length);
    return length < LONGEST && recv(socket, text, length, MSG_WAITALL) == (ssize_t)length;
}

/* Writes one frame at once and notes when: before send(), which transmits before it returns. If the
 * thread had to wait for the processor meanwhile, that says little, and the time after it counts. */
static void reply(struct connection *c, const char *text, uint32_t length)
{
    char frame[LONGEST + 4];
    uint32_t head = htonl(length);
    memcpy(frame, &head, 4);
    memcpy(frame + 4, text, length);
    uint64_t before = now();
    if (send(c->socket, frame, length + 4, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
        fail("send");
    uint64_t after = now();
    if (c->writes < MOST_WRITES) {
        c->written_at[c->writes] = after - before > 1000000 ? after : before;
        c->lengths[c->writes++] = length + 4;
    }
}

static void write_log(const char *path, struct connection *const *all, int count, int server_port)
{
    FILE *log = fopen(path, "w");
    if (!log)
        fail(path);
    for (int i = 0; i < count; i++) {
        const struct connection *c = all[i];
        unsigned long offset = 0;
        fprintf(log, "%lu %d open %d\n%lu %d option nodelay 1\n", c->opened, c->port, server_port,
                c->opened, c->port);
        for (unsigned w = 0; w < c->writes; offset += c->lengths[w++])
            fprintf(log, "%lu %d write %lu %u\n", c->written_at[w], c->port, offset, c->lengths[w]);
    }
    fclose(log);
}

static void start_thread(void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, run, argument))
        fail("pthread_create");
}
