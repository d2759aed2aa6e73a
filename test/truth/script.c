/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "visitors.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_LEN = 255 };

/* One more item at the end, zeroed. */
static void *append(void **items, size_t *n, size_t size)
{
    void *item;

    if ((*n & (*n - 1)) == 0) { /* 0, 1, 2, 4, 8 ...: it is full */
        *items = realloc(*items, (*n ? 2 * *n : 1) * size);
        if (*items == NULL) {
            perror("visitors");
            exit(1);
        }
    }
    item = (char *)*items + (*n)++ * size;
    memset(item, 0, size);
    return item;
}

static bool read_session(script *s, const char *line)
{
    session *new = append((void **)&s->sessions, &s->session_n, sizeof(*new));
    char address[INET_ADDRSTRLEN];

    new->first = s->page_n;
    return sscanf(line,
                  "session %" SCNd64 " %15s %d %d %" SCNd64 " %" SCNd64,
                  &new->start_us, address, &new->parallel, &new->lazy,
                  &new->close_us, &new->leave_us) == 6 &&
           inet_pton(AF_INET, address, &new->address) == 1 &&
           new->parallel > 0;
}

static bool read_page(script *s, const char *line)
{
    page *new = append((void **)&s->pages, &s->page_n, sizeof(*new));

    if (s->session_n == 0) {
        return false;
    }
    s->sessions[s->session_n - 1].n++;
    new->first = s->request_n;
    return sscanf(line, "page %" SCNd64 " %" SCNd64, &new->think_us,
                  &new->hint_us) == 2;
}

static bool read_request(script *s, const char *line)
{
    request *new =
        append((void **)&s->requests, &s->request_n, sizeof(*new));

    if (s->page_n == 0) {
        return false;
    }
    s->pages[s->page_n - 1].n++;
    return sscanf(line, "get %d %" SCNd64 " %63s", &new->stage, &new->rate,
                  new->path) == 3;
}

static bool read_line(script *s, const char *line)
{
    static const struct {
        const char *word;
        bool (*read)(script *, const char *);
    } kinds[] = {{"session ", read_session},
                 {"page ", read_page},
                 {"get ", read_request}};
    size_t i;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strncmp(line, kinds[i].word, strlen(kinds[i].word)) == 0) {
            return kinds[i].read(s, line);
        }
    }
    return false;
}

bool script_read(script *s, const char *path)
{
    char line[LINE_MAX_LEN + 1];
    unsigned number = 0;
    bool ok = true;
    FILE *f = fopen(path, "r");

    if (f == NULL) {
        perror(path);
        return false;
    }
    while (ok && fgets(line, sizeof(line), f)) {
        number++;
        ok = read_line(s, line);
    }
    fclose(f);
    if (!ok) {
        fprintf(stderr, "%s:%u: not understood: %s", path, number, line);
    }
    return ok;
}
