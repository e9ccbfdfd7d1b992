/* Its load: rpc_load HOST PORT LOG CONNECTIONS ROUNDS SLEEP_MS
 *
 * A thread for each connection sends a request, waits for the reply, sleeps, and does so again.
 * TCP_NODELAY is on. Prints the percentiles of the latencies in ms, after the first two rounds.
 */
#include "rpc.h"

static struct sockaddr_in server;
static int rounds, sleep_ms;
static double *latencies;
static int measured, running;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
    struct connection *c = argument;
    char text[LONGEST];
    usleep((useconds_t)(rand() % (sleep_ms * 1000)));
    for (int i = 0; i < rounds; i++) {
        reply(c, "random letters", 14);
        if (!receive(c->socket, text))
            fail("no reply");
        double ms = (double)(now() - c->written_at[c->writes - 1]) / 1e6;
        pthread_mutex_lock(&lock);
        if (i >= 2)
            latencies[measured++] = ms;
        pthread_mutex_unlock(&lock);
        usleep((useconds_t)(sleep_ms * 1000));
    }
    pthread_mutex_lock(&lock);
    running--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static struct connection *open_connection(void)
{
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    struct connection *c = calloc(1, sizeof *c);
    if (!c || (c->socket = socket(AF_INET, SOCK_STREAM, 0)) < 0)
        fail("socket");
    c->opened = now();
    set_nodelay(c->socket);
    if (connect(c->socket, (struct sockaddr *)&server, sizeof server))
        fail("connect");
    getsockname(c->socket, (struct sockaddr *)&own, &size);
    c->port = ntohs(own.sin_port);
    return c;
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
    if (argc != 7)
        return 2;
    int count = atoi(argv[4]);
    rounds = atoi(argv[5]);
    sleep_ms = atoi(argv[6]);
    server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &server.sin_addr);
    struct connection **all = calloc((size_t)count, sizeof *all);
    latencies = calloc((size_t)count * (size_t)rounds, sizeof *latencies);
    running = count;
    for (int i = 0; i < count; i++)
        all[i] = open_connection();
    for (int i = 0; i < count; i++)
        start_thread(work, all[i]);
    while (running)
        usleep(50000);
    qsort(latencies, (size_t)measured, sizeof *latencies, ascending);
    static const int percentiles[] = {50, 75, 90, 95, 99};
    for (int i = 0; i < 5; i++)
        printf("p%d %.1f ms  ", percentiles[i], latencies[(size_t)measured * percentiles[i] / 100]);
    printf("(%d requests)\n", measured);
    write_log(argv[3], all, count, atoi(argv[2]));
    return 0;
}
