/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Lines taken apart, filled in by hand as the LogFormat compiler would, for
 * tests of what becomes of them. */
#ifndef KA_TEST_LOGLINES_H
#define KA_TEST_LOGLINES_H

#include "unit.h"

#include "sources/log_classify.h"

#define BIT KA_LF_BIT

#define COMBINED                                                               \
    (BIT(KA_LF_HOST) | BIT(KA_LF_BEGIN) | BIT(KA_LF_REQUEST)                   \
     | BIT(KA_LF_STATUS) | BIT(KA_LF_BODY_BYTES) | BIT(KA_LF_USER_AGENT))

static const char firefox[] = "Mozilla/5.0 (X11; Linux x86_64; rv:107.0) "
                              "Gecko/20100101 Firefox/107.0";
static const char chrome[] = "Mozilla/5.0 (X11; Linux x86_64) Chrome/98.0";

static inline ka_str str(const char *text)
{
    return (ka_str){text, text ? strlen(text) : 0};
}

/* A line that tells nothing but its start. */
static inline ka_logline empty_line(void)
{
    return (ka_logline){.begin_us = 1700000000 * INT64_C(1000000),
                        .end_us = -1,
                        .service_us = -1,
                        .first_byte_us = -1,
                        .body_bytes = -1,
                        .bytes_in = -1,
                        .bytes_out = -1,
                        .pid = -1,
                        .tid = -1,
                        .remote_port = -1,
                        .local_port = -1,
                        .status = -1,
                        .keepalives = -1};
}

static inline ka_logline combined_line(const char *host, const char *request,
                                int status, const char *agent)
{
    ka_logline line = empty_line();

    line.host = str(host);
    line.request = str(request);
    line.status = status;
    line.user_agent = str(agent);
    return line;
}

static inline ka_classifier *classifier(void **state, uint64_t fields)
{
    return ka_classifier_make(fields, NULL, 0, 0, *state);
}

/* The line must be kept. */
static inline ka_request kept(ka_classifier *self, ka_logline line)
{
    ka_request request;
    ka_excluded why;

    if (!ka_classify(self, &request, &why, &line)) {
        fail_msg("excluded as %s", ka_excluded_name(why));
    }
    return request;
}

/* In place of a ka_excluded: the request is kept. */
#define KEPT KA_EXCLUDED_N

#endif
