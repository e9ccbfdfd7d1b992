/* peer: one end of scripted TCP connections, with a log that is the truth.
 *
 *   peer [options] listen  ADDRESS PORT SCRIPT [PORT SCRIPT]...
 *   peer [options] connect ADDRESS PORT SCRIPT [PORT SCRIPT]...
 *     --log FILE     where the log goes                       (standard error)
 *     --rcvbuf N     SO_RCVBUF, set before connect or listen
 *     --congestion NAME  TCP_CONGESTION                     (the system's default)
 *     --no-watch         TCP_INFO after each write only: for many connections at once
 *     --through COMMAND  a stack in user space, of one connection: programs/..._peer. Its standard
 *                        input takes a message for each write and gives what it receives. No 'info'
 *
 * Each PORT carries one connection that runs its SCRIPT, all at the same time; named
 * several times, a PORT carries as many connections.
 * A script is a list of words:
 *     write:N         one write() of N bytes        read:N      read exactly N bytes
 *     pause:US        sleep                         read:eof    read until the end
 *     pause:US-US     sleep, uniform between        background-read  read and drop from now on
 *     nodelay:0|1     TCP_NODELAY                   end         shutdown(SHUT_WR)
 *     quickack:0|1    TCP_QUICKACK                  cork:0|1    TCP_CORK
 *     delack-max:US   TCP_DELACK_MAX_US
 *     urgent:N     send N bytes with MSG_OOB     acked       wait until all is acknowledged
 *     after:US     as the first word: connect that much later
 * The connection is closed at the end of the script.
 *
 * The log has one line per event, 'TIME_NS CLIENT_PORT KIND VALUE...', times
 * from CLOCK_REALTIME, the clock of packet captures, taken before a system call:
 *     open SERVER_PORT     write OFFSET LENGTH     option NAME VALUE
 *     pause US             resume                  wait-ack             acked
 *     info NOTSENT UNACKED CWND SND_WND IN_FLIGHT MSS
 * An 'info' line is the kernel's own TCP_INFO: bytes written but not sent,
 * segments unacknowledged, congestion window in segments, the peer's window in
 * bytes, bytes in flight, send MSS. It is taken after each write, and every
 * WATCH_NS while the connection lives, and logged when it changed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_WRITE = 1 << 18, DELACK_MAX_US = 46 /* Linux 6.15, not in older headers */ };
#define WATCH_NS 500000
#define ACK_LOOK_NS 50000

struct connection {
    const char *address, *port, *script;
    int listener, fd, client_port;
    long written, read, wanted;
    unsigned seed;
    volatile int closing, reading;
    long last_info[6];
    pthread_mutex_t info_lock;
};

static FILE *log_file;
static char payload[LONGEST_WRITE];
static int rcvbuf, is_server, no_watch;
static const char *congestion, *through;
static FILE *stack;     /* what the command says */

static void die(const char *what)
{
    fprintf(stderr, "peer: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void note(struct connection *c, int64_t at, const char *format, ...)
{
    char text[200];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fprintf(log_file, "%ld %d %s\n", (long)at, c->client_port, text);
}

static void sleep_ns(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR) {}
}

/* -- what the kernel says about its queue --------------------------------- */

static void note_info(struct connection *c, int always)
{
    struct tcp_info i = {0};
    socklen_t size = sizeof i;
    pthread_mutex_lock(&c->info_lock);
    if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &i, &size) == 0) {
        long in_flight = (long)(i.tcpi_bytes_sent - i.tcpi_bytes_retrans) - (long)i.tcpi_bytes_acked;
        long v[6] = {i.tcpi_notsent_bytes, i.tcpi_unacked, i.tcpi_snd_cwnd, i.tcpi_snd_wnd, in_flight, i.tcpi_snd_mss};
        if (always || memcmp(v, c->last_info, sizeof v))
            note(c, now_ns(), "info %ld %ld %ld %ld %ld %ld", v[0], v[1], v[2], v[3], v[4], v[5]);
        memcpy(c->last_info, v, sizeof v);
    }
    pthread_mutex_unlock(&c->info_lock);
}

static void *watch(void *connection)
{
    struct connection *c = connection;
    while (!c->closing) {
        note_info(c, 0);
        sleep_ns(WATCH_NS);
    }
    return NULL;
}

/* -- the words ------------------------------------------------------------ */

static void do_write(struct connection *c, long length, int flags)
{
    int64_t at = now_ns();
    ssize_t sent = send(c->fd, payload, length, MSG_NOSIGNAL | flags);
    note(c, at, "write %ld %ld", c->written, length);
    if (sent != length) { errno = sent < 0 ? errno : EPIPE; die("write"); }
    c->written += length;
    note_info(c, 1);
}

/* Returns 0 at the end of the stream. A message of a stack is taken whole. */
static int read_some(struct connection *c, long most)
{
    char data[65536];
    ssize_t got = recv(c->fd, data, !through && most < (long)sizeof data ? most : (long)sizeof data, 0);
    if (got < 0) die("read");
    c->read += got;
    return got > 0;
}

static void do_read(struct connection *c, const char *amount)
{
    if (!strcmp(amount, "eof")) { while (read_some(c, 65536)) {} return; }
    c->wanted += atol(amount);
    while (c->read < c->wanted)
        if (!read_some(c, c->wanted - c->read)) { errno = ENODATA; die("read"); }
}

static void *read_always(void *connection)
{
    struct connection *c = connection;
    while (read_some(c, 65536)) {}
    c->reading = 0;
    return NULL;
}

static void start(void *(*what)(void *), struct connection *c, pthread_t *thread)
{
    pthread_t detached;
    if (pthread_create(thread ? thread : &detached, NULL, what, c)) die("pthread_create");
    if (!thread) pthread_detach(detached);
}

static void do_pause(struct connection *c, const char *us)
{
    long low = atol(us), high = strchr(us, '-') ? atol(strchr(us, '-') + 1) : low;
    long length = low + (high > low ? rand_r(&c->seed) % (high - low) : 0);
    note(c, now_ns(), "pause %ld", length);
    sleep_ns(length * 1000);
    note(c, now_ns(), "resume");
}

/* As a program that never has two messages under way. */
static void wait_for_ack(struct connection *c)
{
    int left = 1;
    note(c, now_ns(), "wait-ack");
    while (ioctl(c->fd, SIOCOUTQ, &left) == 0 && left > 0) sleep_ns(ACK_LOOK_NS);
    note(c, now_ns(), "acked");
}

static void do_option(struct connection *c, const char *name, int option, int value)
{
    int64_t at = now_ns();
    if (!through && setsockopt(c->fd, IPPROTO_TCP, option, &value, sizeof value) < 0) die(name);
    note(c, at, "option %s %d", name, value);
}

static void do_word(struct connection *c, char *word)
{
    char *value = strchr(word, ':');
    if (value) *value++ = 0;
    if (!strcmp(word, "write")) do_write(c, atol(value), 0);
    else if (!strcmp(word, "urgent")) do_write(c, atol(value), MSG_OOB);
    else if (!strcmp(word, "acked")) wait_for_ack(c);
    else if (!strcmp(word, "read")) do_read(c, value);
    else if (!strcmp(word, "pause")) do_pause(c, value);
    else if (!strcmp(word, "nodelay")) do_option(c, word, TCP_NODELAY, atoi(value));
    else if (!strcmp(word, "quickack")) do_option(c, word, TCP_QUICKACK, atoi(value));
    else if (!strcmp(word, "cork")) do_option(c, word, TCP_CORK, atoi(value));
    else if (!strcmp(word, "delack-max")) do_option(c, word, DELACK_MAX_US, atoi(value));
    else if (!strcmp(word, "end")) shutdown(c->fd, SHUT_WR);
    else if (!strcmp(word, "after")) {}     /* done before it connected */
    else if (!strcmp(word, "background-read")) { c->reading = 1; start(read_always, c, NULL); }
    else { errno = EINVAL; die(word); }
}

static void run_words(struct connection *c, const char *at)
{
    char word[64];
    for (int taken; sscanf(at, " %63s%n", word, &taken) == 1; at += taken) do_word(c, word);
}

/* -- connections ---------------------------------------------------------- */

static struct addrinfo *resolve(struct connection *c)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found;
    if (getaddrinfo(c->address, c->port, &hints, &found)) { errno = EINVAL; die(c->address); }
    return found;
}

static int new_socket(struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM, 0), on = 1;
    if (fd < 0) die("socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (rcvbuf && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof rcvbuf) < 0) die("SO_RCVBUF");
    if (congestion && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, strlen(congestion)) < 0) die(congestion);
    return fd;
}

static void open_listener(struct connection *all, int number)
{
    struct connection *c = all + number;
    for (struct connection *earlier = all; earlier < c; earlier++)
        if (!strcmp(earlier->port, c->port)) { c->listener = earlier->listener; return; }
    struct addrinfo *a = resolve(c);
    c->listener = new_socket(a);
    if (bind(c->listener, a->ai_addr, a->ai_addrlen) < 0 || listen(c->listener, SOMAXCONN) < 0) die("listen");
    freeaddrinfo(a);
}

/* Returns once the stack listens, or can connect. */
static void start_stack(struct connection *c)
{
    int ends[2], said[2];
    char ready[8];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) || pipe2(said, O_CLOEXEC)) die("socketpair");
    if (!fork()) {
        dup2(ends[1], 0);
        dup2(said[1], 1);
        execl("/bin/sh", "sh", "-c", through, NULL);
        die("sh");
    }
    close(ends[1]);
    close(said[1]);
    c->fd = ends[0];
    stack = fdopen(said[0], "r");
    if (fscanf(stack, "%7s", ready) != 1) die(through);
}

static void open_connection(struct connection *c)
{
    struct sockaddr_storage client;
    socklen_t size = sizeof client;
    if (through) {
        if (fscanf(stack, "%d", &c->client_port) != 1) die(through);
        note(c, now_ns(), "open %s", c->port);
        return;
    }
    if (is_server) {
        c->fd = accept(c->listener, (struct sockaddr *)&client, &size);
        if (c->fd < 0) die("accept");
    } else {
        struct addrinfo *a = resolve(c);
        c->fd = new_socket(a);
        if (connect(c->fd, a->ai_addr, a->ai_addrlen) < 0) die("connect");
        freeaddrinfo(a);
        getsockname(c->fd, (struct sockaddr *)&client, &size);
    }
    c->client_port = ntohs(((struct sockaddr_in *)&client)->sin_port);   /* same place in IPv6 */
    note(c, now_ns(), "open %s", c->port);
}

static void *run_connection(void *connection)
{
    struct connection *c = connection;
    pthread_t watcher;
    long after = 0;
    if (sscanf(c->script, " after:%ld", &after) == 1) sleep_ns(after * 1000);
    open_connection(c);
    if (!no_watch) start(watch, c, &watcher);
    run_words(c, c->script);
    c->closing = 1;
    if (!no_watch) pthread_join(watcher, NULL);
    if (c->reading) {                   /* let the other side finish, or close() would reset */
        shutdown(c->fd, SHUT_WR);
        while (c->reading) sleep_ns(1000000);
    }
    close(c->fd);
    if (through) wait(NULL);
    return NULL;
}

static void read_options(int argc, char **argv)
{
    static const struct option options[] = {{"log", 1, 0, 'l'}, {"rcvbuf", 1, 0, 'r'}, {"congestion", 1, 0, 'c'},
                                            {"no-watch", 0, 0, 'n'}, {"through", 1, 0, 't'}, {0}};
    log_file = stderr;
    for (int o; (o = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (o == 'l') { if (!(log_file = fopen(optarg, "w"))) die(optarg); }
        else if (o == 'r') rcvbuf = atoi(optarg);
        else if (o == 'c') congestion = optarg;
        else if (o == 'n') no_watch = 1;
        else if (o == 't') through = optarg;
        else exit(2);
    }
    if (argc - optind < 4 || (argc - optind) % 2) { fprintf(stderr, "peer: see the top of peer.c\n"); exit(2); }
    setvbuf(log_file, NULL, _IOFBF, 1 << 24);
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    prctl(PR_SET_TIMERSLACK, 1);
    for (int i = 0; i < LONGEST_WRITE; i++) payload[i] = "nagle-scan lab\n"[i % 15];
    is_server = !strcmp(argv[optind], "listen");
    int n = (argc - optind - 2) / 2;
    struct connection *all = calloc(n, sizeof *all);
    pthread_t threads[n];
    for (int i = 0; i < n; i++) {
        char **arguments = argv + optind + 2 + 2 * i;
        all[i] = (struct connection){.address = argv[optind + 1], .port = arguments[0],
                                     .script = arguments[1], .seed = 7 + i + 100 * is_server};
        pthread_mutex_init(&all[i].info_lock, NULL);
        if (through) start_stack(all);
        else if (is_server) open_listener(all, i);
    }
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < n; i++) start(run_connection, &all[i], &threads[i]);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    return fclose(log_file) != 0;
}
