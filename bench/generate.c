/*
 * Writes a capture of simulated TCP connections and prints what is true about it.
 *
 *   generate MODE [CONNECTIONS [PACKETS]] [-o FILE|-] [-s SEED]
 *
 *   rpc     request, reply in two small pieces (143 + 6 bytes), ACK, think time. Every tenth
 *           server has Nagle on and its client delays ACKs: a stall in each exchange but the first
 *   clean   the same without Nagle: no stall
 *   stalls  the same, with a stall in every exchange of every connection
 *   short   ten packets per connection, SYN to FIN, no stall (takes no PACKETS)
 *   scan    a SYN and its refusal per connection (takes no PACKETS)
 *   half    a SYN and its answer per connection, and no third packet (takes no PACKETS)
 *   bulk    trains of ten 1448-byte segments, an ACK for every second one
 *
 * The capture point is the server. The same arguments give the same bytes, another seed others. Memory grows with
 * CONNECTIONS, never with PACKETS. The truth is JSON, on standard error.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EPOCH_S 1767225600u /* 2026-01-01T00:00:00Z, the time of the first packet */
#define INDEX_BITS 24       /* of an event's key: which connection; the rest is its time */
#define CONNECTIONS_MAX (1ull << INDEX_BITS)
#define MSS 1460
#define BULK_LENGTH 1448 /* MSS less the 12 bytes of the timestamp option */
#define BULK_TRAIN 10
#define HEAD_LENGTH 143
#define TAIL_LENGTH 6
#define REQUEST_SHORTEST 120
#define REQUEST_LONGEST 180
#define REQUEST_LENGTHS (REQUEST_LONGEST - REQUEST_SHORTEST + 1)
#define SHORT_PACKETS 10 /* per connection in mode short */
#define SCAN_PACKETS 2   /* in modes scan and half */
#define CROWD 10000      /* more connections than this think longer: the packet rate stays */
#define OUTPUT_BYTES (256 * 1024)

enum { FIN = 0x01, SYN = 0x02, RST = 0x04, PSH = 0x08, ACK = 0x10 };
enum mode { RPC, CLEAN, STALLS, SHORT, SCAN, HALF, BULK };
enum side { CLIENT, SERVER };

/* What a connection sends next. */
enum step {
    CLIENT_SYN, SERVER_SYN, HANDSHAKE_ACK, REQUEST,
    HEAD, HELD_ACK, TAIL, REPLY_ACK,
    TRAIN, TRAIN_ACK,
    CLIENT_FIN, SERVER_FIN, LAST_ACK, DONE
};

struct payload {
    uint16_t length;
    uint32_t sum; /* of its 16-bit words, for the TCP checksum */
    char bytes[BULK_LENGTH];
};

struct connection {
    uint32_t sequence[2]; /* next to send, by side */
    uint32_t client_ack;  /* the client's acknowledgment number */
    uint32_t clock_ms[2]; /* TSval of the last packet, by side */
    uint16_t ip_id[2];
    uint16_t rtt_us;
    uint8_t step;
    uint8_t sent;     /* packets of the present train, or ACKs for it */
    bool nagle;       /* the server holds the tail until the head is acknowledged */
    bool quick_ack;   /* the client's next ACK is not delayed */
    bool has_stalled;
};

struct truth {
    uint64_t packets, connections, stalls, connections_with_stalls;
};

struct simulation {
    enum mode mode;
    uint64_t connections_wanted, packets_wanted;
    struct connection *connections;
    uint64_t *events; /* binary heap of (time in us << INDEX_BITS | connection) */
    size_t event_count;
    uint64_t opened;
    uint64_t now_us; /* since EPOCH_S */
    uint64_t random_state;
    struct truth truth;
    struct payload nothing, head, tail, bulk, requests[REQUEST_LENGTHS];
    FILE *output;
};

struct packet {
    enum side from;
    uint8_t flags;
    const struct payload *payload;
};

/* The head of a pcap file, and all of a frame before its payload: the record's header in the
 * machine's own byte order, Ethernet, IPv4 and TCP in the network's. */
struct pcap_head {
    uint32_t magic;
    uint16_t major, minor;
    uint32_t zone, accuracy, snap_length, link_type;
};

struct frame {
    uint32_t seconds, microseconds, captured, length;
    uint8_t towards[14];
    uint16_t version, total, id, fragment, ttl_and_protocol, ip_sum;
    uint32_t addresses[2];
    uint16_t ports[2];
    uint32_t sequence, ack;
    uint16_t flags, window, tcp_sum, urgent;
    uint8_t options[20];
} __attribute__((packed));

static void fail(const char *what)
{
    fprintf(stderr, "generate: %s\n", what);
    exit(2);
}

/* ---- one packet ---- */

/* One's-complement sum of the 16-bit words as they lie in memory (RFC 1071: any byte order). */
static uint32_t add_words(uint32_t sum, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i += 2) {
        uint16_t word = 0;
        memcpy(&word, (const uint8_t *)bytes + i, length - i < 2 ? 1 : 2);
        sum += word;
    }
    return sum;
}

static uint16_t checksum(uint32_t sum)
{
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t)~((sum >> 16) + sum);
}

/* 62,500 client hosts; a host's connections differ in their ports. */
static uint32_t client_address(uint32_t index)
{
    return 0x0a400000 + ((index / 250 % 250) << 8) + 1 + index % 250; /* 10.64.0.0 and on */
}

static unsigned client_port(uint32_t index)
{
    return 32768 + (index / 62500 + index % 62500 * 7919) % 28232;
}

static uint16_t window(const struct packet *packet)
{
    if (packet->flags & SYN)
        return packet->from == CLIENT ? 64240 : 65160;
    return packet->from == CLIENT ? 502 : 509;
}

/* Of a SYN: MSS, SACK permitted, timestamps, window scale 7. Of others: two NOPs, timestamps. */
static void put_options(uint8_t *at, const struct connection *c, const struct packet *packet)
{
    static const uint8_t syn[20] = {2, 4, MSS >> 8, MSS & 0xff, 4, 2, 8, 10, [16] = 1, 3, 3, 7};
    static const uint8_t other[12] = {1, 1, 8, 10};
    const bool is_syn = packet->flags & SYN;
    const uint32_t clocks[] = {
        htonl(c->clock_ms[packet->from]),
        packet->flags & ACK ? htonl(c->clock_ms[!packet->from]) : 0,
    };
    memcpy(at, is_syn ? syn : other, is_syn ? sizeof syn : sizeof other);
    memcpy(at + (is_syn ? 8 : 4), clocks, sizeof clocks);
}

/* A sender's millisecond clock when it sent what the server sees now: a client half an RTT ago. */
static uint32_t clock_ms(const struct simulation *sim, uint32_t index, enum side side)
{
    uint32_t boot_ms = index * 2654435761u + (side == CLIENT ? 777777 : 100003);
    uint32_t travel_us = side == CLIENT ? sim->connections[index].rtt_us / 2u : 0;
    return boot_ms + (uint32_t)((sim->now_us + 1000 - travel_us) / 1000);
}

static void send_packet(struct simulation *sim, uint32_t index, struct packet packet)
{
    static const uint8_t towards[2][14] = {
        [CLIENT] = {2, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0xc1, 8, 0},
        [SERVER] = {2, 0, 0, 0, 0, 0xc1, 2, 0, 0, 0, 0, 0x50, 8, 0},
    };
    struct connection *c = &sim->connections[index];
    const enum side from = packet.from;
    const uint16_t header = packet.flags & SYN ? 40 : 32, size = header + packet.payload->length;
    const uint32_t client = htonl(client_address(index)), server = htonl(0xc0000250); /* 192.0.2.80 */
    const uint16_t port = htons(client_port(index)), service = htons(8080);
    const uint32_t ack = from == CLIENT ? c->client_ack : c->sequence[CLIENT];
    c->clock_ms[from] = clock_ms(sim, index, from);
    struct frame frame = {
        .seconds = EPOCH_S + (uint32_t)(sim->now_us / 1000000),
        .microseconds = (uint32_t)(sim->now_us % 1000000),
        .captured = 14 + 20 + size,
        .length = 14 + 20 + size,
        .version = htons(0x4500),
        .total = htons(20 + size),
        .id = htons(c->ip_id[from]++),
        .fragment = htons(0x4000), /* don't */
        .ttl_and_protocol = htons(64 << 8 | 6),
        .addresses = {from == CLIENT ? client : server, from == CLIENT ? server : client},
        .ports = {from == CLIENT ? port : service, from == CLIENT ? service : port},
        .sequence = htonl(c->sequence[from]),
        .ack = packet.flags & ACK ? htonl(ack) : 0,
        .flags = htons(header / 4 << 12 | packet.flags),
        .window = htons(window(&packet)),
    };
    memcpy(frame.towards, towards[from], sizeof frame.towards);
    put_options(frame.options, c, &packet);
    frame.ip_sum = checksum(add_words(0, &frame.version, 20));
    const uint16_t protocol_and_length[] = {htons(6), htons(size)};
    uint32_t sum = add_words(packet.payload->sum, frame.addresses, 8 + header);
    frame.tcp_sum = checksum(add_words(sum, protocol_and_length, 4));
    fwrite(&frame, offsetof(struct frame, ports) + header, 1, sim->output);
    fwrite(packet.payload->bytes, packet.payload->length, 1, sim->output);
    c->sequence[from] += packet.payload->length + (packet.flags & (SYN | FIN) ? 1u : 0);
    sim->truth.packets++;
}

/* ---- time ---- */

static uint32_t between(struct simulation *sim, uint32_t lowest, uint32_t highest)
{
    sim->random_state = sim->random_state * 6364136223846793005u + 1442695040888963407u;
    uint64_t random = sim->random_state >> 32;
    return lowest + (uint32_t)(random * (highest - lowest + 1) >> 32);
}

/* Puts an event where the hole at the top of the heap sinks to. */
static void replace_next_event(struct simulation *sim, uint64_t event)
{
    size_t hole = 0, child;
    while ((child = 2 * hole + 1) < sim->event_count) {
        if (child + 1 < sim->event_count && sim->events[child + 1] < sim->events[child])
            child++;
        if (event <= sim->events[child])
            break;
        sim->events[hole] = sim->events[child];
        hole = child;
    }
    sim->events[hole] = event;
}

static void remove_next_event(struct simulation *sim)
{
    uint64_t last = sim->events[--sim->event_count];
    if (sim->event_count > 0)
        replace_next_event(sim, last);
}

static void add_event(struct simulation *sim, uint64_t event)
{
    size_t hole = sim->event_count++;
    for (; hole > 0 && event < sim->events[(hole - 1) / 2]; hole = (hole - 1) / 2)
        sim->events[hole] = sim->events[(hole - 1) / 2];
    sim->events[hole] = event;
}

/* ---- what connections do; each returns the time until the next packet, in us ---- */

static uint32_t then(struct connection *c, enum step step, uint32_t delay_us)
{
    c->step = (uint8_t)step;
    return delay_us;
}

static uint32_t round_trip(struct simulation *sim, const struct connection *c)
{
    return c->rtt_us + between(sim, 0, 40);
}

static uint32_t think_us(struct simulation *sim)
{
    uint64_t crowds = sim->connections_wanted / CROWD;
    return between(sim, 10000, 90000) * (uint32_t)(crowds > 1 ? crowds : 1);
}

static uint32_t send_request(struct simulation *sim, uint32_t index)
{
    const struct payload *request = &sim->requests[between(sim, 0, REQUEST_LENGTHS - 1)];
    send_packet(sim, index, (struct packet){CLIENT, PSH | ACK, request});
    return then(&sim->connections[index], sim->mode == BULK ? TRAIN : HEAD, between(sim, 50, 400));
}

static uint32_t send_head(struct simulation *sim, uint32_t index)
{
    struct connection *c = &sim->connections[index];
    send_packet(sim, index, (struct packet){SERVER, PSH | ACK, &sim->head});
    if (!c->nagle)
        return then(c, TAIL, between(sim, 2, 8));
    uint32_t delay_us = c->quick_ack ? 0 : between(sim, 40000, 43600);
    return then(c, HELD_ACK, delay_us + round_trip(sim, c));
}

/* The first tail of mode rpc is held for one round trip only: no stall. */
static void count_hold(struct truth *truth, struct connection *c)
{
    truth->stalls += !c->quick_ack;
    truth->connections_with_stalls += !c->quick_ack && !c->has_stalled;
    c->has_stalled |= !c->quick_ack;
    c->quick_ack = false;
}

static uint32_t send_tail(struct simulation *sim, uint32_t index)
{
    struct connection *c = &sim->connections[index];
    send_packet(sim, index, (struct packet){SERVER, PSH | ACK, &sim->tail});
    if (c->nagle)
        count_hold(&sim->truth, c);
    return then(c, REPLY_ACK, round_trip(sim, c));
}

static uint32_t send_train(struct simulation *sim, uint32_t index)
{
    struct connection *c = &sim->connections[index];
    bool last = ++c->sent == BULK_TRAIN;
    send_packet(sim, index, (struct packet){SERVER, last ? PSH | ACK : ACK, &sim->bulk});
    if (!last)
        return then(c, TRAIN, 12);
    c->sent = 0;
    return then(c, TRAIN_ACK, round_trip(sim, c));
}

static uint32_t send_train_ack(struct simulation *sim, uint32_t index)
{
    struct connection *c = &sim->connections[index];
    c->client_ack += 2 * BULK_LENGTH;
    send_packet(sim, index, (struct packet){CLIENT, ACK, &sim->nothing});
    c->sent += 2;
    if (c->sent < BULK_TRAIN)
        return then(c, TRAIN_ACK, 24);
    c->sent = 0;
    return then(c, TRAIN, between(sim, 5, 20));
}

/* Acknowledges all that the server has sent. */
static uint32_t send_ack(struct simulation *sim, uint32_t index, enum step next, uint32_t delay_us)
{
    struct connection *c = &sim->connections[index];
    c->client_ack = c->sequence[SERVER];
    send_packet(sim, index, (struct packet){CLIENT, ACK, &sim->nothing});
    return then(c, next, delay_us);
}

static uint32_t send_reply_ack(struct simulation *sim, uint32_t index)
{
    if (sim->mode == SHORT)
        return send_ack(sim, index, CLIENT_FIN, between(sim, 20, 80));
    return send_ack(sim, index, REQUEST, think_us(sim));
}

/* Sends a SYN or FIN. The steps after it are its answer and that one's ACK, in order. */
static uint32_t send_control(struct simulation *sim, uint32_t index, enum side from, uint8_t flags)
{
    struct connection *c = &sim->connections[index];
    send_packet(sim, index, (struct packet){from, flags, &sim->nothing});
    uint32_t delay_us = from == CLIENT ? between(sim, 15, 40) : round_trip(sim, c);
    return then(c, c->step + 1, delay_us);
}

/* Nobody listens on a scanned port. Half-open connections end with the answer. */
static uint32_t answer_syn(struct simulation *sim, uint32_t index)
{
    if (sim->mode != SCAN && sim->mode != HALF)
        return send_control(sim, index, SERVER, SYN | ACK);
    uint8_t flags = sim->mode == SCAN ? RST | ACK : SYN | ACK;
    send_packet(sim, index, (struct packet){SERVER, flags, &sim->nothing});
    return then(&sim->connections[index], DONE, 0);
}

static uint32_t take_step(struct simulation *sim, uint32_t index)
{
    switch ((enum step)sim->connections[index].step) {
    case CLIENT_SYN: return send_control(sim, index, CLIENT, SYN);
    case SERVER_SYN: return answer_syn(sim, index);
    case HANDSHAKE_ACK: return send_ack(sim, index, REQUEST, between(sim, 10, 60));
    case REQUEST: return send_request(sim, index);
    case HEAD: return send_head(sim, index);
    case HELD_ACK: return send_ack(sim, index, TAIL, between(sim, 20, 60));
    case TAIL: return send_tail(sim, index);
    case REPLY_ACK: return send_reply_ack(sim, index);
    case TRAIN: return send_train(sim, index);
    case TRAIN_ACK: return send_train_ack(sim, index);
    case CLIENT_FIN: return send_control(sim, index, CLIENT, FIN | ACK);
    case SERVER_FIN: return send_control(sim, index, SERVER, FIN | ACK);
    case LAST_ACK: return send_ack(sim, index, DONE, 0);
    case DONE: break;
    }
    return 0;
}

/* ---- the run ---- */

static void open_connection(struct simulation *sim, uint64_t start_us)
{
    uint32_t index = (uint32_t)sim->opened++;
    struct connection *c = &sim->connections[index];
    c->sequence[CLIENT] = between(sim, 0, UINT32_MAX - 1);
    c->sequence[SERVER] = between(sim, 0, UINT32_MAX - 1);
    c->ip_id[CLIENT] = (uint16_t)between(sim, 0, 65535);
    c->ip_id[SERVER] = (uint16_t)between(sim, 0, 65535);
    c->rtt_us = (uint16_t)between(sim, 100, 260);
    c->nagle = sim->mode == STALLS || (sim->mode == RPC && index % 10 == 0);
    c->quick_ack = sim->mode == RPC;
    sim->truth.connections++;
    add_event(sim, start_us << INDEX_BITS | index);
}

static void take_next_event(struct simulation *sim)
{
    uint32_t index = (uint32_t)(sim->events[0] & (CONNECTIONS_MAX - 1));
    sim->now_us = sim->events[0] >> INDEX_BITS;
    uint32_t delay_us = take_step(sim, index);
    if (sim->connections[index].step == DONE)
        remove_next_event(sim);
    else
        replace_next_event(sim, (sim->now_us + delay_us) << INDEX_BITS | index);
}

/* Does each connection have the same number of packets? */
static bool is_fixed(enum mode mode)
{
    return mode == SHORT || mode == SCAN || mode == HALF;
}

/* A connection opens every 5 us; with a fixed number of packets 20 us, so that few are open at once. */
static void simulate(struct simulation *sim)
{
    const uint64_t interval_us = is_fixed(sim->mode) ? 20 : 5;
    const struct pcap_head head = {0xa1b2c3d4, 2, 4, .snap_length = 262144, .link_type = 1};
    fwrite(&head, sizeof head, 1, sim->output); /* microseconds, Ethernet */
    while (sim->truth.packets < sim->packets_wanted) {
        uint64_t opening_us = sim->opened * interval_us;
        bool may_open = sim->opened < sim->connections_wanted;
        if (may_open && (sim->event_count == 0 || opening_us <= sim->events[0] >> INDEX_BITS))
            open_connection(sim, opening_us);
        else
            take_next_event(sim);
    }
    if (fflush(sim->output) || ferror(sim->output))
        fail("cannot write the capture");
}

static void fill_payload(struct payload *payload, const char *opening, size_t length)
{
    const char *closing = "\r\n\r\n";
    memset(payload->bytes, 'x', length);
    memcpy(payload->bytes, opening, strlen(opening));
    memcpy(payload->bytes + length - strlen(closing), closing, strlen(closing));
    payload->length = (uint16_t)length;
    payload->sum = add_words(0, payload->bytes, length);
}

static void fill_payloads(struct simulation *sim)
{
    for (size_t i = 0; i < REQUEST_LENGTHS; i++)
        fill_payload(&sim->requests[i],
                     "GET /quote?item=17 HTTP/1.1\r\nHost: bench.example\r\n"
                     "Accept: text/plain\r\nX-Filler: ",
                     REQUEST_SHORTEST + i);
    fill_payload(&sim->head,
                 "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/plain\r\n"
                 "Content-Length: 6\r\nX-Filler: ",
                 HEAD_LENGTH);
    fill_payload(&sim->tail, "42", TAIL_LENGTH);
    fill_payload(&sim->bulk, "", BULK_LENGTH);
}

/* ---- the command line ---- */

static uint64_t parse_count(const char *text, uint64_t highest)
{
    char *end;
    unsigned long long count = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || count == 0 || count > highest)
        fail("CONNECTIONS (up to 16,777,216) and PACKETS must be positive whole numbers");
    return count;
}

static enum mode parse_mode(const char *name)
{
    static const char *const names[] = {
        [RPC] = "rpc",     [CLEAN] = "clean", [STALLS] = "stalls",
        [SHORT] = "short", [SCAN] = "scan",   [HALF] = "half",
        [BULK] = "bulk"};
    for (int mode = RPC; mode <= BULK; mode++)
        if (strcmp(name, names[mode]) == 0)
            return (enum mode)mode;
    fail("MODE is rpc, clean, stalls, short, scan, half or bulk");
    return RPC;
}

static void parse_plan(struct simulation *sim, int count, char **words)
{
    sim->mode = parse_mode(count > 0 ? words[0] : "");
    sim->connections_wanted = count > 1 ? parse_count(words[1], CONNECTIONS_MAX) : 10000;
    sim->packets_wanted = count > 2 ? parse_count(words[2], 1ull << 40) : 1000000;
    if (count > (is_fixed(sim->mode) ? 2 : 3))
        fail("too many arguments");
    uint64_t each = sim->mode == SHORT ? SHORT_PACKETS : SCAN_PACKETS;
    if (is_fixed(sim->mode))
        sim->packets_wanted = each * sim->connections_wanted;
}

static void print_truth(const struct truth *truth)
{
    fprintf(stderr, "{\"packets\": %ju, \"connections\": %ju, \"stalls\": %ju, ",
            (uintmax_t)truth->packets, (uintmax_t)truth->connections, (uintmax_t)truth->stalls);
    fprintf(stderr, "\"connections_with_stalls\": %ju}\n", (uintmax_t)truth->connections_with_stalls);
}

int main(int argc, char **argv)
{
    static struct simulation sim = {.random_state = 896};
    sim.output = stdout;
    for (int option; (option = getopt(argc, argv, "o:s:")) != -1;) {
        if (option == 'o' && strcmp(optarg, "-") != 0)
            sim.output = fopen(optarg, "w");
        else if (option == 's')
            sim.random_state = parse_count(optarg, UINT64_MAX);
        else if (option == '?')
            fail("usage: generate MODE [CONNECTIONS [PACKETS]] [-o FILE|-] [-s SEED]");
    }
    if (sim.output == NULL)
        fail("cannot create the output file");
    setvbuf(sim.output, NULL, _IOFBF, OUTPUT_BYTES);
    parse_plan(&sim, argc - optind, argv + optind);
    sim.connections = calloc(sim.connections_wanted, sizeof *sim.connections);
    sim.events = calloc(sim.connections_wanted, sizeof *sim.events);
    if (sim.connections == NULL || sim.events == NULL)
        fail("not enough memory");
    fill_payloads(&sim);
    simulate(&sim);
    print_truth(&sim.truth);
    return 0;
}
