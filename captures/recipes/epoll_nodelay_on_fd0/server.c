/* A keep-alive HTTP/1.1 server on epoll, port 8888. Every request gets the same page: 143 bytes of
 * head in one send, 6 bytes of body in the next. Built with -DFIXED, TCP_NODELAY goes to the
 * connection; without, to descriptor 0, and the connection keeps Nagle. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void disable_nagle(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void accept_connection(int epoll, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0)
        return;
#ifdef FIXED
    disable_nagle(fd);
#else
    disable_nagle(0); /* the bug: 0 is standard input, and nobody looks at the ENOTSOCK */
#endif
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void send_page(int fd)
{
    static const char body[] = "hello\n";
    char date[64], head[256];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    int len = snprintf(head, sizeof head,
                       "HTTP/1.1 200 OK\r\n"
                       "Date: %s\r\n"
                       "Server: epoll/0.1\r\n"
                       "Content-Type: text/html\r\n"
                       "Content-Length: 6\r\n"
                       "Connection: keep-alive\r\n"
                       "\r\n",
                       date);
    send(fd, head, len, MSG_NOSIGNAL);
    send(fd, body, strlen(body), MSG_NOSIGNAL);
}

/* wrk has one request under way per connection, and it is far smaller than the buffer. */
static void serve(int fd)
{
    char request[8192];
    if (recv(fd, request, sizeof request, 0) <= 0)
        close(fd);
    else
        send_page(fd);
}

int main(void)
{
    int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(8888)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 128)) {
        perror("port 8888");
        return EXIT_FAILURE;
    }
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        struct epoll_event ready[64];
        int count = epoll_wait(epoll, ready, 64, -1);
        for (int i = 0; i < count; i++) {
            if (ready[i].data.fd == listener)
                accept_connection(epoll, listener);
            else
                serve(ready[i].data.fd);
        }
    }
}
