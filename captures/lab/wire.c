/* wire: a user-space wire between two network namespaces.
 *
 * Creates one TAP interface in each of two named network namespaces and carries
 * frames between them, each direction with its own delay, jitter, loss and
 * duplication. Frames never overtake each other. The program sleeps until
 * SPIN_NS before the next frame is due and polls for the rest, so that a frame
 * leaves within some tens of microseconds of its time.
 *
 *   wire [options] NAMESPACE:INTERFACE NAMESPACE:INTERFACE
 *     --delay US,US    delay there and back                        (0,0)
 *     --jitter US,US   added per frame, uniform in 0..US           (0,0)
 *     --loss P,P       chance that an IPv4/IPv6 TCP frame is lost   (0,0)
 *     --drop N,N       also lose every N-th frame with TCP payload (0,0: none)
 *     --dup P,P        chance that a frame arrives twice           (0,0)
 *     --seed N         of jitter, loss and duplication             (1)
 *     --offload        let the kernel hand over unsegmented frames (TSO)
 *     --tun            TUN instead of TAP: bare IP packets, no Ethernet
 *
 * Standard output: 'ready' once both interfaces exist, then one line
 * 'drop TIME_NS there|back TCP_PAYLOAD' for each lost frame, and at the end
 * 'late P50_US P99_US MAX_US' (how late frames left). Ends on SIGTERM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
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
    QUEUE_LEN = 4096,           /* frames under way in one direction */
    LATE_BUCKETS = 1000,        /* of 1 us each; the last one holds the rest */
    VNET_HEADER = 10,           /* struct virtio_net_hdr, with --offload */
    ETHERNET_HEADER = 14,
};
#define SPIN_NS 60000
#define WAKE_NS 25000           /* a frame waits about that long to be read: leave that much earlier */

struct frame {
    int64_t due_ns;
    int len;
    unsigned char *data;
};

struct direction {
    const char *name;
    int from, to;
    int64_t delay_ns, jitter_ns, last_due_ns;
    double loss, dup;
    long drop_every, payload_frames;
    struct frame queue[QUEUE_LEN];
    unsigned head, tail;
};

static struct direction there = {.name = "there"}, back = {.name = "back"};
static int offload, tun;
static long late_us[LATE_BUCKETS];
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

/* TCP payload bytes of a frame, or -1 when it is not TCP. */
static int tcp_payload(const unsigned char *frame, int len)
{
    int at = (offload ? VNET_HEADER : 0) + (tun ? 0 : ETHERNET_HEADER);
    if (len < at + 40) return -1;
    const unsigned char *ip = frame + at;
    int header, total;
    if (ip[0] >> 4 == 4 && ip[9] == 6) {
        header = (ip[0] & 15) * 4;
        total = ip[2] << 8 | ip[3];
    } else if (ip[0] >> 4 == 6 && ip[6] == 6) {
        header = 40;
        total = 40 + (ip[4] << 8 | ip[5]);
    } else
        return -1;
    return total - header - (ip[header + 12] >> 4) * 4;
}

static int is_lost(struct direction *d, const unsigned char *data, int len)
{
    int payload = tcp_payload(data, len);
    if (payload < 0) return 0;
    if (payload > 0 && d->drop_every && ++d->payload_frames % d->drop_every == 0) return 1;
    return d->loss > 0 && drand48() < d->loss;
}

static void enqueue(struct direction *d, const unsigned char *data, int len, int64_t due)
{
    struct frame *f = &d->queue[d->tail % QUEUE_LEN];
    if (d->tail - d->head == QUEUE_LEN) { errno = ENOBUFS; die("queue"); }
    f->due_ns = d->last_due_ns = due > d->last_due_ns ? due : d->last_due_ns;
    f->len = len;
    f->data = malloc(len);
    memcpy(f->data, data, len);
    d->tail++;
}

static void take_in(struct direction *d)
{
    static unsigned char data[FRAME_MAX];
    int len;
    while ((len = read(d->from, data, sizeof data)) > 0) {
        if (is_lost(d, data, len)) {
            printf("drop %ld %s %d\n", (long)now_ns(CLOCK_REALTIME), d->name, tcp_payload(data, len));
            continue;
        }
        int64_t due = now_ns(CLOCK_MONOTONIC) + d->delay_ns - WAKE_NS + (int64_t)(drand48() * d->jitter_ns);
        enqueue(d, data, len, due);
        if (d->dup > 0 && drand48() < d->dup) enqueue(d, data, len, due + 1000);
    }
}

static void let_out(struct direction *d)
{
    while (d->head != d->tail) {
        struct frame *f = &d->queue[d->head % QUEUE_LEN];
        int64_t late = now_ns(CLOCK_MONOTONIC) - f->due_ns;
        if (late < 0) return;
        if (write(d->to, f->data, f->len) < 0 && errno != EIO) die("write");
        late /= 1000;
        late_us[late < LATE_BUCKETS ? late : LATE_BUCKETS - 1]++;
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

static long late_quantile(double share)
{
    long total = 0, seen = 0;
    for (int i = 0; i < LATE_BUCKETS; i++) total += late_us[i];
    for (int i = 0; i < LATE_BUCKETS; i++)
        if ((seen += late_us[i]) >= share * total && seen) return i;
    return 0;
}

static void run_fast(void)
{
    struct sched_param priority = {.sched_priority = 10};
    sched_setscheduler(0, SCHED_FIFO, &priority);
    prctl(PR_SET_TIMERSLACK, 1);
}

static void pair(const char *text, double *a, double *b)
{
    if (sscanf(text, "%lf,%lf", a, b) != 2) { errno = EINVAL; die(text); }
}

static void read_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"delay", 1, 0, 'd'}, {"jitter", 1, 0, 'j'}, {"loss", 1, 0, 'l'}, {"drop", 1, 0, 'n'},
        {"dup", 1, 0, 'u'}, {"seed", 1, 0, 's'}, {"offload", 0, 0, 'o'}, {"tun", 0, 0, 't'}, {0}};
    double a, b;
    srand48(1);
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'd') { pair(optarg, &a, &b); there.delay_ns = a * 1000; back.delay_ns = b * 1000; }
        else if (c == 'j') { pair(optarg, &a, &b); there.jitter_ns = a * 1000; back.jitter_ns = b * 1000; }
        else if (c == 'l') pair(optarg, &there.loss, &back.loss);
        else if (c == 'n') { pair(optarg, &a, &b); there.drop_every = a; back.drop_every = b; }
        else if (c == 'u') pair(optarg, &there.dup, &back.dup);
        else if (c == 's') srand48(atol(optarg));
        else if (c == 'o') offload = 1;
        else if (c == 't') tun = 1;
        else exit(2);
    }
    if (argc - optind != 2) { fprintf(stderr, "wire: two NAMESPACE:INTERFACE needed\n"); exit(2); }
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
    printf("late %ld %ld %ld\n", late_quantile(.5), late_quantile(.99), late_quantile(1));
    return 0;
}
