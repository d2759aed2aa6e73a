/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Inside advice/: virtual hosts of the traffic, and of the configuration. */
#ifndef KA_VHOSTS_H
#define KA_VHOSTS_H

#include "decide.h"

/* Sections that are looked at for one name: http and https, and a few. */
#define KA_VHOST_SECTIONS 8

/* What the traffic of one virtual host asks for, against the timeout that is
 * proposed for all. */
typedef enum ka_vhost_ask {
    KA_VHOST_SAME,    /* the same, or nothing that is worth a line */
    KA_VHOST_FEW,     /* too few requests to judge */
    KA_VHOST_SHORTER, /* frees at least KA_VHOST_WORTH of the workers that are
                         held; not on event, where idle ones hold none */
    KA_VHOST_LONGER,  /* saves at least KA_VHOST_WORTH of what is opened, and
                         the whole server would fit even with it */
    KA_VHOST_OFF      /* hardly any of its requests is followed by another */
} ka_vhost_ask;

/* Of all that is held, or opened: less is not worth a line. */
#define KA_VHOST_WORTH 0.05

typedef struct ka_vhost_choice {
    ka_vhost_ask ask;
    size_t index;      /* of its timeout in the report's */
    double idle_now;   /* idle connections at the common timeout */
    double idle_mean;  /* at its own */
    double reuse_now, reuse; /* the same of its reuse */
    double opens_less; /* connections a second fewer */
    size_t section_n;  /* of the configuration; 0: not known */
    int sections[KA_VHOST_SECTIONS];
} ka_vhost_choice;

/**
 * Judges one virtual host of the profile under one answer.
 * A shorter timeout takes at most `delta` of its requests their reuse [M18].
 * A longer one is only asked for where the whole server fits at it: what is
 * held under a mixture is never more than under its longest timeout.
 */
ka_vhost_choice ka_vhost_judge(const ka_decision *d,
                               const ka_mpm_answer *answer,
                               const ka_traffic *vhost);

/** The KeepAliveTimeout in force for its sections, if all have one and the
 * same; else a fact that is not known. */
ka_fact ka_vhost_timeout(const ka_decision *d, const ka_vhost_choice *choice);

/** Whether several virtual hosts have traffic, and are judged apart. */
bool ka_vhosts_several(const ka_report *report);

/* Rows of the table of warnings (warnings.c); each NULL if it finds nothing. */
const char *ka_warn_vhosts(const ka_decision *d);
const char *ka_warn_vhost_overrides(const ka_decision *d);
const char *ka_warn_vhost_first(const ka_decision *d);
const char *ka_warn_vhost_zero(const ka_decision *d);
const char *ka_warn_below_second(const ka_decision *d);

#endif
