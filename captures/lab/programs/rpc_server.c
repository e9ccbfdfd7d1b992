/* A thread for each connection: rpc_server PORT LOG
 *
 * The first thread accepts, watches all sockets with epoll and pokes the thread of one that has
 * something to read. That thread answers with 16 random letters, for each of which it opens
 * /dev/urandom again. TCP_NODELAY is on. SIGTERM ends it; then it writes its log.
 */
#include "rpc.h"
#include <fcntl.h>

enum { MOST = 16384 };
static struct connection *all[MOST];
static volatile sig_atomic_t ended;

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

static char letter(void)
{
    unsigned char random;
    int device = open("/dev/urandom", O_RDONLY);
    if (device < 0 || read(device, &random, 1) != 1)
        fail("/dev/urandom");
    close(device);
    return (char)('A' + random % 26);
}

static void *serve(void *argument)
{
    struct connection *c = argument;
    char text[LONGEST];
    for (;;) {
        pthread_mutex_lock(&c->lock);
        while (!c->ready)
            pthread_cond_wait(&c->poked, &c->lock);
        c->ready = 0;
        pthread_mutex_unlock(&c->lock);
        if (!receive(c->socket, text))
            return NULL;
        for (int i = 0; i < 16; i++)
            text[i] = letter();
        reply(c, text, 16);
    }
}

static void add(int epoll, int listener, int *count)
{
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    struct connection *c = calloc(1, sizeof *c);
    if (!c || *count == MOST || (c->socket = accept(listener, (struct sockaddr *)&from, &size)) < 0)
        fail("accept");
    c->opened = now();
    c->port = ntohs(from.sin_port);
    set_nodelay(c->socket);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->poked, NULL);
    all[(*count)++] = c;
    start_thread(serve, c);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = c};
    epoll_ctl(epoll, EPOLL_CTL_ADD, c->socket, &event);
}

int main(int argc, char **argv)
{
    int port = argc == 3 ? atoi(argv[1]) : 0, on = 1, count = 0;
    int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!port || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096))
        fail("listen");
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = end}, NULL);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[256];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    while (!ended) {
        int n = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if (!c) {
                add(epoll, listener, &count);
                continue;
            }
            pthread_mutex_lock(&c->lock);
            c->ready = 1;
            pthread_cond_signal(&c->poked);
            pthread_mutex_unlock(&c->lock);
        }
    }
    write_log(argv[2], all, count, port);
    _exit(0);
}
