/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_cfg_server: what a configuration means: settings, virtual hosts, access
 * logs with their formats, backends, the file of mod_kastats.  A pure function
 * of a ka_cfg_tree, wherever that came from.
 *
 * Precedence is httpd's: within a server the last directive wins; a virtual
 * host has what it does not set from the main server; a virtual host that has
 * no access log of its own writes the main server's.  All strings are owned by
 * the tree's pool.
 */
#ifndef KA_CONFIG_SERVER_H
#define KA_CONFIG_SERVER_H

#include "config_settings.h"

typedef struct ka_cfg_listen {
    const char *address;  /* as written: "80", "127.0.0.1:8080", "[::1]:80" */
    int port;             /* 0: cannot be told */
    const char *protocol; /* "https"; NULL if not given */
    const char *origin;
} ka_cfg_listen;

/* The main server is number 0, virtual hosts follow in their order. */
typedef struct ka_cfg_vhost {
    const char *name; /* ServerName without scheme and port; NULL: not set */
    apr_array_header_t *aliases;   /* of const char * */
    apr_array_header_t *addresses; /* of const char *: "*:443" as written */
    const char *origin;
    int node; /* of its section in the tree; KA_CFG_TOP of the main server */
    /* In force: a virtual host's own, else the main server's. */
    ka_fact keep_alive, max_keep_alive_requests, io_timeout;
    ka_fact keep_alive_timeout;  /* of its own configuration */
    ka_fact idle_timeout;        /* that in fact ends its idle connections: its
                      own if it sets one, else that of the first virtual host
                      of the same address */
    bool sets_timeout;
    int first_of_address;  /* index; its own if it is that */
    const char *error_log; /* its own, else the main server's; NULL: default */
    bool own_logs;         /* has access logs of its own */
    ka_fact tls;           /* SSLEngine, or listening with https; unknown if
                              nothing is said, which is off */
    ka_fact http2;         /* Protocols with h2 or h2c; the same */
    ka_fact kastats;       /* KAStats On|Off; unknown if not said */
} ka_cfg_vhost;

typedef enum ka_cfg_log_kind {
    KA_CFG_LOG_FILE,     /* path is the file */
    KA_CFG_LOG_STRFTIME, /* pattern with %Y and the like */
    KA_CFG_LOG_SECONDS,  /* pattern is followed by `.` and seconds */
    KA_CFG_LOG_NUMBERED, /* pattern, or pattern.1, pattern.2 ... in turn */
    KA_CFG_LOG_PIPE,     /* a program of which no file is known */
    KA_CFG_LOG_OTHER     /* syslog, journald: no file */
} ka_cfg_log_kind;

typedef struct ka_cfg_log {
    ka_cfg_log_kind kind;
    const char *target;  /* as configured, ${VAR} replaced */
    const char *path;    /* absolute: the file, or the pattern; else NULL */
    const char *link;    /* rotatelogs -L: a name of the newest file; NULL */
    const char *command; /* of a pipe, else NULL */
    const char *format;  /* the LogFormat string, quoting undone; never NULL */
    const char *nickname; /* by which the log names it; NULL */
    const char *condition; /* "env=..." or "expr=..."; NULL: every request */
    apr_array_header_t *vhosts; /* of int: those that write it, ascending */
    const char *origin;
    bool global;         /* GlobalLog: virtual hosts write it in any case */
} ka_cfg_log;

typedef enum ka_cfg_backend_kind {
    KA_CFG_BACKEND_HTTP,   /* http, https, h2, h2c, ws, wss */
    KA_CFG_BACKEND_AJP,
    KA_CFG_BACKEND_FCGI,   /* proxy:fcgi, php-fpm */
    KA_CFG_BACKEND_SCGI,   /* and uwsgi */
    KA_CFG_BACKEND_BALANCER,
    KA_CFG_BACKEND_FCGID,  /* mod_fcgid: processes of httpd's own */
    KA_CFG_BACKEND_PHP,    /* mod_php: inside httpd's children */
    KA_CFG_BACKEND_OTHER
} ka_cfg_backend_kind;

typedef struct ka_cfg_backend {
    ka_cfg_backend_kind kind;
    const char *url;      /* as configured; NULL for FCGID and PHP */
    const char *address;  /* "host:port" or the path of a socket; NULL */
    const char *balancer; /* "balancer://name" it is a member of; NULL */
    ka_fact max;          /* max=: connections a child; FcgidMaxProcesses */
    ka_fact timeout, ttl; /* timeout=, ttl= in us */
    ka_fact reuse;        /* enablereuse, disablereuse: 1 reused, 0 not */
    int vhost;
    const char *origin;
} ka_cfg_backend;

typedef struct ka_cfg_server {
    int32_t mpm; /* ka_mpm */
    const char *mpm_origin;
    ka_settings settings;       /* as httpd obeys them */
    apr_array_header_t *listens;  /* of ka_cfg_listen */
    apr_array_header_t *vhosts;   /* of ka_cfg_vhost; [0] the main server */
    apr_array_header_t *logs;     /* of ka_cfg_log */
    apr_array_header_t *backends; /* of ka_cfg_backend */
    const char *kastats_file;     /* KAStatsFile, absolute; NULL */
    const char *runtime_dir;      /* DefaultRuntimeDir, absolute; NULL */
    const char *pid_file;         /* absolute; NULL */
} ka_cfg_server;

/**
 * @param tree  gets a problem for each value that makes no sense
 * @param mpm   as told by the binary, with its origin; KA_MPM_UNKNOWN: by the
 *              modules of the tree
 */
ka_cfg_server *ka_cfg_interpret(ka_cfg_tree *tree, int32_t mpm,
                                const char *mpm_origin);

/** For people: "main server", "a.example", "*:443 (file:line)". */
const char *ka_cfg_vhost_label(const ka_cfg_server *server, int vhost,
                               apr_pool_t *pool);

/** The index of the vhost around a node; 0 for the main server. */
int ka_cfg_vhost_of(const ka_cfg_server *server, const ka_cfg_tree *tree,
                    int node);

/* Parts of ka_cfg_interpret, each in a file of its own. */
void ka_cfg_read_vhosts(ka_cfg_server *server, ka_cfg_tree *tree);
void ka_cfg_read_logs(ka_cfg_server *server, ka_cfg_tree *tree);
void ka_cfg_read_backends(ka_cfg_server *server, ka_cfg_tree *tree);

#endif
