/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * /proc/PID/net/tcp and tcp6.  There may be 100,000 lines: they are read one by
 * one, twice. */
#include "limits.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_hash.h>
#include <apr_strings.h>

#define PORTS 65536
#define REMOTE_SIZE 40
/* Destinations kept apart; a server has few backends. */
#define DESTINATIONS 10000

/* States of a socket as the kernel numbers them. */
enum {
    ESTABLISHED = 1,
    SYN_RECV = 3,
    TIME_WAIT = 6,
    CLOSE_WAIT = 8,
    LISTEN = 10
};

/* One line: `sl LOCAL:PORT REMOTE:PORT STATE TX:RX ... INODE`, in hex. */
typedef struct socket_line {
    unsigned local_port, state;
    unsigned long receive; /* LISTEN: connections that wait for accept() */
    unsigned long inode;
    char remote[REMOTE_SIZE]; /* "0100007F:1F90" */
} socket_line;

typedef struct destination {
    int64_t count;
    char remote[REMOTE_SIZE];
} destination;

typedef struct counting {
    ka_sockets *out;
    apr_pool_t *pool;
    int64_t low, high;   /* ephemeral ports */
    bool *ours;          /* ours[PORTS] */
    bool *listening;     /* listening[PORTS]: anybody's */
    apr_hash_t *inodes;  /* of the parent's sockets; NULL: not asked */
    apr_hash_t *remotes; /* "ADDRESS:PORT" -> destination */
} counting;

static bool parse_socket(socket_line *out, const char *line)
{
    char local[40];

    return sscanf(line,
                  " %*d: %39[0-9A-F]:%x %39[0-9A-F:] %x %*x:%lx %*x:%*x %*x "
                  "%*u %*d %lu",
                  local, &out->local_port, out->remote, &out->state,
                  &out->receive, &out->inode) == 6 &&
           out->local_port < PORTS;
}

static bool has_inode(const counting *c, unsigned long inode)
{
    return c->inodes && apr_hash_get(c->inodes, &inode, sizeof(inode)) != NULL;
}

static bool take_listener(void *context, char *line)
{
    counting *c = context;
    socket_line s;

    if (parse_socket(&s, line) && s.state == LISTEN) {
        c->listening[s.local_port] = true;
        if (has_inode(c, s.inode)) {
            c->ours[s.local_port] = true;
        }
    }
    return true;
}

static void count_ours(ka_sockets *out, const socket_line *s)
{
    int64_t *const counts[LISTEN] = {[ESTABLISHED] = &out->established,
                                     [SYN_RECV] = &out->syn_recv,
                                     [TIME_WAIT] = &out->time_wait,
                                     [CLOSE_WAIT] = &out->close_wait};

    if (s->state < LISTEN && counts[s->state]) {
        ++*counts[s->state];
    }
    if (s->state == LISTEN && (int64_t)s->receive > out->queue) {
        out->queue = (int64_t)s->receive;
    }
}

/* An ephemeral port is taken once for each destination. */
static void count_outgoing(counting *c, const socket_line *s)
{
    destination *to = apr_hash_get(c->remotes, s->remote, APR_HASH_KEY_STRING);

    if (!to) {
        if (apr_hash_count(c->remotes) >= DESTINATIONS) {
            return;
        }
        to = apr_pcalloc(c->pool, sizeof(*to));
        memcpy(to->remote, s->remote, sizeof(to->remote));
        apr_hash_set(c->remotes, to->remote, APR_HASH_KEY_STRING, to);
    }
    if (++to->count > c->out->outgoing) {
        c->out->outgoing = to->count;
        c->out->outgoing_to = to->remote;
    }
}

static bool take_socket(void *context, char *line)
{
    counting *c = context;
    socket_line s;

    if (!parse_socket(&s, line)) {
        return true;
    }
    if (c->ours[s.local_port]) {
        count_ours(c->out, &s);
    }
    else if (!c->listening[s.local_port] && s.local_port >= c->low &&
             s.local_port <= c->high) {
        count_outgoing(c, &s);
    }
    return true;
}

/* "0100007F:1F90" -> "127.0.0.1:8080": words of the address in the order of
 * this machine's bytes. */
static const char *address_of(apr_pool_t *pool, const char *remote)
{
    const char *colon = strchr(remote, ':');
    size_t words = colon ? (size_t)(colon - remote) / 8 : 0, i;
    char text[INET6_ADDRSTRLEN], word[9] = "";
    uint32_t bytes[4];

    if ((words != 1 && words != 4) || remote[words * 8] != ':') {
        return NULL;
    }
    for (i = 0; i < words; i++) {
        memcpy(word, remote + i * 8, 8);
        bytes[i] = (uint32_t)strtoul(word, NULL, 16);
    }
    inet_ntop(words == 1 ? AF_INET : AF_INET6, bytes, text, sizeof(text));
    return apr_psprintf(pool, words == 1 ? "%s:%lu" : "[%s]:%lu", text,
                        strtoul(colon + 1, NULL, 16));
}

/* Inodes of the sockets that a process has open; NULL if it may not be
 * looked at. */
static apr_hash_t *inodes_of(const char *root, int pid, apr_pool_t *pool)
{
    const char *path = apr_psprintf(pool, "%s/proc/%d/fd", root, pid);
    DIR *directory = opendir(path);
    struct dirent *entry;
    apr_hash_t *inodes;

    if (!directory) {
        return NULL;
    }
    inodes = apr_hash_make(pool);
    while ((entry = readdir(directory))) {
        char target[64];
        unsigned long inode;
        ssize_t n = readlinkat(dirfd(directory), entry->d_name, target,
                               sizeof(target) - 1);

        if (n <= 0) {
            continue;
        }
        target[n] = '\0';
        if (sscanf(target, "socket:[%lu]", &inode) == 1) {
            apr_hash_set(inodes, apr_pmemdup(pool, &inode, sizeof(inode)),
                         sizeof(inode), "");
        }
    }
    closedir(directory);
    return inodes;
}

static apr_status_t each_socket(const char *root, int pid, ka_procfs_line *take,
                                counting *c)
{
    char path[64];
    apr_status_t rv, rv6;

    snprintf(path, sizeof(path), "/proc/%d/net/tcp", pid);
    rv = ka_procfs_each_line(root, path, take, c);
    snprintf(path, sizeof(path), "/proc/%d/net/tcp6", pid);
    rv6 = ka_procfs_each_line(root, path, take, c);
    return rv6 ? rv : APR_SUCCESS;
}

static void list_ports(ka_sockets *out, const bool *ours)
{
    int port;

    for (port = 0; port < PORTS; port++) {
        if (ours[port]) {
            APR_ARRAY_PUSH(out->ports, int) = port;
        }
    }
}

static void find_ports(counting *c, const char *root, int pid, const int *ports,
                       size_t port_n)
{
    size_t i;

    for (i = 0; i < port_n; i++) {
        if (ports[i] > 0 && ports[i] < PORTS) {
            c->ours[ports[i]] = true;
        }
    }
    if (port_n == 0) {
        c->inodes = inodes_of(root, pid, c->pool);
        if (!c->inodes) {
            c->out->ports_missing =
                apr_psprintf(c->pool,
                             "/proc/%d/fd cannot be read, so the "
                             "ports it listens on are not known; run "
                             "as root",
                             pid);
        }
    }
    each_socket(root, pid, take_listener, c);
    list_ports(c->out, c->ours);
    if (!c->out->ports->nelts && !c->out->ports_missing) {
        c->out->ports_missing =
            apr_psprintf(c->pool, "process %d listens on no TCP port", pid);
    }
}

void ka_sockets_read(ka_sockets *out, const char *root, int pid,
                     const int *ports, size_t port_n, int64_t ports_low,
                     int64_t ports_high, apr_pool_t *pool)
{
    counting c = {.out = out,
                  .pool = pool,
                  .low = ports_low < 0 ? PORTS : ports_low,
                  .high = ports_high,
                  .ours = apr_pcalloc(pool, PORTS * sizeof(bool)),
                  .listening = apr_pcalloc(pool, PORTS * sizeof(bool)),
                  .remotes = apr_hash_make(pool)};

    *out = (ka_sockets){.origin =
                            apr_psprintf(pool, "/proc/%d/net/tcp, tcp6", pid),
                        .ports = apr_array_make(pool, 4, sizeof(int))};
    find_ports(&c, root, pid, ports, port_n);
    out->known = !each_socket(root, pid, take_socket, &c);
    if (out->outgoing_to) {
        out->outgoing_to = address_of(pool, out->outgoing_to);
    }
}
