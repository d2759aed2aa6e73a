/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Writes a reproducible access log of browsing sessions, for benchmarks:
 *
 *     gen_log LINES CLIENTS [SEED [SHAPE]] > access.log
 *
 * Each client comes for a few pages: a burst of files within a second, then a
 * think time; later it comes back.  SHAPE is one of
 *
 *     sorted    (default) combined format, in order of time
 *     shuffled  the same, lines 5,000 places from theirs in the mean
 *     distinct  every line is a client of its own, 100,000 lines a second
 *     ports     sorted, with the LogFormat that kaadvisor recommends
 *
 * The same arguments give the same bytes on any machine.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BEGIN_S 1700000000
#define SHUFFLE 5000
#define LINE_SIZE 640
#define FILES 8

static uint64_t state;

static uint64_t next(uint64_t *of)
{
    uint64_t z = (*of += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t draw(void)
{
    return next(&state);
}

static uint64_t below(uint64_t n)
{
    return draw() % n;
}

static double unit(void)
{
    return ((double)(draw() >> 11) + 0.5) * 0x1p-53;
}

/* Log-normal with a median of seven seconds or so: think times. */
static double think(void)
{
    double normal = sqrt(-2 * log(unit())) * cos(2 * M_PI * unit());

    return exp(2 + 1.2 * normal);
}

/* ---- sessions: a heap by time -------------------------------------------- */

typedef struct visit {
    double at;
    uint32_t client;
    uint32_t pages;
} visit;

static visit *heap;
static size_t heap_n;

static void push(visit v)
{
    size_t at = heap_n++;

    while (at && v.at < heap[(at - 1) / 2].at) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = v;
}

static visit pop(void)
{
    visit first = heap[0], last = heap[--heap_n];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < heap_n) {
        if (child + 1 < heap_n && heap[child + 1].at < heap[child].at) {
            child++;
        }
        if (heap[child].at >= last.at) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* ---- lines --------------------------------------------------------------- */

static const char *const agents[] = {
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, "
    "like Gecko) Chrome/120.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) "
    "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2 Mobile/15E148 "
    "Safari/604.1",
};

static const char *stamp_of(int64_t second)
{
    static int64_t of = -1;
    static char text[32];

    if (second != of) {
        const time_t at = (time_t)second;
        struct tm tm;

        gmtime_r(&at, &tm);
        strftime(text, sizeof(text), "%d/%b/%Y:%H:%M:%S +0000", &tm);
        of = second;
    }
    return text;
}

static void path_of(char *path, size_t size, size_t file)
{
    switch (file) {
    case 0:
        snprintf(path, size, "/page/%u", (unsigned)(1 + below(9999)));
        break;
    case 1:
        snprintf(path, size, "/app.js");
        break;
    case 2:
        snprintf(path, size, "/logo.png");
        break;
    case 3:
        snprintf(path, size, "/photo-%u.jpg", (unsigned)(1 + below(999)));
        break;
    case 4:
        snprintf(path, size, "/font.woff2");
        break;
    default:
        snprintf(path, size, "/style.css");
    }
}

typedef struct request {
    double at;
    uint32_t client;
    size_t file;
} request;

static int combined(char *line, const request *r)
{
    char path[32];

    path_of(path, sizeof(path), r->file);
    return snprintf(line, LINE_SIZE,
                    "%u.%u.%u.%u - - [%s] \"GET %s HTTP/1.1\" 200 %u "
                    "\"https://www.example.com/\" \"%s\"\n",
                    10 + (r->client >> 24), r->client >> 16 & 255,
                    r->client >> 8 & 255, r->client & 255,
                    stamp_of((int64_t)r->at), path,
                    (unsigned)(200 + below(90000)), agents[r->client % 3]);
}

/* A client has one connection a visit; its port follows from both. */
static int with_ports(char *line, const request *r)
{
    const int64_t us = (int64_t)(r->at * 1e6);
    const unsigned port = 1024 + (r->client * 7919u + (unsigned)(us >> 28)) %
                                     60000;
    char path[32];

    path_of(path, sizeof(path), r->file);
    return snprintf(line, LINE_SIZE,
                    "%u.%u.%u.%u %u %u.%u.%u.%u %lld %u %u + HTTP/1.1 200 %u "
                    "%u %u www.example.com \"GET %s HTTP/1.1\" \"%s\"\n",
                    10 + (r->client >> 24), r->client >> 16 & 255,
                    r->client >> 8 & 255, r->client & 255, port,
                    10 + (r->client >> 24), r->client >> 16 & 255,
                    r->client >> 8 & 255, r->client & 255, (long long)us,
                    (unsigned)(500 + below(4000)), (unsigned)r->file,
                    (unsigned)(200 + below(90000)), 1000 + r->client % 16,
                    2000 + r->client % 25, path, agents[r->client % 3]);
}

typedef int line_fn(char *line, const request *r);

/* Lines that wait to be written in another order. */
static char (*waiting)[LINE_SIZE];

/* The order is drawn apart, so that the same lines are in any. */
static void put(const char *line, bool shuffled)
{
    static uint64_t order = 1;
    static size_t n;
    size_t at = n;

    if (!shuffled) {
        fputs(line, stdout);
        return;
    }
    if (n < SHUFFLE) {
        n++;
    }
    else {
        at = next(&order) % SHUFFLE;
        fputs(waiting[at], stdout);
    }
    strcpy(waiting[at], line);
}

static uint64_t put_visit(const visit *v, uint64_t left, line_fn *print,
                          bool shuffled)
{
    const uint64_t n = 1 + below(FILES);
    char line[LINE_SIZE];
    uint64_t i;

    for (i = 0; i < n && i < left; i++) {
        const request r = {.at = v->at + (double)i * 0.03,
                           .client = v->client,
                           .file = i};

        print(line, &r);
        put(line, shuffled);
    }
    return i;
}

static void browse(uint64_t lines, uint64_t clients, line_fn *print,
                   bool shuffled)
{
    uint64_t i;

    heap = malloc((clients + 1) * sizeof(*heap));
    if (!heap) {
        exit(1);
    }
    for (i = 0; i < clients; i++) {
        push((visit){BEGIN_S + unit() * (double)lines / 100, (uint32_t)i,
                     1 + (uint32_t)below(6)});
    }
    for (i = 0; i < lines;) {
        visit v = pop();

        i += put_visit(&v, lines - i, print, shuffled);
        if (v.pages > 1) {
            v.pages--;
            v.at += think();
        }
        else {
            v.pages = 1 + (uint32_t)below(6);
            v.at += 600 - 7200 * log(unit());
        }
        push(v);
    }
    free(heap);
}

static void distinct(uint64_t lines)
{
    char line[LINE_SIZE];
    uint64_t i;

    for (i = 0; i < lines; i++) {
        const request r = {.at = BEGIN_S + (double)(i / 100000),
                           .client = (uint32_t)i,
                           .file = i % FILES};

        combined(line, &r);
        put(line, false);
    }
}

int main(int argc, char **argv)
{
    const uint64_t lines = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
    const uint64_t clients = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    const char *shape = argc > 4 ? argv[4] : "sorted";
    size_t i;

    if (!lines || !clients) {
        fprintf(stderr, "usage: gen_log LINES CLIENTS [SEED [sorted|shuffled|"
                        "distinct|ports]]\n");
        return 2;
    }
    state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (!strcmp(shape, "distinct")) {
        distinct(lines);
        return fflush(stdout) ? 1 : 0;
    }
    waiting = calloc(SHUFFLE, sizeof(*waiting));
    if (!waiting) {
        return 1;
    }
    browse(lines, clients, strcmp(shape, "ports") ? combined : with_ports,
           !strcmp(shape, "shuffled"));
    for (i = 0; i < SHUFFLE && waiting[i][0]; i++) {
        fputs(waiting[i], stdout);
    }
    free(waiting);
    return fflush(stdout) ? 1 : 0;
}
