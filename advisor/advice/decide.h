/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside advice/: the steps of ka_advise and what they share.
 *   answer      numbers of one MPM
 *   intervals   and how far they might have come out otherwise
 *   confidence  how far the data carries, and when it carries nothing
 *   directives  rows of advice
 *   group       what several servers ask of one configuration (group.h)
 *   warnings    what an operator must know besides
 *   verdict     the sentence at the top, and what to do next
 */
#ifndef KA_DECIDE_H
#define KA_DECIDE_H

#include <apr_tables.h>
#include "advise.h"

typedef struct ka_decision {
    ka_report *report;
    const ka_extra *extra;
    const ka_advise_options *options;
    apr_pool_t *pool;
    apr_array_header_t *advice;   /* of ka_advice */
    apr_array_header_t *warnings; /* of ka_warning */
    apr_array_header_t *next;     /* of const char * */
} ka_decision;

/* Share of requests whose service time must be known to count busy workers. */
#define KA_SERVICE_KNOWN_SHARE 0.5

/* How sentences speak of what the numbers come from. */
typedef struct ka_source_words {
    const char *kind;   /* of ka_source_info */
    const char *noun;   /* "log": the ... covers an hour */
    const char *longer; /* what to do where it is too little */
    const char *again;  /* what to do the day after */
    const char *no_seconds; /* why single seconds are not known, a clause */
} ka_source_words;

/** The words for the report's source; never NULL. */
const ka_source_words *ka_source_words_of(const ka_report *report);

/** Whether connections are known exactly, HTTP/2's too: by their port, or
 * counted by the server itself. */
bool ka_identity_is_exact(const ka_report *report);

/** Whether the log tells how long requests hold a worker. */
bool ka_service_known(const ka_profile *profile);

/** Whether few addresses send nearly everything on many-request connections:
 * a reverse proxy or load balancer in front (R1). */
bool ka_looks_proxied(const ka_profile *profile);

/** Workers that connections without a request hold in the mean, at most:
 * their number x RequestReadTimeout's default header time. [M6] */
double ka_no_request_workers(const ka_profile *profile);

/** The present MaxRequestWorkers, of a group the largest; httpd's default
 * where it is not known. */
int64_t ka_workers_now(const ka_report *report, ka_mpm mpm);

/** [M12]..[M14] for one timeout; of a bracket, on the side that needs more. */
ka_fit ka_fit_of(const ka_report *report, size_t timeout,
                 const ka_supply *supply);

/** The numbers of one MPM, side that does not run out of workers. */
ka_mpm_answer ka_answer(const ka_decision *d, ka_mpm mpm);

/** The same of an MPM that is not the present one: memory of its processes is
 * not known, and no size of it is compared with the memory there is. */
ka_mpm_answer ka_answer_beside(const ka_decision *d, ka_mpm mpm);

/** Mean requests of a connection under the answer's timeout, >= 1. */
double ka_requests_per_connection(const ka_report *report,
                                  const ka_mpm_answer *answer);

/** What is there and enough stays in an answer's block, of the present MPM. */
void ka_keep_enough(const ka_decision *d, ka_mpm_answer *answer);

/** The intervals of an answer's workers; of a report without, none. */
void ka_answer_intervals(const ka_decision *d, ka_mpm_answer *answer);

/** What intervals leave open, in half a sentence; NULL: nothing.  The number
 * may be another, `too` wide is by more than half of it; the knee's ends are
 * far apart. */
const char *ka_held_wide(const ka_report *report, apr_pool_t *pool);
const char *ka_held_too_wide(const ka_report *report, apr_pool_t *pool);
const char *ka_workers_wide(const ka_report *report, apr_pool_t *pool);
const char *ka_workers_too_wide(const ka_report *report, apr_pool_t *pool);
const char *ka_knee_wide(const ka_report *report, apr_pool_t *pool);

/** Confidence of the whole, why it is not high, and refusal; answers must be
 * there. */
void ka_judge_confidence(ka_decision *d);

/** Rows of advice for one answer. */
void ka_advise_directives(ka_decision *d, const ka_mpm_answer *answer);

/** What mod_kapolicy would do (R1, R7, R16): fills the report's policy. */
void ka_advise_policy(ka_decision *d);

/** Classes by themselves (R16, R17): fills the report's by_class; the policy
 * must be there. */
void ka_advise_classes(ka_decision *d);

/** Warnings of the whole. */
void ka_advise_warnings(ka_decision *d);

/** Verdict and next steps; the rows must be there. */
void ka_judge_verdict(ka_decision *d);

#endif
