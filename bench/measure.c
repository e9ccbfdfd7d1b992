/*
 * Runs a command and writes what it cost.
 *
 *   measure RESULT COMMAND [ARGUMENT...]
 *
 * RESULT becomes one line: wall s, user + system CPU s, peak resident KiB, page faults. The exit status
 * is the command's. Not done from Python, because a child's peak starts at its parent's size (Linux keeps
 * ru_maxrss across exec): everything below some 14 MiB would look alike.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_since_boot(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static int run(char **command, struct rusage *usage)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, usage) < 0)
        return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    struct rusage usage = {0};
    FILE *result = argc > 2 ? fopen(argv[1], "w") : NULL;
    if (result == NULL) {
        fprintf(stderr, "usage: measure RESULT COMMAND [ARGUMENT...]\n");
        return 2;
    }
    double start_s = seconds_since_boot();
    int status = run(argv + 2, &usage);
    double wall_s = seconds_since_boot() - start_s;
    double cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    fprintf(result, "%.6f %.6f %ld %ld\n", wall_s, cpu_s, usage.ru_maxrss, usage.ru_minflt);
    return fclose(result) == 0 ? status : 2;
}
