/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Who, what, how: identities, class, flags of one request.
 */
#include "log_classify.h"

#include "hash.h"
#include "log_content.h"
#include "log_traffic.h"
#include "log_vhosts.h"
#include "logtext.h"
#include "uniqueid.h"
#include "wide.h"

#define AGENTS_N 4096

/* How long browsers keep an idle connection (MODEL 6). */
#define LIMIT_FIREFOX_S 115
#define LIMIT_OTHERS_S 300

#define HTTPS_PORT 443

struct ka_classifier {
    uint64_t fields;
    int64_t since_us, until_us;
    ka_content *content;
    ka_vhosts *vhosts;
    uint32_t nameless; /* number of the vhost that no line names */
    bool nameless_known;
    ka_uniqueid uniqueid;
    /* Traits by the hash of the User-Agent, which is computed anyway: a few
     * hundred of them make up nearly all of a log. */
    struct {
        uint64_t hash; /* 0: empty */
        unsigned traits;
    } agents[AGENTS_N];
};

/* A request on its way from the line to ka_request. */
typedef struct facts {
    const ka_logline *line;
    ka_log_request request;
    const ka_str *address; /* of the connection's other end */
    uint64_t agent_hash;
    unsigned agent; /* ka_agent_trait bits */
    int status;     /* 0: not told */
} facts;

ka_classifier *ka_classifier_make(uint64_t fields, const char *vhost,
                                  int64_t since_us, int64_t until_us,
                                  apr_pool_t *pool)
{
    ka_classifier *self = apr_pcalloc(pool, sizeof(*self));

    self->fields = fields;
    self->since_us = since_us;
    self->until_us = until_us;
    self->content = ka_content_make(pool);
    self->vhosts = ka_vhosts_make(vhost, KA_VHOSTS_MAX, pool);
    return self;
}

static bool has(const ka_classifier *self, ka_log_field field)
{
    return self->fields & KA_LF_BIT(field);
}

static uint64_t hash_of(ka_str text)
{
    return ka_hash_bytes(text.ptr ? text.ptr : "", text.len);
}

static unsigned traits_of(ka_classifier *self, ka_str agent, uint64_t hash)
{
    const size_t at = hash % AGENTS_N;

    if (self->agents[at].hash != hash) {
        self->agents[at].hash = hash;
        self->agents[at].traits = ka_agent_traits(agent);
    }
    return self->agents[at].traits;
}

static void gather(ka_classifier *self, facts *f, const ka_logline *line)
{
    f->line = line;
    f->status = line->status > 0 && line->status < 1000 ? line->status : 0;
    f->address = line->peer.ptr     ? &line->peer
                 : line->client.ptr ? &line->client
                                    : &line->host;
    f->agent_hash = hash_of(line->user_agent);
    f->agent = traits_of(self, line->user_agent, f->agent_hash);
    ka_log_request_read(&f->request, self->fields, line);
}

/* ---- what is kept apart ------------------------------------------------ */

/* Every address that the line tells is the host's own. */
static bool from_loopback(const facts *f)
{
    const ka_str told[] = {f->line->peer, f->line->client, f->line->host};
    bool any = false;

    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        if (told[i].ptr && !ka_address_is_loopback(told[i])) {
            return false;
        }
        any |= told[i].ptr != NULL;
    }
    return any;
}

static bool is_dummy(const facts *f)
{
    return (f->agent & KA_AGENT_DUMMY)
           || (ka_str_is(f->request.method, "OPTIONS")
               && ka_str_is(f->request.path, "*") && from_loopback(f));
}

/* Browsers come from loopback through a reverse proxy on the same host, and
 * may ask for any path: never a check, unless the agent names itself one. */
static bool is_check(const ka_classifier *self, const facts *f)
{
    if (f->agent & KA_AGENT_BROWSER && !(f->agent & KA_AGENT_CHECK)) {
        return false;
    }
    if (f->request.shape == KA_SHAPE_NONE || !from_loopback(f)) {
        return false;
    }
    return (f->agent & KA_AGENT_CHECK)
           || (has(self, KA_LF_USER_AGENT) && !f->line->user_agent.len)
           || ka_path_is_check(f->request.path);
}

static bool is_own_traffic(const ka_classifier *self, ka_excluded *why,
                           const facts *f)
{
    if (is_dummy(f)) {
        *why = KA_EXCLUDED_DUMMY;
        return true;
    }
    if (f->agent & KA_AGENT_PAGESPEED) {
        *why = KA_EXCLUDED_PAGESPEED;
        return true;
    }
    if (is_check(self, f)) {
        *why = KA_EXCLUDED_HEALTH;
        return true;
    }
    return false;
}

/* ---- flags ------------------------------------------------------------- */

/* Statuses with which httpd, over the years, and nginx refused bytes that
 * were no request; 0 where the log has none. */
static bool is_refusal(int status)
{
    return status == 0 || status == 400 || status == 405 || status == 501
           || status == 505;
}

static bool is_http11(ka_str protocol)
{
    return protocol.len == 8
           && ka_wide_word(protocol.ptr) == ka_wide_word("HTTP/1.1");
}

/* What a version that httpd understood makes of the connection.  One that it
 * did not understand ("HTTP/V1.0") it takes as HTTP/1.0. */
static unsigned flags_of_version(ka_str protocol)
{
    static const struct {
        const char *prefix;
        unsigned flags;
    } versions[] = {
        {"HTTP/1.0", KA_REQ_HTTP10},
        {"HTTP/1.", 0},
        {"HTTP/2", KA_REQ_HTTP2},
        {"HTTP/3", KA_REQ_HTTP2}, /* streams too, in a proxy's log */
    };

    if (is_http11(protocol)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        if (ka_str_starts_case(protocol, versions[i].prefix)) {
            return versions[i].flags;
        }
    }
    /* Also none: "GET /" with nothing behind it, or bytes that were served
     * all the same: HTTP/0.9, one request per connection. */
    return KA_REQ_HTTP10;
}

static unsigned flags_of_request(const facts *f)
{
    switch (f->request.shape) {
    case KA_SHAPE_UNTOLD:
        return f->request.protocol.len
                   ? flags_of_version(f->request.protocol)
                   : 0;
    case KA_SHAPE_NONE:
        return f->status == 0 || f->status == 400 || f->status == 408
                   ? KA_REQ_NO_REQUEST
                   : 0;
    case KA_SHAPE_OTHER:
        return is_refusal(f->status) ? KA_REQ_NOT_HTTP : KA_REQ_HTTP10;
    default:
        return f->request.protocol_told
                   ? flags_of_version(f->request.protocol)
                   : 0;
    }
}

static unsigned flags_of_connection(char conn_status)
{
    switch (conn_status) {
    case '+':
        return KA_REQ_KEPT;
    case '-':
        return KA_REQ_FINAL;
    case 'X':
        return KA_REQ_ABORTED | KA_REQ_FINAL;
    default:
        return 0;
    }
}

static unsigned flags_of(const facts *f)
{
    const ka_logline *line = f->line;
    unsigned flags = flags_of_request(f);

    /* On HTTP/2, %X speaks of the stream, if it is not mere noise. */
    if (!(flags & KA_REQ_HTTP2)) {
        flags |= flags_of_connection(line->conn_status);
    }
    if (line->tls_protocol.len || line->local_port == HTTPS_PORT) {
        flags |= KA_REQ_TLS;
    }
    return flags;
}

/* ---- the request ------------------------------------------------------- */

static int64_t bytes_of(const ka_classifier *self, const ka_logline *line)
{
    if (line->bytes_out >= 0) {
        return line->bytes_out;
    }
    if (line->body_bytes >= 0) {
        return line->body_bytes;
    }
    return has(self, KA_LF_BODY_BYTES) ? 0 : -1; /* %b prints 0 as `-` */
}

static ka_class class_of(const ka_classifier *self, const facts *f)
{
    return has(self, KA_LF_HANDLER)
               ? ka_content_by_handler(f->line->handler)
               : ka_content_by_request(self->content, &f->request,
                                       f->status);
}

static int64_t limit_of(const facts *f)
{
    return f->agent & KA_AGENT_FIREFOX ? LIMIT_FIREFOX_S : LIMIT_OTHERS_S;
}

static uint64_t client_of(const ka_classifier *self, const facts *f,
                          uint64_t address)
{
    return has(self, KA_LF_USER_AGENT) ? ka_hash_pair(address, f->agent_hash)
                                       : address;
}

static void set_slot(ka_classifier *self, ka_request *out,
                     const ka_logline *line)
{
    out->slot = 0;
    out->child = line->pid >= 0 ? ka_hash_pair((uint64_t)line->pid, 0) : 0;
    if (line->pid >= 0 && line->tid >= 0) {
        out->slot = ka_hash_pair(out->child, (uint64_t)line->tid);
        return;
    }
    if (line->unique_id.len) {
        ka_uniqueid_slot(&self->uniqueid, &out->child, &out->slot,
                         line->unique_id.ptr, line->unique_id.len,
                         line->begin_us);
    }
}

/* ---- lines ------------------------------------------------------------- */

/* Lines without a vhost need not look up the name that they all share. */
static uint32_t vhost_of(ka_classifier *self, const ka_logline *line)
{
    if (line->vhost.ptr) {
        return ka_vhosts_number(self->vhosts, line->vhost);
    }
    if (!self->nameless_known) {
        self->nameless = ka_vhosts_number(self->vhosts, line->vhost);
        self->nameless_known = true;
    }
    return self->nameless;
}

/* Whether a line is kept; gathers what is known of its request. */
static bool admit(ka_classifier *self, facts *f, uint32_t *vhost,
                  ka_excluded *why, const ka_logline *line)
{
    if ((self->since_us && line->begin_us < self->since_us)
        || (self->until_us && line->begin_us >= self->until_us)) {
        *why = KA_EXCLUDED_TIME;
        return false;
    }
    *vhost = vhost_of(self, line);
    if (*vhost == KA_VHOST_EXCLUDED) {
        *why = KA_EXCLUDED_VHOST;
        return false;
    }
    gather(self, f, line);
    return !is_own_traffic(self, why, f);
}

bool ka_classify(ka_classifier *self, ka_request *out, ka_excluded *why,
                 const ka_logline *line)
{
    facts f;
    uint32_t vhost;

    if (!admit(self, &f, &vhost, why, line)) {
        return false;
    }
    out->begin_us = line->begin_us;
    out->service_us = line->service_us;
    out->bytes = bytes_of(self, line);
    out->address = hash_of(*f.address);
    out->client = client_of(self, &f, out->address);
    set_slot(self, out, line);
    out->client_limit_us = limit_of(&f) * 1000000;
    out->vhost = vhost;
    out->keepalives = line->keepalives;
    out->remote_port = line->remote_port;
    out->status = (uint16_t)f.status;
    out->cls = (uint8_t)class_of(self, &f);
    out->flags = (uint16_t)flags_of(&f);
    return true;
}

bool ka_classify_hit(ka_classifier *self, ka_hit *out, ka_str *vhost_name,
                     ka_excluded *why, const ka_logline *line)
{
    facts f;
    uint32_t vhost;

    if (!admit(self, &f, &vhost, why, line)) {
        return false;
    }
    out->service_us = line->service_us;
    out->address = hash_of(*f.address);
    out->client = client_of(self, &f, out->address);
    /* Apart from the service time: read with it as one wide word, it would
     * have to wait until the parser's two narrow ones have left the store
     * buffer. */
    out->begin_us = line->begin_us;
    out->bytes = bytes_of(self, line);
    out->vhost = (uint16_t)vhost;
    out->flags = (uint16_t)flags_of(&f);
    out->limit_s = (uint16_t)limit_of(&f);
    out->cls = (uint8_t)class_of(self, &f);
    if (vhost_name) {
        *vhost_name = line->vhost;
    }
    return true;
}

void ka_classifier_vhosts(const ka_classifier *self, const char ***names,
                          size_t *n)
{
    *names = ka_vhosts_names(self->vhosts, n);
}
