/* path: what a wire does to a frame on its way in one direction. */
#ifndef PATH_H
#define PATH_H
#include <stdint.h>

enum {
    QUEUE_LEN = 8192,           /* frames under way in one direction */
    CHANGES_MAX = 16,
};

enum shape { UNIFORM, TAIL, STEADY };

struct frame {
    int64_t leaves_ns, due_ns;  /* when it leaves the queue, when it arrives */
    int len;
    unsigned char *data;
};

struct change { int64_t after_ns, extra_ns; };

struct direction {
    const char *name;
    int from, to;
    double delay_ns, jitter_ns, kbit, queue_bytes, grid_ns, ack_grid_ns;
    double thin, reorder, late_ns, loss, drop_every, drop_syns, dup;
    enum shape shape;
    int64_t keep_ns;
    long payload_frames;
    uint32_t nat_from, nat_to;  /* this address becomes that one, big endian */
    struct change changes[CHANGES_MAX];
    int64_t busy_until_ns, last_due_ns, jitter_now_ns, jitter_since_ns;
    struct frame queue[QUEUE_LEN];
    unsigned head, tail;
};

/* Where an IP header begins in a frame. */
extern int ip_offset;

/* Puts a frame that came now into the queue, or loses it. */
void path_enqueue(struct direction *d, const unsigned char *data, int len, int64_t now_ns, int64_t wake_ns);

#endif
