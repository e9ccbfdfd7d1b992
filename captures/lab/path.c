/* path: what a wire does to a frame on its way in one direction; wire.c has the options. */
#define _GNU_SOURCE
#include "path.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SYN = 2, ACK = 16, PLAIN_HEADER = 32 /* with timestamps, without SACK */ };
#define TAIL_EXPONENT 1.3       /* of the Pareto tail: a finite mean, no finite variance */
#define TAIL_MOST 12.0          /* times the jitter; a frame is not lost for ever */
#define TAIL_SCALE 0.25         /* the median adds about a sixth of the jitter */

int ip_offset;
static int64_t started_ns;

struct segment {
    int payload, header;
    uint32_t ports, ack;
    unsigned flags;
};

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

/* Returns 0 when the frame is not TCP. */
static int read_segment(const unsigned char *data, int len, struct segment *s)
{
    if (len < ip_offset + 40) return 0;
    const unsigned char *ip = data + ip_offset;
    int header, total;
    if (ip[0] >> 4 == 4 && ip[9] == 6) {
        header = (ip[0] & 15) * 4;
        total = ip[2] << 8 | ip[3];
    } else if (ip[0] >> 4 == 6 && ip[6] == 6) {
        header = 40;
        total = 40 + (ip[4] << 8 | ip[5]);
    } else
        return 0;
    const unsigned char *tcp = ip + header;
    s->header = (tcp[12] >> 4) * 4;
    s->payload = total - header - s->header;
    s->ports = big_endian(tcp);
    s->ack = big_endian(tcp + 8);
    s->flags = tcp[13];
    return 1;
}

static int is_pure_ack(const struct segment *s)
{
    return s->payload == 0 && s->flags == ACK && s->header <= PLAIN_HEADER;
}

/* -- what is lost ---------------------------------------------------------- */

static int is_lost(struct direction *d, const struct segment *s)
{
    if (s->flags & SYN && d->drop_syns > 0) return d->drop_syns--, 1;
    if (s->payload > 0 && d->drop_every && ++d->payload_frames % (long)d->drop_every == 0) return 1;
    return d->loss > 0 && drand48() < d->loss;
}

static int is_full(const struct direction *d, int len, int64_t now)
{
    if (!d->kbit || !d->queue_bytes || d->busy_until_ns <= now) return 0;
    return (d->busy_until_ns - now) * d->kbit / 8e6 + len > d->queue_bytes;
}

static void log_frame(const char *what, const struct direction *d, const struct segment *s)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    long now = t.tv_sec * 1000000000L + t.tv_nsec;
    printf("%s %ld %s %d %u %u\n", what, now, d->name, s->payload, s->ports >> 16, s->ports & 0xffff);
}

/* A newer pure ACK takes the place of an older one that still waits to leave. */
static void thin_out(struct direction *d, const struct segment *new, int64_t now)
{
    for (unsigned i = d->head; i != d->tail; i++) {
        struct frame *f = &d->queue[i % QUEUE_LEN];
        struct segment old;
        if (f->leaves_ns <= now || !f->len || !read_segment(f->data, f->len, &old)) continue;
        if (!is_pure_ack(&old) || old.ports != new->ports || (int32_t)(new->ack - old.ack) <= 0) continue;
        f->len = 0;
        log_frame("thinned", d, &old);
    }
}

/* -- when it arrives ------------------------------------------------------- */

static int64_t up_to_grid(int64_t at, int64_t grid)
{
    return grid ? (at + grid - 1) / grid * grid : at;
}

static double drawn(enum shape shape)
{
    double u = drand48();
    if (shape != TAIL) return u;
    double value = TAIL_SCALE * (pow(1 - u, -1 / TAIL_EXPONENT) - 1);
    return value < TAIL_MOST ? value : TAIL_MOST;
}

/* STEADY: what was drawn stays for a while, and goes over to the next value evenly. */
static int64_t jitter(struct direction *d, int64_t now)
{
    static const int PARTS = 16;
    if (!d->jitter_ns) return 0;
    if (d->shape != STEADY) return drawn(d->shape) * d->jitter_ns;
    while (now - d->jitter_since_ns > d->keep_ns) {
        int64_t next = drawn(TAIL) * d->jitter_ns;
        d->jitter_now_ns += (next - d->jitter_now_ns) * 4 / PARTS;
        d->jitter_since_ns = now - d->jitter_since_ns > 8 * d->keep_ns ? now : d->jitter_since_ns + d->keep_ns;
    }
    return d->jitter_now_ns;
}

static int64_t changed_by(const struct direction *d, int64_t now)
{
    int64_t extra = 0;
    for (int i = 0; i < CHANGES_MAX && d->changes[i].after_ns; i++)
        if (now - started_ns >= d->changes[i].after_ns) extra = d->changes[i].extra_ns;
    return extra;
}

static int64_t leaves(struct direction *d, int len, int is_ack, int64_t now)
{
    int64_t at = now;
    if (d->kbit) {
        at = (d->busy_until_ns > now ? d->busy_until_ns : now) + len * 8e6 / d->kbit;
        d->busy_until_ns = at;
    }
    at = up_to_grid(at, d->grid_ns);
    return is_ack ? up_to_grid(at, d->ack_grid_ns) : at;
}

/* -- another address ------------------------------------------------------- */

static uint32_t sum_words(const unsigned char *at, int words)
{
    uint32_t sum = 0;
    for (int i = 0; i < words; i++) sum += at[2 * i] << 8 | at[2 * i + 1];
    return sum;
}

/* RFC 1624: updates a checksum after words that sum to `less` were replaced by others, `more`. */
static void mend(unsigned char *checksum, uint32_t less, uint32_t more)
{
    uint32_t sum = (uint16_t)~(checksum[0] << 8 | checksum[1]) + more + 2 * 0xffffu - (less % 0xffff);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    checksum[0] = (uint16_t)~sum >> 8;
    checksum[1] = ~sum;
}

/* IPv4: the sender's address on the way there, the receiver's on the way back, as a NAT does. */
static void translate(const struct direction *d, unsigned char *data, int len)
{
    struct segment s;
    if (!d->nat_from || !read_segment(data, len, &s) || data[ip_offset] >> 4 != 4) return;
    unsigned char *ip = data + ip_offset, *tcp = ip + (ip[0] & 15) * 4;
    for (unsigned char *address = ip + 12; address <= ip + 16; address += 4) {
        if (big_endian(address) != d->nat_from) continue;
        uint32_t less = sum_words(address, 2);
        for (int i = 0; i < 4; i++) address[i] = d->nat_to >> (24 - 8 * i);
        mend(ip + 10, less, sum_words(address, 2));
        mend(tcp + 16, less, sum_words(address, 2));
    }
}

/* -- the queue ------------------------------------------------------------- */

static void insert(struct direction *d, struct frame frame)
{
    if (d->tail - d->head == QUEUE_LEN) { fprintf(stderr, "wire: queue full\n"); exit(1); }
    unsigned at = d->tail++;
    for (; at != d->head && d->queue[(at - 1) % QUEUE_LEN].due_ns > frame.due_ns; at--)
        d->queue[at % QUEUE_LEN] = d->queue[(at - 1) % QUEUE_LEN];
    d->queue[at % QUEUE_LEN] = frame;
}

static void add(struct direction *d, const unsigned char *data, int len, int64_t leaves_ns, int64_t due_ns)
{
    struct frame f = {.leaves_ns = leaves_ns, .due_ns = due_ns, .len = len, .data = malloc(len)};
    memcpy(f.data, data, len);
    translate(d, f.data, len);
    insert(d, f);
}

void path_enqueue(struct direction *d, const unsigned char *data, int len, int64_t now, int64_t wake_ns)
{
    struct segment s = {0};
    int is_tcp = read_segment(data, len, &s);
    if (!started_ns) started_ns = now;
    if (is_tcp && (is_lost(d, &s) || is_full(d, len, now))) { log_frame("drop", d, &s); return; }
    int pure = is_tcp && is_pure_ack(&s);
    if (pure && d->thin) thin_out(d, &s, now);
    int64_t out = leaves(d, len, pure, now);
    int64_t due = out + d->delay_ns + jitter(d, now) + changed_by(d, now) - wake_ns;
    if (due < d->last_due_ns) due = d->last_due_ns;     /* frames do not overtake, */
    if (is_tcp && d->reorder > 0 && drand48() < d->reorder)
        due += d->late_ns;                              /* but for these */
    else
        d->last_due_ns = due;
    add(d, data, len, out, due);
    if (is_tcp && d->dup > 0 && drand48() < d->dup) add(d, data, len, out, due + 1000);
}
