/* lwip_peer: one end of a scripted TCP connection, run by lwIP on a TUN interface.
 *
 *   lwip_peer --log FILE --tun NAME --own ADDRESS listen|connect ADDRESS PORT SCRIPT
 *
 * Scripts and log are those of peer.c, less cork, quickack and delack-max. lwIP is
 * Debian's liblwip as it is packaged: a timer beats every 250 ms and sends the
 * ACKs that wait at that moment. The 'info' lines come from lwIP's own control
 * block, under its lock.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <lwip/api.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/tcpip.h>

enum { LONGEST_WRITE = 1 << 16, MTU = 1500, INFO_VALUES = 6 };
#define WATCH_NS 500000
#define LINGER_NS 300000000     /* lwIP ends the connection by itself, and dies with the program */

static int tun, client_port;
static long written;
static unsigned seed = 7;
static volatile int closing, reading;
static struct netconn *connection;
static long last_info[INFO_VALUES];
static pthread_mutex_t info_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_file;
static char payload[LONGEST_WRITE];

static void die(const char *what)
{
    fprintf(stderr, "lwip_peer: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void check(err_t error, const char *what)
{
    if (error == ERR_OK) return;
    fprintf(stderr, "lwip_peer: %s: lwIP's error %d\n", what, error);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR) {}
}

static void note(int64_t at, const char *format, ...)
{
    char text[200];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fprintf(log_file, "%ld %d %s\n", (long)at, client_port, text);
}

/* -- the interface --------------------------------------------------------- */

static err_t send_packet(struct netif *interface, struct pbuf *packet, const ip4_addr_t *to)
{
    (void)interface, (void)to;
    char data[MTU];
    if (packet->tot_len > MTU) return ERR_BUF;
    pbuf_copy_partial(packet, data, packet->tot_len, 0);
    return write(tun, data, packet->tot_len) == packet->tot_len ? ERR_OK : ERR_IF;
}

static err_t start_interface(struct netif *interface)
{
    interface->name[0] = 't';
    interface->name[1] = 'n';
    interface->mtu = MTU;
    interface->output = send_packet;
    return ERR_OK;
}

static void *receive_packets(void *interface)
{
    struct netif *to = interface;
    char data[MTU];
    for (ssize_t length; (length = read(tun, data, sizeof data)) > 0;) {
        struct pbuf *packet = pbuf_alloc(PBUF_RAW, length, PBUF_RAM);   /* Debian's pool buffers end after 616 bytes */
        if (!packet) continue;
        pbuf_take(packet, data, length);
        if (to->input(packet, to) != ERR_OK) pbuf_free(packet);
    }
    return NULL;
}

static void start(void *(*what)(void *), void *with)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, what, with)) die("pthread_create");
    pthread_detach(thread);
}

static ip4_addr_t address(const char *text)
{
    ip4_addr_t parsed;
    if (!ip4addr_aton(text, &parsed)) { errno = EINVAL; die(text); }
    return parsed;
}

static void open_tun(const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if ((tun = open("/dev/net/tun", O_RDWR)) < 0) die("/dev/net/tun");
    if (ioctl(tun, TUNSETIFF, &request) < 0) die(name);
}

static void start_stack(const char *tun_name, const char *own)
{
    static struct netif interface;
    ip4_addr_t mine = address(own), mask = address("255.255.255.0"), gateway = mine;
    ip4_addr_set_u32(&gateway, (ip4_addr_get_u32(&mine) & ip4_addr_get_u32(&mask)) | lwip_htonl(1));
    open_tun(tun_name);
    tcpip_init(NULL, NULL);
    LOCK_TCPIP_CORE();
    if (!netif_add(&interface, &mine, &mask, &gateway, NULL, start_interface, tcpip_input)) die("netif_add");
    netif_set_default(&interface);
    netif_set_link_up(&interface);
    netif_set_up(&interface);
    UNLOCK_TCPIP_CORE();
    start(receive_packets, &interface);
}

/* -- what lwIP says about its queue ---------------------------------------- */

static long count(const struct tcp_seg *segments)
{
    long n = 0;
    for (; segments; segments = segments->next) n++;
    return n;
}

static void note_info(int always)
{
    long v[INFO_VALUES] = {0};
    pthread_mutex_lock(&info_lock);
    LOCK_TCPIP_CORE();
    const struct tcp_pcb *pcb = connection->pcb.tcp;
    if (pcb) {
        long values[INFO_VALUES] = {(int32_t)(pcb->snd_lbb - pcb->snd_nxt), count(pcb->unacked), pcb->cwnd / pcb->mss,
                                    pcb->snd_wnd, (int32_t)(pcb->snd_nxt - pcb->lastack), pcb->mss};
        memcpy(v, values, sizeof v);
    }
    int64_t at = now_ns();
    UNLOCK_TCPIP_CORE();
    if (pcb && (always || memcmp(v, last_info, sizeof v)))
        note(at, "info %ld %ld %ld %ld %ld %ld", v[0], v[1], v[2], v[3], v[4], v[5]);
    memcpy(last_info, v, sizeof v);
    pthread_mutex_unlock(&info_lock);
}

static void *watch(void *unused)
{
    while (!closing) {
        note_info(0);
        sleep_ns(WATCH_NS);
    }
    return unused;
}

/* -- the words ------------------------------------------------------------- */

static void do_write(long length)
{
    int64_t at = now_ns();
    check(netconn_write(connection, payload, length, NETCONN_COPY), "write");
    note(at, "write %ld %ld", written, length);
    written += length;
    note_info(1);
}

/* Reads 'most' bytes or up to the end; what came beyond it is kept for the next time. */
static void do_read(long most)
{
    static long kept;
    while (most > kept) {
        struct pbuf *data;
        most -= kept;
        kept = 0;
        err_t error = netconn_recv_tcp_pbuf(connection, &data);
        if (error == ERR_CLSD || error == ERR_CONN) return;
        check(error, "read");
        kept = data->tot_len;
        pbuf_free(data);
    }
    kept -= most;
}

static void *read_always(void *unused)
{
    do_read(INT32_MAX);
    reading = 0;
    return unused;
}

static void do_pause(const char *us)
{
    const char *dash = strchr(us, '-');
    long low = atol(us), high = dash ? atol(dash + 1) : low;
    long length = low + (high > low ? rand_r(&seed) % (high - low) : 0);
    note(now_ns(), "pause %ld", length);
    sleep_ns(length * 1000);
    note(now_ns(), "resume");
}

static void do_nodelay(int on)
{
    note(now_ns(), "option nodelay %d", on);
    LOCK_TCPIP_CORE();
    if (on) tcp_nagle_disable(connection->pcb.tcp);
    else tcp_nagle_enable(connection->pcb.tcp);
    UNLOCK_TCPIP_CORE();
}

static void do_word(char *word)
{
    char *value = strchr(word, ':');
    if (value) *value++ = 0;
    if (!strcmp(word, "write")) do_write(atol(value));
    else if (!strcmp(word, "read")) do_read(strcmp(value, "eof") ? atol(value) : INT32_MAX);
    else if (!strcmp(word, "pause")) do_pause(value);
    else if (!strcmp(word, "nodelay")) do_nodelay(atoi(value));
    else if (!strcmp(word, "end")) check(netconn_shutdown(connection, 0, 1), "end");
    else if (!strcmp(word, "background-read")) { reading = 1; start(read_always, NULL); }
    else { errno = EINVAL; die(word); }
}

static void run_words(const char *at)
{
    char word[64];
    for (int taken; sscanf(at, " %63s%n", word, &taken) == 1; at += taken) do_word(word);
}

/* -- the connection -------------------------------------------------------- */

static void open_connection(int is_server, const char *to, int port)
{
    struct netconn *own = netconn_new(NETCONN_TCP);
    ip_addr_t end = IPADDR4_INIT(address(to).addr), client;
    u16_t client_end;
    if (!own) die("netconn_new");
    if (is_server) {
        check(netconn_bind(own, &end, port), "bind");
        check(netconn_listen(own), "listen");
    }
    puts("ready");
    fflush(stdout);
    check(is_server ? netconn_accept(own, &connection) : netconn_connect(own, &end, port), "open");
    if (!is_server) connection = own;
    check(netconn_getaddr(connection, &client, &client_end, !is_server), "getaddr");
    client_port = client_end;
    note(now_ns(), "open %d", port);
}

static void close_connection(void)
{
    closing = 1;
    if (reading) {                      /* let the other side finish */
        check(netconn_shutdown(connection, 0, 1), "shutdown");
        while (reading) sleep_ns(1000000);
    }
    netconn_close(connection);
    sleep_ns(LINGER_NS);
}

int main(int argc, char **argv)
{
    if (argc != 11) { fprintf(stderr, "lwip_peer: see the top of lwip_peer.c\n"); return 2; }
    if (!(log_file = fopen(argv[2], "w"))) die(argv[2]);
    setvbuf(log_file, NULL, _IOFBF, 1 << 24);
    prctl(PR_SET_TIMERSLACK, 1);
    for (int i = 0; i < LONGEST_WRITE; i++) payload[i] = "nagle-scan lab\n"[i % 15];
    start_stack(argv[4], argv[6]);
    open_connection(!strcmp(argv[7], "listen"), argv[8], atoi(argv[9]));
    start(watch, NULL);
    run_words(argv[10]);
    close_connection();
    return fclose(log_file) != 0;
}
