/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From slots to a ka_logline: one table says where each field goes; the time
 * items are added up to a start and an end. */
#include "logformat_priv.h"

#define SECOND_US INT64_C(1000000)

/* A counter beyond it is no time but a value blotted out (99999...). */
#define YEAR_2200_US (INT64_C(7258118400) * SECOND_US)

/* A date and a counter of the same moment differ by the fraction at most; by
 * a zone if the date does not name its own. */
#define SAME_US (2 * SECOND_US)
#define SAME_ZONELESS_US (INT64_C(26) * 3600 * SECOND_US)

/* ---- fields ----------------------------------------------------------- */

#define INTO(kind, member, max) { kind, offsetof(ka_logline, member), max }
#define INTO_TEXT(member) INTO(KA_TARGET_TEXT, member, 0)
#define INTO_INT64(member) INTO(KA_TARGET_INT64, member, INT64_MAX)
#define INTO_INT32(member, max) INTO(KA_TARGET_INT32, member, max)

const ka_lf_target ka_lf_targets[KA_LF_FIELDS] = {
    [KA_LF_HOST] = INTO_TEXT(host),
    [KA_LF_CLIENT] = INTO_TEXT(client),
    [KA_LF_PEER] = INTO_TEXT(peer),
    [KA_LF_REMOTE_PORT] = INTO_INT32(remote_port, 65535),
    [KA_LF_LOCAL_PORT] = INTO_INT32(local_port, 65535),
    [KA_LF_FIRST_BYTE] = INTO_INT64(first_byte_us),
    [KA_LF_REQUEST] = INTO_TEXT(request),
    [KA_LF_METHOD] = INTO_TEXT(method),
    [KA_LF_URI] = INTO_TEXT(uri),
    [KA_LF_QUERY] = INTO_TEXT(query),
    [KA_LF_PROTOCOL] = INTO_TEXT(protocol),
    [KA_LF_STATUS] = INTO_INT32(status, 999),
    [KA_LF_KEEPALIVES] = INTO_INT32(keepalives, INT32_MAX),
    [KA_LF_CONN_STATUS] = INTO(KA_TARGET_SIGN, conn_status, 0),
    [KA_LF_BODY_BYTES] = INTO_INT64(body_bytes),
    [KA_LF_BYTES_IN] = INTO_INT64(bytes_in),
    [KA_LF_BYTES_OUT] = INTO_INT64(bytes_out),
    [KA_LF_PID] = INTO_INT64(pid),
    [KA_LF_TID] = INTO_INT64(tid),
    [KA_LF_VHOST] = INTO_TEXT(vhost),
    [KA_LF_HANDLER] = INTO_TEXT(handler),
    [KA_LF_USER_AGENT] = INTO_TEXT(user_agent),
    [KA_LF_UNIQUE_ID] = INTO_TEXT(unique_id),
    [KA_LF_TLS_PROTOCOL] = INTO_TEXT(tls_protocol)
};

/* Member by member: a copy of a blank one would be done with `rep movs`, which
 * takes its time to start. */
void ka_lf_clear(ka_logline *out)
{
    const ka_str none = {NULL, 0};

    out->begin_us = out->end_us = out->service_us = out->first_byte_us = -1;
    out->host = out->client = out->peer = none;
    out->request = out->method = out->uri = out->query = out->protocol = none;
    out->vhost = out->handler = out->user_agent = none;
    out->unique_id = out->tls_protocol = none;
    out->body_bytes = out->bytes_in = out->bytes_out = -1;
    out->pid = out->tid = -1;
    out->remote_port = out->local_port = -1;
    out->status = out->keepalives = -1;
    out->conn_status = '\0';
}

static void put_text(ka_str *out, const char *at, size_t length)
{
    if (length != 1 || *at != '-') {
        *out = (ka_str){ at, length };
    }
}

/* %U%q: the query begins at the first question mark. */
static void put_query(ka_logline *out, const ka_lf_step *step,
                      const ka_lf_slot *slot)
{
    size_t n = 0;

    while (n < slot->length && slot->at[n] != '?') {
        n++;
    }
    if (step->field != KA_LF_OTHER) {
        put_text((ka_str *)((char *)out + ka_lf_targets[step->field].offset),
                 slot->at, n);
    }
    out->query = (ka_str){ slot->at + n, slot->length - n };
}

/* Values that are absent leave what an item of lower rank has put. */
static void put(ka_logline *out, const ka_lf_step *step, const ka_lf_slot *slot)
{
    const ka_lf_target *t = &ka_lf_targets[step->field];
    char *into = (char *)out + t->offset;
    bool absent = slot->number < 0 || slot->number > t->max;

    switch (t->kind) {
    case KA_TARGET_TEXT:
        put_text((ka_str *)into, slot->at, slot->length);
        break;
    case KA_TARGET_INT64:
        if (!absent) {
            *(int64_t *)into = slot->number;
        }
        break;
    case KA_TARGET_INT32:
        if (!absent) {
            *(int32_t *)into = (int32_t)slot->number;
        }
        break;
    case KA_TARGET_SIGN:
        if (*slot->at != '-' || !step->conditional) {
            *into = *slot->at;
        }
        break;
    case KA_TARGET_NONE:
    default:
        break;
    }
}

/* ---- moments ---------------------------------------------------------- */

/* What the items of the start, or of the end, tell on this line. */
typedef struct moment {
    unsigned have;                       /* bits by ka_lf_time */
    int64_t value[KA_LT_USEC_FRAC + 1];  /* undefined without their bit */
    ka_time_parts parts;
    const ka_lf_step *parts_step;        /* the first one */
} moment;

/* Per line, so no more than what is looked at first. */
static void moment_clear(moment *m)
{
    m->have = 0;
    m->parts.have = 0;
    m->parts_step = NULL;
}

static bool has(const moment *m, ka_lf_time time)
{
    return m->have >> time & 1;
}

static void put_time(moment *m, const ka_lf_step *step, const ka_lf_slot *slot)
{
    if (step->time == KA_LT_PARTS) {
        if (slot->length > 0) {
            /* It matched before; now its parts are kept. */
            ka_time_format_match(&m->parts, step->format, slot->at,
                                 slot->length);
            m->parts_step = m->parts_step ? m->parts_step : step;
            m->have |= 1u << KA_LT_PARTS;
        }
    }
    else if (slot->number >= 0
             || (step->time == KA_LT_CLF && slot->number != INT64_MIN)) {
        m->value[step->time] = slot->number;
        m->have |= 1u << step->time;
    }
}

/* The finest counter that is a plausible time.  @return -1: none */
static int64_t counter_us(int64_t *unit_us, const moment *m, int64_t limit_us)
{
    static const struct {
        ka_lf_time time;
        int64_t unit_us;
    } counters[] = { { KA_LT_USEC, 1 }, { KA_LT_MSEC, 1000 },
                     { KA_LT_SEC, SECOND_US } };

    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        if (has(m, counters[i].time)
            && m->value[counters[i].time] < limit_us / counters[i].unit_us) {
            *unit_us = counters[i].unit_us;
            return m->value[counters[i].time] * counters[i].unit_us;
        }
    }
    return -1;
}

typedef struct date {
    bool known, zoned;
    int64_t seconds;
} date;

/* @return false if there is a date but no such day */
static bool read_date(date *d, const moment *m)
{
    const uint32_t zones = KA_TIME_BIT(KA_TIME_ZONE)
                           | KA_TIME_BIT(KA_TIME_ZONE_NAME)
                           | KA_TIME_BIT(KA_TIME_EPOCH);

    *d = (date){ 0 };
    if (has(m, KA_LT_CLF)) {
        *d = (date){ true, true, m->value[KA_LT_CLF] };
        return true;
    }
    if (!has(m, KA_LT_PARTS) || ka_time_parts_missing(m->parts.have)) {
        return true;
    }
    d->known = true;
    d->zoned = (m->parts.have & zones) != 0;
    return ka_time_parts_seconds(&d->seconds, &m->parts) && d->seconds >= 0
           && d->seconds < KA_LF_YEAR_10000_US / SECOND_US;
}

/* Whether the counter is of the date's moment: a counter alone has nothing to
 * agree with. */
static bool agrees(int64_t counter, const date *d)
{
    int64_t difference = counter - d->seconds * SECOND_US;
    int64_t most = d->zoned ? SAME_US : SAME_ZONELESS_US;

    return !d->known || (difference > -most && difference < most);
}

/* Whole seconds of the best item, and the finest fraction that goes with
 * them.  An item that is alone has to be believed.  @return false if there is
 * no such date */
static bool add_up(int64_t *us, const moment *m, bool alone)
{
    date d;
    int64_t counter, unit = SECOND_US, fraction = 0;

    *us = -1;
    if (m->have == 0) {
        return true;
    }
    if (!read_date(&d, m)) {
        return false;
    }
    counter = counter_us(&unit, m, alone ? KA_LF_YEAR_10000_US : YEAR_2200_US);
    if (counter >= 0 && !agrees(counter, &d)) {
        counter = -1;
    }
    if (counter < 0 && !d.known) {
        return true;
    }
    if (has(m, KA_LT_USEC_FRAC)) {
        fraction = m->value[KA_LT_USEC_FRAC];
    }
    else if (counter >= 0 && unit < SECOND_US) {
        fraction = counter % SECOND_US;
    }
    else if (has(m, KA_LT_MSEC_FRAC)) {
        fraction = m->value[KA_LT_MSEC_FRAC] * 1000;
    }
    *us = (counter >= 0 ? counter / SECOND_US : d.seconds) * SECOND_US
          + fraction;
    return true;
}

/* ---- lines ------------------------------------------------------------ */

typedef struct sums {
    moment begin, end;
    int64_t unit_us; /* of the service time */
} sums;

/* The finest service time wins. */
static void put_service(ka_logline *out, sums *s, const ka_lf_step *step,
                        const ka_lf_slot *slot)
{
    if (slot->number >= 0 && slot->number <= KA_LF_SERVICE_MAX
        && (s->unit_us == 0 || step->unit_us < s->unit_us)) {
        out->service_us = slot->number * step->unit_us;
        s->unit_us = step->unit_us;
    }
}

static void complete(ka_logline *out, const ka_logformat *format, int64_t unit)
{
    if (format->span_us > 0 && (unit == 0 || format->span_us < unit)
        && out->begin_us >= 0 && out->end_us >= out->begin_us) {
        out->service_us = out->end_us - out->begin_us;
    }
    if (out->begin_us < 0 && out->end_us >= 0) {
        /* The end is as good a start as can be had without service time. */
        out->begin_us = out->end_us;
        if (out->service_us > 0 && out->service_us <= out->end_us) {
            out->begin_us -= out->service_us;
        }
    }
}

const ka_lf_step *ka_lf_values(ka_logline *out, const ka_logformat *format,
                               const ka_lf_slot *slots)
{
    sums s;

    ka_lf_clear(out);
    s.unit_us = 0;
    moment_clear(&s.begin);
    moment_clear(&s.end);
    for (size_t i = 0; i < format->value_n; i++) {
        const ka_lf_step *step = &format->steps[format->values[i]];
        const ka_lf_slot *slot = &slots[format->values[i]];

        if (step->time != KA_LT_NONE) {
            put_time(step->end ? &s.end : &s.begin, step, slot);
        }
        else if (step->field == KA_LF_SERVICE) {
            put_service(out, &s, step, slot);
        }
        else if (step->query) {
            put_query(out, step, slot);
        }
        else {
            put(out, step, slot);
        }
    }
    if (!add_up(&out->begin_us, &s.begin, format->one_time)) {
        return s.begin.parts_step;
    }
    if (!add_up(&out->end_us, &s.end, format->one_time)) {
        return s.end.parts_step;
    }
    complete(out, format, s.unit_us);
    return NULL;
}
