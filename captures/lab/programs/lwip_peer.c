/* lwip_peer: connects file descriptor 0, a seqpacket socket, with a TCP connection of lwIP.
 *
 *   lwip_peer TUN OWN-ADDRESS nagle|nodelay 0 listen|connect ADDRESS PORT
 *
 * Each message is one write to the connection. Prints "ready", then the client's port. lwIP is
 * Debian's liblwip as it is packaged: a timer beats every 250 ms and sends the ACKs that wait then.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <lwip/api.h>
#include <lwip/netif.h>
#include <lwip/tcp.h>
#include <lwip/tcpip.h>

enum { LONGEST_WRITE = 1 << 18, MTU = 1500 };
#define LINGER_US 300000     /* lwIP ends the connection by itself, and dies with the program */

static int tun;
static struct netconn *connection;

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

static ip4_addr_t address(const char *text)
{
    ip4_addr_t parsed;
    if (!ip4addr_aton(text, &parsed)) { errno = EINVAL; die(text); }
    return parsed;
}

static void start_stack(const char *tun_name, const char *own)
{
    static struct netif interface;
    pthread_t receiver;
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    ip4_addr_t mine = address(own), mask = address("255.255.255.0"), gateway = mine;
    ip4_addr_set_u32(&gateway, (ip4_addr_get_u32(&mine) & ip4_addr_get_u32(&mask)) | lwip_htonl(1));
    strncpy(request.ifr_name, tun_name, IFNAMSIZ - 1);
    if ((tun = open("/dev/net/tun", O_RDWR)) < 0 || ioctl(tun, TUNSETIFF, &request) < 0) die(tun_name);
    tcpip_init(NULL, NULL);
    LOCK_TCPIP_CORE();
    if (!netif_add(&interface, &mine, &mask, &gateway, NULL, start_interface, tcpip_input)) die("netif_add");
    netif_set_default(&interface);
    netif_set_link_up(&interface);
    netif_set_up(&interface);
    UNLOCK_TCPIP_CORE();
    if (pthread_create(&receiver, NULL, receive_packets, &interface)) die("pthread_create");
}

/* -- the connection -------------------------------------------------------- */

static void open_connection(int is_server, const char *to, int port, int nodelay)
{
    struct netconn *own = netconn_new(NETCONN_TCP);
    ip_addr_t end = IPADDR4_INIT(address(to).addr), client;
    u16_t client_port;
    if (!own) die("netconn_new");
    if (is_server) {
        check(netconn_bind(own, &end, port), "bind");
        check(netconn_listen(own), "listen");
    }
    puts("ready");
    fflush(stdout);
    check(is_server ? netconn_accept(own, &connection) : netconn_connect(own, &end, port), "open");
    if (!is_server) connection = own;
    LOCK_TCPIP_CORE();
    if (nodelay) tcp_nagle_disable(connection->pcb.tcp);
    UNLOCK_TCPIP_CORE();
    check(netconn_getaddr(connection, &client, &client_port, !is_server), "getaddr");
    printf("%d\n", client_port);
    fflush(stdout);
}

static void *receive_data(void *unused)
{
    for (struct pbuf *data; netconn_recv_tcp_pbuf(connection, &data) == ERR_OK; pbuf_free(data))
        for (struct pbuf *part = data; part; part = part->next)
            if (send(0, part->payload, part->len, MSG_NOSIGNAL) < 0) return unused;
    shutdown(0, SHUT_WR);
    return unused;
}

int main(int argc, char **argv)
{
    static char message[LONGEST_WRITE];
    pthread_t receiver;
    if (argc != 8) { fprintf(stderr, "lwip_peer: see the top of lwip_peer.c\n"); return 2; }
    start_stack(argv[1], argv[2]);
    open_connection(!strcmp(argv[5], "listen"), argv[6], atoi(argv[7]), !strcmp(argv[3], "nodelay"));
    if (pthread_create(&receiver, NULL, receive_data, NULL)) die("pthread_create");
    for (ssize_t length; (length = recv(0, message, sizeof message, 0)) > 0;)
        check(netconn_write(connection, message, length, NETCONN_COPY), "write");
    check(netconn_shutdown(connection, 0, 1), "shutdown");
    pthread_join(receiver, NULL);
    netconn_close(connection);
    usleep(LINGER_US);
    return 0;
}
