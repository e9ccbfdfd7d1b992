/* A server with a thread for each connection, and its load; both set TCP_NODELAY.
 *
 *   rpc serve PORT
 *   rpc load HOST PORT CONNECTIONS ROUNDS SLEEP_MS
 *
 * Frames are a 4-byte length and text. The server's first thread accepts, watches all sockets with
 * epoll and pokes the thread of one that has something to read. That thread answers with 16 random
 * letters, for each of which it opens /dev/urandom again. Of the load, a thread for each connection
 * sends a request, waits for the reply, sleeps, and does so again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONGEST = 256, STACK = 64 * 1024, EVENTS = 256 };

struct connection {
    int socket, ready;
    pthread_mutex_t lock;
    pthread_cond_t poked;
};

static struct sockaddr_in server = {.sin_family = AF_INET};
static int rounds, sleep_ms, running;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static struct connection *connection_of(int socket)
{
    int on = 1;
    struct connection *c = calloc(1, sizeof *c);
    if (!c || setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) fail("TCP_NODELAY");
    *c = (struct connection){socket, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
    return c;
}

static void start_thread(void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, run, argument)) fail("pthread_create");
}

/* Reads one frame; 0 at the end of the stream. */
static int receive(int socket, char *text)
{
    uint32_t length;
    if (recv(socket, &length, 4, MSG_WAITALL) != 4) return 0;
    length = ntohl(length);
    return length < LONGEST && recv(socket, text, length, MSG_WAITALL) == (ssize_t)length;
}

/* Writes one frame at once. */
static void answer(int socket, const char *text, uint32_t length)
{
    char frame[LONGEST + 4];
    uint32_t head = htonl(length);
    memcpy(frame, &head, 4);
    memcpy(frame + 4, text, length);
    if (send(socket, frame, length + 4, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET) fail("send");
}

/* -- the server ------------------------------------------------------------ */

static char letter(void)
{
    unsigned char random;
    int device = open("/dev/urandom", O_RDONLY);
    if (device < 0 || read(device, &random, 1) != 1) fail("/dev/urandom");
    close(device);
    return (char)('A' + random % 26);
}

static void *serve(void *argument)
{
    struct connection *c = argument;
    char text[LONGEST];
    for (;;) {
        pthread_mutex_lock(&c->lock);
        while (!c->ready) pthread_cond_wait(&c->poked, &c->lock);
        c->ready = 0;
        pthread_mutex_unlock(&c->lock);
        if (!receive(c->socket, text)) return NULL;
        for (int i = 0; i < 16; i++) text[i] = letter();
        answer(c->socket, text, 16);
    }
}

static void add(int epoll, int listener)
{
    int socket = accept(listener, NULL, NULL);
    if (socket < 0) fail("accept");
    struct connection *c = connection_of(socket);
    start_thread(serve, c);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = c};
    epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
}

static void poke(struct connection *c)
{
    pthread_mutex_lock(&c->lock);
    c->ready = 1;
    pthread_cond_signal(&c->poked);
    pthread_mutex_unlock(&c->lock);
}

static void run_server(void)
{
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&server, sizeof server) || listen(listener, 4096)) fail("listen");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[EVENTS];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++)
            events[i].data.ptr ? poke(events[i].data.ptr) : add(epoll, listener);
    }
}

/* -- the load -------------------------------------------------------------- */

static void *ask(void *argument)
{
    struct connection *c = argument;
    char text[LONGEST];
    usleep((useconds_t)(rand() % (sleep_ms * 1000)));
    for (int i = 0; i < rounds; i++) {
        answer(c->socket, "random letters", 14);
        if (!receive(c->socket, text)) fail("no reply");
        usleep((useconds_t)(sleep_ms * 1000));
    }
    pthread_mutex_lock(&lock);
    running--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void run_load(int count)
{
    struct connection **all = calloc((size_t)count, sizeof *all);
    for (int i = 0; i < count; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&server, sizeof server)) fail("connect");
        all[i] = connection_of(fd);
    }
    running = count;
    for (int i = 0; i < count; i++) start_thread(ask, all[i]);
    while (running) usleep(50000);
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 7) { fprintf(stderr, "rpc: see the top of rpc.c\n"); return 2; }
    server.sin_port = htons((uint16_t)atoi(argv[argc == 3 ? 2 : 3]));
    if (argc == 3) run_server();
    inet_pton(AF_INET, argv[2], &server.sin_addr);
    rounds = atoi(argv[5]);
    sleep_ms = atoi(argv[6]);
    run_load(atoi(argv[4]));
    return 0;
}
