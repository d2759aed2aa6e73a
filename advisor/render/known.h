/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What a report cannot know, though a number stands in its place: a log
 * without service times has busy times of 0.  Renderers print "?" and null
 * there, never the 0. */
#ifndef KA_KNOWN_H
#define KA_KNOWN_H

#include "../advice/report.h"

/** Some request's service time was observed, or there was no request. */
static inline bool ka_busy_known(const ka_report *report)
{
    return report->profile->with_service > 0 ||
           report->profile->total.requests == 0;
}

/** Workers needed at a timeout.  On event, and with KeepAlive Off, these are
 * busy ones only; elsewhere idle connections give a number even where busy
 * ones are not known. */
static inline bool ka_workers_known(const ka_report *report,
                                    const ka_mpm_answer *answer, size_t timeout)
{
    return answer->fits &&
           (ka_busy_known(report) ||
            (answer->mpm != KA_MPM_EVENT &&
             report->low[timeout].timeout_us != KA_TIMEOUT_OFF));
}

#endif
