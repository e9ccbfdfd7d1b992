/* relay: accepts connections, dials one onward for each, and forwards both ways.
 *
 *   relay [options] LISTEN_ADDRESS PORT DIAL_ADDRESS PORT
 *     --front-log FILE  what it writes to those that dialled it    (none)
 *     --back-log FILE   what it writes to the one it dials         (none)
 *     --front-nodelay, --back-nodelay   TCP_NODELAY on these sockets
 *
 * The logs are those of peer.c, without its 'info' lines. It runs until SIGTERM.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FRONT, BACK, READ = 16384, EVENTS = 64 };

struct end {
    struct pair *pair;
    int fd, side, client_port, finished;
    long written;
};

struct pair {
    struct end ends[2];
};

static FILE *logs[2];
static int nodelay[2];
static const char *server_ports[2];
static struct sockaddr_in listen_address, dial_address;
static volatile sig_atomic_t ending;

static void die(const char *what)
{
    fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void note(struct end *e, int64_t at, const char *kind, long a, long b)
{
    if (logs[e->side]) fprintf(logs[e->side], "%ld %d %s %ld %ld\n", (long)at, e->client_port, kind, a, b);
}

/* -- forwarding ----------------------------------------------------------- */

static void write_all(struct end *to, const char *data, ssize_t length)
{
    while (length > 0) {
        int64_t at = now_ns();
        ssize_t sent = send(to->fd, data, length, MSG_NOSIGNAL);
        if (sent < 0) { to->finished = to->pair->ends[!to->side].finished = 1; return; }
        note(to, at, "write", to->written, sent);
        to->written += sent;
        data += sent;
        length -= sent;
    }
}

/* Forwards what has come; returns 0 when both sides are done. */
static int forward(struct end *from)
{
    static char data[READ];
    struct end *to = &from->pair->ends[!from->side];
    ssize_t got = recv(from->fd, data, sizeof data, 0);
    if (got > 0) {
        write_all(to, data, got);
    } else {
        from->finished = 1;
        shutdown(to->fd, SHUT_WR);
    }
    return !(from->finished && to->finished);
}

/* -- connections ---------------------------------------------------------- */

static void set_up(struct pair *p, int side, int fd, struct sockaddr_in client)
{
    struct end *e = &p->ends[side];
    *e = (struct end){.pair = p, .fd = fd, .side = side, .client_port = ntohs(client.sin_port)};
    note(e, now_ns(), "open", atol(server_ports[side]), 0);
    if (nodelay[side]) {
        if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay[side], sizeof(int)) < 0) die("TCP_NODELAY");
        if (logs[side]) fprintf(logs[side], "%ld %d option nodelay 1\n", (long)now_ns(), e->client_port);
    }
}

static struct pair *accept_and_dial(int listener)
{
    struct sockaddr_in client;
    socklen_t size = sizeof client;
    int front = accept(listener, (struct sockaddr *)&client, &size);
    if (front < 0) return NULL;
    struct pair *p = calloc(1, sizeof *p);
    set_up(p, FRONT, front, client);
    int back = socket(AF_INET, SOCK_STREAM, 0);
    if (back < 0 || connect(back, (struct sockaddr *)&dial_address, sizeof dial_address) < 0) die("connect");
    getsockname(back, (struct sockaddr *)&client, &size);
    set_up(p, BACK, back, client);
    return p;
}

static void watch(int epoll, int fd, void *what)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = what};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) < 0) die("epoll_ctl");
}

/* A pair is not freed here: an event of its other end may be in the same batch. */
static void run_loop(int listener)
{
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(0);
    watch(epoll, listener, NULL);
    while (!ending) {
        int n = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            struct end *from = events[i].data.ptr;
            if (!from) {
                struct pair *p = accept_and_dial(listener);
                for (int side = 0; p && side < 2; side++) watch(epoll, p->ends[side].fd, &p->ends[side]);
            } else if (!from->finished) {
                struct pair *p = from->pair;
                int going = forward(from);
                if (from->finished) epoll_ctl(epoll, EPOLL_CTL_DEL, from->fd, NULL);
                if (!going) { close(p->ends[FRONT].fd); close(p->ends[BACK].fd); }
            }
        }
    }
}

/* -- the command line ----------------------------------------------------- */

static void end(int signal) { (void)signal; ending = 1; }

static FILE *open_log(const char *path)
{
    FILE *log = fopen(path, "w");
    if (!log) die(path);
    setvbuf(log, NULL, _IOFBF, 1 << 24);
    return log;
}

static void read_address(struct sockaddr_in *address, const char *host, const char *port)
{
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    if (inet_pton(AF_INET, host, &address->sin_addr) != 1) { errno = EINVAL; die(host); }
}

static void read_options(int argc, char **argv)
{
    static const struct option options[] = {{"front-log", 1, 0, 'f'}, {"back-log", 1, 0, 'b'},
                                            {"front-nodelay", 0, 0, 'F'}, {"back-nodelay", 0, 0, 'B'}, {0}};
    for (int o; (o = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (o == 'f') logs[FRONT] = open_log(optarg);
        else if (o == 'b') logs[BACK] = open_log(optarg);
        else if (o == 'F') nodelay[FRONT] = 1;
        else if (o == 'B') nodelay[BACK] = 1;
        else exit(2);
    }
    if (argc - optind != 4) { fprintf(stderr, "relay: see the top of relay.c\n"); exit(2); }
    read_address(&listen_address, argv[optind], server_ports[FRONT] = argv[optind + 1]);
    read_address(&dial_address, argv[optind + 2], server_ports[BACK] = argv[optind + 3]);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = end};
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    read_options(argc, argv);
    sigaction(SIGTERM, &action, NULL);
    prctl(PR_SET_TIMERSLACK, 1);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&listen_address, sizeof listen_address) < 0) die("bind");
    if (listen(listener, SOMAXCONN) < 0) die("listen");
    puts("ready");
    fflush(stdout);
    run_loop(listener);
    for (int side = 0; side < 2; side++)
        if (logs[side]) fflush(logs[side]);
    _exit(0);
}
