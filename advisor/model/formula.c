/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The formula is kept as the document has it, its faults included: they are
 * what ka_formula_why_it_differs explains.
 */
#include "formula.h"

#include <math.h>
#include <stdio.h>

/* The largest double that still fits an int64_t. */
#define BYTES_MAX 9223372036854774784.0

static bool is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

static bool inputs_valid(const ka_formula *f)
{
    return is_amount(f->timeout_s) && is_amount(f->requests_per_s) &&
           is_amount(f->keepalive_requests) && f->process_bytes >= -1 &&
           (f->timeout_s == 0 || f->keepalive_requests > 0);
}

static int64_t memory_of(double processes, int64_t process_bytes)
{
    double bytes = processes * (double)process_bytes;

    if (process_bytes < 0) {
        return -1;
    }
    return bytes < BYTES_MAX ? (int64_t)(bytes + 0.5) : INT64_MAX;
}

apr_status_t ka_formula_compute(ka_formula *f)
{
    double processes;

    if (!inputs_valid(f)) {
        return APR_EINVAL;
    }
    processes = f->requests_per_s;
    if (f->timeout_s > 0) {
        processes *= f->timeout_s / f->keepalive_requests;
    }
    if (!isfinite(processes)) {
        return APR_EINVAL;
    }
    f->processes = processes;
    f->memory_bytes = memory_of(processes, f->process_bytes);
    f->keepalive_pays = f->keepalive_requests > f->timeout_s;
    return APR_SUCCESS;
}

const char *ka_formula_rule(char *buffer, size_t size, const ka_formula *f)
{
    if (f->timeout_s == 0) {
        return "Without a KeepAliveTimeout the rule has nothing to compare: "
               "the formula then takes the requests per second as the number "
               "of processes, as if every request kept its process for one "
               "second.";
    }
    if (buffer == NULL || size == 0) {
        return "";
    }
    snprintf(buffer, size,
             "The classic rule: KeepAlive Off pays when the mean keep-alive "
             "requests do not exceed the KeepAliveTimeout in seconds. Here "
             "%.3g against %.3g: KeepAlive %s pays. But it compares requests "
             "with seconds, and holds only where a request without KeepAlive "
             "keeps its process for one second.",
             f->keepalive_requests, f->timeout_s,
             f->keepalive_pays ? "On" : "Off");
    return buffer;
}

const char *ka_formula_why_it_differs(bool keepalive_off)
{
    if (keepalive_off) {
        return "With KeepAlive Off the formula puts a rate, requests per "
               "second, where a number of processes belongs, which is right "
               "only if each request keeps its process for exactly one "
               "second. The full model takes the time that each request in "
               "your traffic really took, so it needs fewer processes than "
               "the formula where responses are fast and more where they are "
               "slow. The formula is also an average: it holds no reserve "
               "for peaks, which the full model sizes for.";
    }
    return "The formula counts only the last wait of each connection, the one "
           "that KeepAliveTimeout ends. It leaves out the time spent serving "
           "requests, the pauses between requests on the same connection and "
           "the slow closing of connections, so it is too low where clients "
           "wait for the server to close; and it is too high where clients "
           "close by themselves as soon as they are done. The requests per "
           "connection that it divides by change with the timeout, so a "
           "figure measured at one timeout misleads at another. And it gives "
           "an average, while MaxRequestWorkers has to hold the peak, which "
           "is often about twice as high when visitors come in bursts. The "
           "full model counts every pause and every request of your traffic "
           "at each timeout instead.";
}
