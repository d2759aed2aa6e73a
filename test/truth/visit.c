/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "visitors.h"

static const page *page_of(const world *w, const session *s)
{
    return &w->script.pages[s->first + s->page];
}

static const request *request_of(const world *w, const session *s, size_t i)
{
    return &w->script.requests[page_of(w, s)->first + i];
}

/* ---- connections ---------------------------------------------------------- */

static bool in_use(const connection *c)
{
    return c->request && c->state != STATE_STALE && c->state != STATE_GONE;
}

/* The idle one that was used last; *used says how many there are. */
static connection *find_idle(const session *s, int *used)
{
    connection *c, *found = NULL;

    *used = 0;
    for (c = s->connections; c; c = c->next) {
        *used += in_use(c);
        if (c->state == STATE_IDLE &&
            (found == NULL || c->idle_at > found->idle_at)) {
            found = c;
        }
    }
    return found;
}

static void close_in_state(world *w, session *s, state state)
{
    connection *c;

    for (c = s->connections; c; c = c->next) {
        if (c->state == state) {
            wire_close(w, c);
        }
    }
}

static void close_idle(world *w, void *connection_)
{
    wire_close(w, connection_);
}

/* ---- requests ------------------------------------------------------------- */

/* @return false: it has to wait for a connection */
static bool send_next(world *w, session *s)
{
    const request *r = request_of(w, s, s->next);
    connection *c;
    int used;

    close_in_state(w, s, STATE_STALE);
    c = find_idle(s, &used);
    if (c == NULL && used >= s->parallel) {
        return false;
    }
    s->next++;
    s->under_way++;
    if (c) {
        wire_send(w, c, r);
    }
    else {
        wire_open(w, s, r);
    }
    return true;
}

static void send_all(world *w, session *s)
{
    while (s->next < s->stage_end && send_next(w, s)) {
    }
}

static void begin_stage(world *w, session *s)
{
    const page *p = page_of(w, s);
    int stage = request_of(w, s, s->next)->stage;

    for (s->stage_end = s->next; s->stage_end < p->n; s->stage_end++) {
        if (request_of(w, s, s->stage_end)->stage != stage) {
            break;
        }
    }
    send_all(w, s);
}

/* ---- pages ---------------------------------------------------------------- */

static void leave(world *w, void *session_)
{
    session *s = session_;

    close_in_state(w, s, STATE_IDLE);
    close_in_state(w, s, STATE_STALE);
    w->alive--;
}

static void begin_page(world *w, void *session_)
{
    session *s = session_;
    const page *p = page_of(w, s);

    s->next = s->stage_end = 0;
    if (p->hint_us >= 0) {
        wire_open(w, s, NULL);
        timer_set(w, now_us() + p->hint_us, close_idle, s->connections, NULL);
    }
    begin_stage(w, s);
}

static void next_page(world *w, session *s, int64_t after_us)
{
    if (s->page < s->n) {
        timer_set(w, after_us + page_of(w, s)->think_us, begin_page, s, NULL);
    }
    else if (s->leave_us >= 0) {
        timer_set(w, after_us + s->leave_us, leave, s, NULL);
    }
    else {
        w->alive--;
    }
}

void visit_begin(world *w, void *session_)
{
    next_page(w, session_, now_us());
}

/* ---- what the server does -------------------------------------------------- */

static void completed(world *w, session *s, int64_t at_us)
{
    w->completed++;
    s->under_way--;
    send_all(w, s);
    if (s->under_way || s->next < s->stage_end) {
        return;
    }
    if (s->next < page_of(w, s)->n) {
        begin_stage(w, s);
        return;
    }
    s->page++;
    next_page(w, s, at_us);
}

static void let_go(world *w, connection *c)
{
    if (c->session->lazy) {
        wire_ignore(w, c);
    }
    else {
        wire_close(w, c);
    }
}

void visit_answered(world *w, connection *c)
{
    session *s = c->session;

    if (c->last) {
        let_go(w, c);
    }
    else if (s->close_us >= 0) {
        timer_set(w, c->idle_at + s->close_us, close_idle, c, c);
    }
    completed(w, s, c->idle_at);
}

void visit_closed(world *w, connection *c, const request *r)
{
    session *s = c->session;
    bool unanswered = r && c->head_n == 0 && c->served;

    if (c->state == STATE_IDLE) {
        let_go(w, c);
        return;
    }
    wire_close(w, c);
    if (unanswered) {
        w->again++;
        wire_open(w, s, r);
    }
    else if (c->request) {
        w->failed++;
        completed(w, s, now_us());
    }
}
