/* relay: accepts connections, dials one onward for each, and forwards both ways until SIGTERM.
 *
 *   relay LISTEN_ADDRESS PORT FRONT_NODELAY DIAL_ADDRESS PORT BACK_NODELAY
 *
 * write_log.c, loaded into it, logs its writes.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in dial_address;
static int nodelay[2];

static void check(int failed, const char *what)
{
    if (!failed) return;
    perror(what);
    exit(1);
}

static struct sockaddr_in address(const char *host, const char *port)
{
    struct sockaddr_in parsed = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    check(inet_pton(AF_INET, host, &parsed.sin_addr) != 1, host);
    return parsed;
}

/* Forwards what has come from one end to the other; returns 0 once it has ended. */
static int forward(int from, int to)
{
    char data[16384];
    ssize_t got = recv(from, data, sizeof data, 0);
    for (ssize_t at = 0, sent; at < got; at += sent)
        if ((sent = send(to, data + at, got - at, MSG_NOSIGNAL)) < 0) return 0;
    if (got <= 0) shutdown(to, SHUT_WR);
    return got > 0;
}

static void *relay(void *front)
{
    struct pollfd ends[2] = {{.fd = (int)(long)front, .events = POLLIN}, {.events = POLLIN}};
    int back = ends[1].fd = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(back, (struct sockaddr *)&dial_address, sizeof dial_address), "connect");
    for (int side = 0; side < 2; side++)
        check(setsockopt(ends[side].fd, IPPROTO_TCP, TCP_NODELAY, &nodelay[side], sizeof(int)), "TCP_NODELAY");
    while ((ends[0].fd >= 0 || ends[1].fd >= 0) && poll(ends, 2, -1) > 0)
        for (int side = 0; side < 2; side++)
            if (ends[side].revents && !forward(ends[side].fd, side ? (int)(long)front : back)) ends[side].fd = -1;
    close((int)(long)front);
    close(back);
    return NULL;
}

int main(int argc, char **argv)
{
    check(argc != 7, "see the top of relay.c");
    struct sockaddr_in own = address(argv[1], argv[2]);
    dial_address = address(argv[4], argv[5]);
    nodelay[0] = atoi(argv[3]);
    nodelay[1] = atoi(argv[6]);
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    check(bind(listener, (struct sockaddr *)&own, sizeof own) || listen(listener, SOMAXCONN), "listen");
    puts("ready");
    fflush(stdout);
    for (;;) {
        pthread_t thread;
        long front = accept(listener, NULL, NULL);
        check(front < 0 || pthread_create(&thread, NULL, relay, (void *)front), "accept");
        pthread_detach(thread);
    }
}
