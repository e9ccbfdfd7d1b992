/* wire: a user-space wire between two network namespaces.
 *
 * Creates one TAP interface in each of two named network namespaces and carries
 * frames between them. A frame passes, in each direction: loss; a queue in front
 * of a link with a rate; a grid of moments at which the link sends; delay and
 * jitter (path.c). Frames do not overtake each other, except with --reorder.
 * The program sleeps until SPIN_NS before the next frame is due and polls for the
 * rest, so that a frame leaves within some tens of microseconds of its time.
 *
 *   wire [options] NAMESPACE:INTERFACE NAMESPACE:INTERFACE       there,back; default 0: none
 *     --delay US,US    delay
 *     --jitter US,US   added per frame
 *     --shape NAME     of the jitter: uniform in 0..US (default); tail: Pareto, now and then
 *                      many times US; steady:US: the same, drawn anew every US only
 *     --change MS:US   from MS after the first frame on, US more delay, both ways;
 *                      can be given again
 *     --rate K,K       kbit/s
 *     --queue N,N      bytes that wait in front of the rate; more are lost
 *     --grid US,US     frames leave only at multiples of this
 *     --ack-grid US,US pure ACKs do
 *     --thin N,N       1: a pure ACK takes the place of an older one that waits to leave
 *     --reorder P,P    chance that a TCP frame comes later than its turn, and by how much:
 *     --late US,US
 *     --loss P,P       chance that a TCP frame is lost
 *     --drop N,N       also lose every N-th frame with TCP payload
 *     --drop-syn N,N   also lose the first N frames with SYN
 *     --dup P,P        chance that a TCP frame arrives twice
 *     --nat A,B        IPv4 address A becomes B on the way there, and B becomes A on the way back
 *     --seed N         of all that is drawn                         (1)
 *     --offload        let the kernel hand over unsegmented frames (TSO)
 *     --tun            TUN instead of TAP: bare IP packets, no Ethernet
 *
 * Standard output: 'ready' once both interfaces exist, then one line
 * 'drop TIME_NS there|back TCP_PAYLOAD FROM_PORT TO_PORT' for each lost frame ('thinned' for an
 * ACK that --thin took). Ends on SIGTERM.
 */
#define _GNU_SOURCE
#include "path.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    FRAME_MAX = 65536 + 64,
    VNET_HEADER = 10,           /* struct virtio_net_hdr, with --offload */
    ETHERNET_HEADER = 14,
};
#define SPIN_NS 60000
#define WAKE_NS 25000           /* a frame waits about that long to be read: leave that much earlier */

static struct direction there = {.name = "there"}, back = {.name = "back"};
static int offload, tun;
static volatile sig_atomic_t stopping;

static void die(const char *what)
{
    fprintf(stderr, "wire: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void stop(int signal) { (void)signal; stopping = 1; }

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* -- interfaces ---------------------------------------------------------- */

static int create_interface(const char *name)
{
    struct ifreq request = {0};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (fd < 0) die("/dev/net/tun");
    snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
    request.ifr_flags = (tun ? IFF_TUN : IFF_TAP) | IFF_NO_PI | (offload ? IFF_VNET_HDR : 0);
    if (ioctl(fd, TUNSETIFF, &request) < 0) die(name);
    if (offload && ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) < 0)
        die("TUNSETOFFLOAD");
    return fd;
}

/* Opens the interface in its namespace and comes back to our own. */
static int open_end(char *end)
{
    char path[256], *colon = strchr(end, ':');
    if (!colon) { errno = EINVAL; die(end); }
    *colon = 0;
    snprintf(path, sizeof path, "/var/run/netns/%s", end);
    int home = open("/proc/self/ns/net", O_RDONLY), away = open(path, O_RDONLY);
    if (away < 0 || setns(away, CLONE_NEWNET) < 0) die(path);
    int fd = create_interface(colon + 1);
    if (setns(home, CLONE_NEWNET) < 0) die("setns");
    close(home);
    close(away);
    return fd;
}

/* -- frames -------------------------------------------------------------- */

static void take_in(struct direction *d)
{
    static unsigned char data[FRAME_MAX];
    int len;
    while ((len = read(d->from, data, sizeof data)) > 0)
        path_enqueue(d, data, len, now_ns(CLOCK_MONOTONIC), WAKE_NS);
}

static void let_out(struct direction *d)
{
    while (d->head != d->tail) {
        struct frame *f = &d->queue[d->head % QUEUE_LEN];
        if (now_ns(CLOCK_MONOTONIC) < f->due_ns) return;
        if (f->len && write(d->to, f->data, f->len) < 0 && errno != EIO) die("write");
        free(f->data);
        d->head++;
    }
}

/* -- the loop ------------------------------------------------------------ */

static int64_t next_due(void)
{
    int64_t due = INT64_MAX;
    struct direction *both[] = {&there, &back};
    for (int i = 0; i < 2; i++)
        if (both[i]->head != both[i]->tail) {
            int64_t d = both[i]->queue[both[i]->head % QUEUE_LEN].due_ns;
            due = d < due ? d : due;
        }
    return due;
}

static void wait_for_work(void)
{
    struct pollfd fds[] = {{.fd = there.from, .events = POLLIN}, {.fd = back.from, .events = POLLIN}};
    int64_t due = next_due(), sleep_ns = due - now_ns(CLOCK_MONOTONIC) - SPIN_NS;
    if (due == INT64_MAX) sleep_ns = 100000000;      /* look at 'stopping' now and then */
    if (sleep_ns < 0) sleep_ns = 0;
    struct timespec timeout = {sleep_ns / 1000000000, sleep_ns % 1000000000};
    ppoll(fds, 2, &timeout, NULL);
}

static void run_fast(void)
{
    struct sched_param priority = {.sched_priority = 10};
    sched_setscheduler(0, SCHED_FIFO, &priority);
    prctl(PR_SET_TIMERSLACK, 1);
}

static void add_change(const char *text)
{
    static int n;
    double ms, us;
    if (sscanf(text, "%lf:%lf", &ms, &us) != 2 || ms <= 0 || n == CHANGES_MAX) { errno = EINVAL; die(text); }
    there.changes[n] = back.changes[n] = (struct change){ms * 1e6, us * 1e3};
    n++;
}

static void set_shape(const char *text)
{
    if (!strcmp(text, "tail")) there.shape = back.shape = TAIL;
    else if (!strncmp(text, "steady:", 7)) {
        there.shape = back.shape = STEADY;
        there.keep_ns = back.keep_ns = atof(text + 7) * 1000;
    } else if (strcmp(text, "uniform")) { errno = EINVAL; die(text); }
}

static void set_nat(const char *text)
{
    char inside[16], outside[16];
    struct in_addr a, b;
    if (sscanf(text, "%15[0-9.],%15[0-9.]", inside, outside) != 2) { errno = EINVAL; die(text); }
    if (!inet_aton(inside, &a) || !inet_aton(outside, &b)) { errno = EINVAL; die(text); }
    there.nat_from = back.nat_to = ntohl(a.s_addr);
    there.nat_to = back.nat_from = ntohl(b.s_addr);
}

/* Options with a number for each way; their fields of a direction, and units. */
static const struct { const char *name; size_t field; double unit; } WAYS[] = {
    {"delay", offsetof(struct direction, delay_ns), 1000},
    {"jitter", offsetof(struct direction, jitter_ns), 1000},
    {"rate", offsetof(struct direction, kbit), 1},
    {"queue", offsetof(struct direction, queue_bytes), 1},
    {"grid", offsetof(struct direction, grid_ns), 1000},
    {"ack-grid", offsetof(struct direction, ack_grid_ns), 1000},
    {"thin", offsetof(struct direction, thin), 1},
    {"reorder", offsetof(struct direction, reorder), 1},
    {"late", offsetof(struct direction, late_ns), 1000},
    {"loss", offsetof(struct direction, loss), 1},
    {"drop", offsetof(struct direction, drop_every), 1},
    {"drop-syn", offsetof(struct direction, drop_syns), 1},
    {"dup", offsetof(struct direction, dup), 1},
};
enum { WAYS_COUNT = sizeof WAYS / sizeof *WAYS };

static void set_ways(int number, const char *text)
{
    struct direction *both[] = {&there, &back};
    double values[2];
    if (sscanf(text, "%lf,%lf", &values[0], &values[1]) != 2) { errno = EINVAL; die(text); }
    for (int i = 0; i < 2; i++)
        *(double *)((char *)both[i] + WAYS[number].field) = values[i] * WAYS[number].unit;
}

static void read_options(int argc, char **argv)
{
    struct option options[WAYS_COUNT + 7] = {
        {"shape", 1, 0, 'h'}, {"change", 1, 0, 'c'}, {"nat", 1, 0, 'x'}, {"seed", 1, 0, 's'},
        {"offload", 0, 0, 'o'}, {"tun", 0, 0, 't'}};
    for (int i = 0; i < WAYS_COUNT; i++) options[6 + i] = (struct option){WAYS[i].name, 1, 0, 256 + i};
    srand48(1);
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (c) {
        case 'h': set_shape(optarg); break;
        case 'c': add_change(optarg); break;
        case 'x': set_nat(optarg); break;
        case 's': srand48(atol(optarg)); break;
        case 'o': offload = 1; break;
        case 't': tun = 1; break;
        case '?': exit(2);
        default: set_ways(c - 256, optarg);
        }
    if (argc - optind != 2) { fprintf(stderr, "wire: two NAMESPACE:INTERFACE needed\n"); exit(2); }
    ip_offset = (offload ? VNET_HEADER : 0) + (tun ? 0 : ETHERNET_HEADER);
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    setvbuf(stdout, NULL, _IOLBF, 0);
    there.from = back.to = open_end(argv[optind]);
    back.from = there.to = open_end(argv[optind + 1]);
    run_fast();
    puts("ready");
    while (!stopping) {
        wait_for_work();
        take_in(&there);
        take_in(&back);
        let_out(&there);
        let_out(&back);
    }
    return 0;
}
