/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A log may span years, so there is no array of seconds: requests come in
 * order, which makes one running second enough, and empty ones are what is
 * left of the window.
 */
#include "profile_priv.h"

#define SECOND_US INT64_C(1000000)

int64_t ka_second_of(int64_t us)
{
    return us / SECOND_US - (us % SECOND_US < 0);
}

static void close_second(ka_seconds *s)
{
    if (s->count == 0) {
        return;
    }
    ka_hist_add(&s->counts, s->count);
    s->filled++;
    s->peak = s->count > s->peak ? s->count : s->peak;
    s->count = 0;
}

void ka_seconds_add(ka_seconds *s, int64_t begin_us)
{
    int64_t second = ka_second_of(begin_us);

    if (second != s->second) {
        close_second(s);
        s->second = second;
    }
    s->count++;
}

void ka_seconds_finish(ka_traffic *out, ka_seconds *s, int64_t first_us,
                       int64_t last_us)
{
    uint64_t all =
        (uint64_t)(ka_second_of(last_us) - ka_second_of(first_us)) + 1;

    close_second(s);
    if (all > s->filled) {
        ka_hist_add_n(&s->counts, 0, all - s->filled);
    }
    out->p99_per_s = ka_hist_quantile(&s->counts, 0.99);
    out->peak_per_s = (double)s->peak;
}
