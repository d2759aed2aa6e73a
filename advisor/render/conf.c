/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * An httpd-mpm.conf: directives with the numbers behind each as comments.
 * httpd loads it as it is.
 *
 * What comes from a log may stand in a comment only: it is cleaned, and no
 * line of a comment ends with a backslash, which httpd would take for "goes
 * on in the next line" and so swallow a directive.  A directive's argument is
 * written only if it is letters, digits and dots. */
#include "conf.h"

#include <ctype.h>
#include <string.h>
#include <apr_strings.h>
#include <ka_units.h>

#include "page.h"
#include "render.h"
#include "sections.h"

#define BLOCK_INDENT 4
#define FILES_NAMED 20

/* ---- comments --------------------------------------------------------------
 */

static void comment_line(const ka_conf *c, int indent, const char *lead,
                         const char *text, size_t length)
{
    bool goes_on = length && text[length - 1] == '\\';

    if (!length && !*lead) {
        fprintf(c->out, "%*s#\n", indent, "");
        return;
    }
    fprintf(c->out, "%*s# %s%.*s%s\n", indent, "", lead,
            (int)(goes_on ? length - 1 : length), text, goes_on ? "\\x5c" : "");
}

void ka_conf_comment(const ka_conf *c, int indent, const char *first,
                     const char *text)
{
    const char *lead = first;
    size_t taken = (size_t)indent + strlen("# ") + strlen(first) + 3;

    text = ka_words_clean(c->pool, text, true);
    while (text) {
        const char *line = text;
        /* 3 columns are kept for a backslash at the end. */
        size_t length = ka_wrap_line(&text, KA_CONF_WIDTH - taken);

        comment_line(c, indent, lead, line, length);
        lead = apr_psprintf(c->pool, "%*s", (int)strlen(first), "");
    }
}

static void blank_comment(const ka_conf *c)
{
    fputs("#\n", c->out);
}

static void blank(const ka_conf *c)
{
    fputc('\n', c->out);
}

/* ---- head ------------------------------------------------------------------
 */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void sources(const ka_conf *c)
{
    const ka_source_info *source = c->report->source;
    const char *first = ka_words_time(c->pool, source->first_us);
    const char *last = ka_words_time(c->pool, source->last_us);
    size_t n = source->file_n <= FILES_NAMED ? source->file_n : FILES_NAMED;
    const char *files = "";
    size_t i;

    for (i = 0; i < n; i++) {
        files = apr_pstrcat(c->pool, files, i ? ", " : "",
                            base_name(source->files[i]), NULL);
    }
    if (n < source->file_n) {
        files =
            apr_psprintf(c->pool, "%s and %s", files,
                         ka_words_plural(c->pool, (int64_t)(source->file_n - n),
                                         "more file"));
    }
    ka_conf_comment(
        c, 0, "Traffic:  ",
        apr_psprintf(c->pool, "%s, %s requests%s%s%s%s", files,
                     ka_words_count(
                         c->pool, (int64_t)c->report->profile->total.requests),
                     first && last ? ", " : "", first && last ? first : "",
                     first && last ? " to " : "", first && last ? last : ""));
}

static void formula(const ka_conf *c)
{
    const ka_formula *f = &c->report->formula;
    const ka_formula *high =
        c->report->profile->bracket ? &c->report->formula_high : NULL;
    const char *memory = "";

    if (f->requests_per_s == 0) {
        return;
    }
    if (f->memory_bytes >= 0) {
        memory = apr_psprintf(c->pool, ", x %s = %s",
                              ka_words_size(c->pool, f->process_bytes),
                              ka_words_size(c->pool, f->memory_bytes));
    }
    ka_conf_comment(
        c, 0, "Classic:  ",
        apr_psprintf(c->pool,
                     "[M1] KeepAliveTimeout x requests per second / mean "
                     "keep-alive requests: %s processes%s",
                     ka_formula_in_words(c->pool, f, high), memory));
}

static void inputs(const ka_conf *c)
{
    const char *lead = "Inputs:   ";
    int i;

    for (i = 0; i < KA_FACTS; i++) {
        const ka_fact *fact = &c->report->server->facts[i];
        char buffer[KA_UNITS_BUFFER];

        if (fact->known) {
            ka_conf_comment(
                c, 0, lead,
                apr_psprintf(
                    c->pool, "%s %s (%s)",
                    ka_fact_info_of((ka_fact_id)i)->label,
                    ka_fact_text(buffer, c->report->server, (ka_fact_id)i),
                    fact->origin ? fact->origin : "given"));
            lead = "          ";
        }
    }
}

/* Not wrapped: it is to be copied. */
static void command(const ka_conf *c, const char *text)
{
    text = ka_words_clean(c->pool, text, false);
    comment_line(c, 0, KA_CONF_MORE "       ", text, strlen(text));
}

static void step(const ka_conf *c, const char *lead, const char *number,
                 const ka_step *s)
{
    ka_conf_comment(c, 0, lead, apr_pstrcat(c->pool, number, s->text, NULL));
    if (s->command) {
        command(c, s->command);
    }
}

static void how_to_apply(const ka_conf *c)
{
    static const ka_step generic[] = {
        {"Include this file behind the present KeepAlive and MPM directives, "
         "which can stay: the last one counts.",
         NULL},
        {"Check: httpd -t (apache2ctl -t on Debian).", NULL},
        {"Reload: httpd -k graceful.", NULL}};
    static const ka_step stop = {"Stop and start httpd: a reload does not "
                                 "change ServerLimit, ThreadLimit and "
                                 "ListenBacklog.",
                                 NULL};
    static const ka_step back = {"take the Include out again, then 2 and 3.",
                                 NULL};
    const ka_report *report = c->report;
    bool known = report->apply_n > 0;
    size_t n = known ? report->apply_n : sizeof(generic) / sizeof(generic[0]);
    size_t i;

    for (i = 0; i < n; i++) {
        const ka_step *s = known ? &report->apply[i] : &generic[i];

        if (!known && i == n - 1 && ka_report_restarts(report)) {
            s = &stop;
        }
        step(c, i ? KA_CONF_MORE : KA_CONF_APPLY,
             apr_psprintf(c->pool, "%d. ", (int)i + 1), s);
    }
    step(c, KA_CONF_BACK, "", known ? &report->go_back : &back);
    ka_conf_comment(
        c, 0, "Note:     ",
        "a <VirtualHost> that sets one of these itself keeps its own "
        "value.");
}

static void head(const ka_conf *c)
{
    const ka_report *report = c->report;
    const char *when = ka_words_time(c->pool, report->generated_us);
    const char *limit = report->verdict.confidence_why;

    ka_conf_comment(
        c, 0, "",
        "httpd-mpm.conf: keep-alive and MPM settings for the traffic "
        "below");
    ka_conf_comment(c, 0, "",
                    apr_psprintf(c->pool, KA_CONF_WRITTEN " %s%s%s",
                                 report->version ? report->version : "",
                                 when ? " on " : "", when ? when : ""));
    blank_comment(c);
    ka_conf_comment(
        c, 0, "Verdict:  ", report->verdict.text ? report->verdict.text : "");
    ka_conf_comment(c, 0, "          ",
                    apr_pstrcat(c->pool, "Confidence: ",
                                ka_confidence_name(report->verdict.confidence),
                                limit ? " - " : "", limit ? limit : "", NULL));
    sources(c);
    ka_conf_servers(c);
    formula(c);
    inputs(c);
    if (!report->verdict.refused) {
        how_to_apply(c);
    }
}

/* ---- directives ------------------------------------------------------------
 */

static bool is_plain(const char *value)
{
    const char *p;

    for (p = value; *p; p++) {
        if (!isalnum((unsigned char)*p) && *p != '.') {
            return false;
        }
    }
    return *value != '\0';
}

const ka_advice *ka_conf_row(const ka_report *report, const char *directive,
                             ka_mpm mpm)
{
    const ka_advice *any = NULL;
    size_t i;

    for (i = 0; i < report->advice_n; i++) {
        const ka_advice *a = &report->advice[i];

        if (a->vhost || !a->directive || strcmp(a->directive, directive)) {
            continue;
        }
        if (a->mpm == mpm) {
            return a;
        }
        if (a->mpm == KA_MPM_N) {
            any = a;
        }
    }
    return any;
}

static void directive(ka_conf *c, int indent, const char *name,
                      const char *value, const char *because)
{
    if (because) {
        if (c->follows) {
            blank(c);
        }
        ka_conf_comment(c, indent, "", because);
    }
    c->follows = true;
    if (is_plain(value)) {
        fprintf(c->out, "%*s%s %s\n", indent, "", name, value);
    }
    else {
        ka_conf_comment(c, indent, "",
                        apr_pstrcat(c->pool, name, " ", value,
                                    ": not written, no value that httpd reads",
                                    NULL));
    }
}

/* ---- KeepAlive, MaxKeepAliveRequests, KeepAliveTimeout ----------------------
 */

/* What the choice says where no row of advice does; NULL: nothing. */
static const char *chosen(const ka_conf *c, const ka_mpm_answer *answer,
                          const char *name)
{
    char buffer[KA_UNITS_BUFFER];
    int64_t us;

    if (!answer || answer->choice.index >= c->report->timeout_n) {
        return NULL;
    }
    us = c->report->low[answer->choice.index].timeout_us;
    if (!strcmp(name, "KeepAlive")) {
        return us == KA_TIMEOUT_OFF ? "Off" : "On";
    }
    if (!strcmp(name, "KeepAliveTimeout") && us != KA_TIMEOUT_OFF) {
        return apr_pstrdup(c->pool, ka_print_httpd_time(buffer, us));
    }
    return NULL;
}

static const char *const keepalive_names[] = {
    "KeepAlive", "MaxKeepAliveRequests", "KeepAliveTimeout"};

#define KEEPALIVE_N (sizeof(keepalive_names) / sizeof(keepalive_names[0]))

typedef struct setting {
    const char *value; /* NULL: leave the directive alone */
    const char *because;
} setting;

static setting setting_of(const ka_conf *c, const char *name,
                          const ka_mpm_answer *answer)
{
    const ka_advice *row =
        ka_conf_row(c->report, name, answer ? answer->mpm : KA_MPM_N);

    if (row && row->to) {
        return (setting){row->to, row->because};
    }
    return (setting){chosen(c, answer, name), NULL};
}

static bool same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* All answers agree, so that the directive can stand outside the blocks. */
static bool is_common(const ka_conf *c, const char *name)
{
    setting first = setting_of(c, name, c->report->answers);
    size_t i;

    for (i = 1; i < c->report->answer_n; i++) {
        setting other = setting_of(c, name, &c->report->answers[i]);

        if (!same(first.value, other.value)) {
            return false;
        }
    }
    return true;
}

static void keepalive(ka_conf *c, int indent, const ka_mpm_answer *answer,
                      bool common)
{
    size_t i;

    for (i = 0; i < KEEPALIVE_N; i++) {
        const char *name = keepalive_names[i];
        setting s = setting_of(c, name, answer);

        if (s.value && is_common(c, name) == common) {
            directive(c, indent, name, s.value, s.because);
        }
    }
}

/* ---- the MPM's block --------------------------------------------------------
 */

static void block(ka_conf *c, const ka_mpm_answer *answer)
{
    int i;

    for (i = 0; i < KA_BLOCK_ITEMS; i++) {
        const ka_block_info *info = ka_block_info_of((ka_block_item)i);
        const char *name = info->directive[answer->mpm];
        int64_t value = answer->block.value[i];
        const ka_advice *row;

        if (!name || value < 0) {
            continue;
        }
        row = ka_conf_row(c->report, name, answer->mpm);
        directive(c, BLOCK_INDENT,
                  c->legacy && info->legacy ? info->legacy : name,
                  apr_psprintf(c->pool, "%" APR_INT64_T_FMT, value),
                  row ? row->because : NULL);
    }
}

/* Directives around the block, where they change. */
static void around(ka_conf *c)
{
    static const char *const names[] = {"ListenBacklog", "EnableSendfile"};
    size_t i, k;

    for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        for (i = 0; i < c->report->advice_n; i++) {
            const ka_advice *a = &c->report->advice[i];

            if (a->change && a->to && !a->vhost &&
                !strcmp(a->directive, names[k])) {
                directive(c, 0, names[k], a->to, a->because);
                break;
            }
        }
    }
}

static void mpm_section(ka_conf *c, const ka_mpm_answer *answer)
{
    blank(c);
    c->follows = false;
    fprintf(c->out, "<IfModule mpm_%s_module>\n", ka_mpm_name(answer->mpm));
    keepalive(c, BLOCK_INDENT, answer, false);
    if (answer->block_known) {
        block(c, answer);
    }
    else {
        ka_conf_comment(c, BLOCK_INDENT, "",
                        "No sizes here: a number that they need is not known.");
    }
    if (answer->needs) {
        ka_conf_comment(c, BLOCK_INDENT, "", answer->needs);
    }
    fputs("</IfModule>\n", c->out);
}

apr_status_t ka_render_conf(FILE *out, const ka_report *report,
                            const ka_render_options *options)
{
    ka_page page;
    apr_status_t rv = ka_page_begin(&page, out, KA_CONF_WIDTH, false);
    ka_conf c = {.out = out,
                 .pool = page.pool,
                 .report = report,
                 .legacy = options->legacy_names};
    size_t i;

    if (rv != APR_SUCCESS) {
        return rv;
    }
    head(&c);
    if (report->verdict.refused) {
        blank_comment(&c);
        ka_conf_comment(&c, 0, "",
                        "No directive is written: there is no advice to give.");
        for (i = 0; i < report->next_n; i++) {
            ka_conf_comment(&c, 0, "- ", report->next[i]);
        }
        return ka_page_end(&page);
    }
    blank(&c);
    keepalive(&c, 0, report->answer_n ? report->answers : NULL, true);
    around(&c);
    for (i = 0; i < report->answer_n; i++) {
        mpm_section(&c, &report->answers[i]);
    }
    ka_conf_policy(&c);
    ka_conf_parts(&c);
    ka_conf_deviations(&c);
    return ka_page_end(&page);
}
