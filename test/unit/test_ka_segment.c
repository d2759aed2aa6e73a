/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "ka_segment.h"

static const ka_segment_plan small = {
    .vhost_n = 3, .slot_n = 4, .history_n = 10, .recent_n = 5, .stripe_n = 2};

static ka_segment_header *segment_made(apr_pool_t *pool,
                                       const ka_segment_plan *plan)
{
    ka_segment_header *h = apr_pcalloc(pool, ka_segment_size(plan));

    ka_segment_format(h, plan, INT64_C(1700000000000000), 5000000);
    return h;
}

static void test_segment__formatted_passes_its_check(void **state)
{
    const ka_segment_header *h = segment_made(*state, &small);
    const char *error = NULL;

    assert_int_equal(ka_segment_check(h, h->total_size, &error), APR_SUCCESS);
    assert_true(ka_segment_fits(h, &small));
    assert_int_equal(h->total_size, ka_segment_size(&small));
    assert_int_equal(h->ready, 1);
}

static void test_segment__sections_follow_each_other(void **state)
{
    const ka_segment_header *h = segment_made(*state, &small);
    uint64_t at = sizeof(*h);
    unsigned i;

    for (i = 0; i < KA_SECTION_N; i++) {
        const ka_segment_section *s = &h->section[i];

        assert_int_equal(s->offset, at);
        assert_int_equal(s->offset % 64, 0);
        at += (uint64_t)s->size * s->n;
    }
    assert_int_equal(at, h->total_size);
    assert_int_equal(h->section[KA_SECTION_STATS].n,
                     small.stripe_n * small.vhost_n);
}

static void test_segment__last_vhost_is_other(void **state)
{
    const ka_segment_header *h = segment_made(*state, &small);
    const ka_segment_vhost *other = ka_segment_entry(h, KA_SECTION_VHOSTS, 2);

    assert_string_equal(other->name, "(other)");
}

static void test_segment__another_plan_does_not_fit(void **state)
{
    const ka_segment_header *h = segment_made(*state, &small);
    ka_segment_plan other[5] = {small, small, small, small, small};
    size_t i;

    other[0].vhost_n++;
    other[1].slot_n++;
    other[2].history_n++;
    other[3].recent_n++;
    other[4].stripe_n++;
    for (i = 0; i < 5; i++) {
        assert_false(ka_segment_fits(h, &other[i]));
    }
}

static void test_segment_plan__is_kept_in_bounds(void **state)
{
    ka_segment_plan none = {0};
    ka_segment_plan all = {.vhost_n = UINT32_MAX,
                           .slot_n = UINT32_MAX,
                           .history_n = UINT32_MAX,
                           .recent_n = UINT32_MAX,
                           .stripe_n = UINT32_MAX};
    ka_segment_plan usual = {.vhost_n = 5,
                             .slot_n = 34,
                             .history_n = 86400,
                             .recent_n = 1000,
                             .stripe_n = 8};

    (void)state;
    ka_segment_plan_fit(&none);
    assert_int_equal(none.vhost_n, KA_VHOSTS_MIN);
    assert_int_equal(none.slot_n, 1);
    assert_int_equal(none.stripe_n, 1);
    ka_segment_plan_fit(&all);
    assert_int_equal(all.vhost_n, KA_VHOSTS_MAX);
    assert_int_equal(all.stripe_n, 1);
    assert_true(ka_segment_size(&all) < KA_SEGMENT_SIZE_MAX);
    ka_segment_plan_fit(&usual);
    assert_int_equal(usual.stripe_n, 8);
}

/* ---- hostile ---------------------------------------------------------- */

typedef struct hostile_case {
    const char *what;
    size_t offset; /* of the field that is spoiled */
    size_t size;
    uint64_t value;
    apr_status_t rv;
} hostile_case;

#define FIELD(name)                                                            \
    offsetof(ka_segment_header, name), sizeof(((ka_segment_header *)0)->name)
#define SECTION(i, name)                                                       \
    offsetof(ka_segment_header, section) + (i) * sizeof(ka_segment_section) +  \
        offsetof(ka_segment_section, name),                                    \
        sizeof(((ka_segment_section *)0)->name)

static const hostile_case hostile_cases[] = {
    {"magic", FIELD(magic), 0, APR_EINVAL},
    {"major", FIELD(major), KA_SEGMENT_MAJOR + 1, APR_ENOTIMPL},
    {"ready", FIELD(ready), 0, APR_EAGAIN},
    {"ready", FIELD(ready), 2, APR_EAGAIN},
    {"header too small", FIELD(header_size), 64, APR_EINVAL},
    {"header not aligned", FIELD(header_size), 1025, APR_EINVAL},
    {"header past the end", FIELD(header_size), 0xfffffc0, APR_EINVAL},
    {"no stripes", FIELD(stripe_n), 0, APR_EINVAL},
    {"many stripes", FIELD(stripe_n), 65, APR_EINVAL},
    {"stripes that multiply to it", FIELD(stripe_n), 0x55555558, APR_EINVAL},
    {"larger than the file", FIELD(total_size), 1 << 29, APR_EINVAL},
    {"too large", FIELD(total_size), UINT64_MAX, APR_EINVAL},
    {"smaller than its sections", FIELD(total_size), 4096, APR_EINVAL},
    {"nothing", FIELD(total_size), 0, APR_EINVAL},
    {"other bins", FIELD(hist_sub_bits), 5, APR_ENOTIMPL},
    {"fewer bins", FIELD(bin_n), 5, APR_ENOTIMPL},
    {"fewer counters", FIELD(counter_n), 3, APR_ENOTIMPL},
    {"more counters than room", FIELD(counter_n), 65, APR_ENOTIMPL},
    {"fewer quantities", FIELD(quantity_n), 3, APR_ENOTIMPL},
    {"one vhost", SECTION(KA_SECTION_VHOSTS, n), 1, APR_EINVAL},
    {"many vhosts", SECTION(KA_SECTION_VHOSTS, n), 257, APR_EINVAL},
    {"small vhosts", SECTION(KA_SECTION_VHOSTS, size), 64, APR_EINVAL},
    {"no slots", SECTION(KA_SECTION_SLOTS, n), 0, APR_EINVAL},
    {"slots without room", SECTION(KA_SECTION_SLOTS, size), 64, APR_EINVAL},
    {"entries of no size", SECTION(KA_SECTION_SLOTS, size), 0, APR_EINVAL},
    {"offset in the header", SECTION(KA_SECTION_HISTORY, offset), 64,
     APR_EINVAL},
    {"offset past the end", SECTION(KA_SECTION_HISTORY, offset), 1 << 30,
     APR_EINVAL},
    {"offset wraps", SECTION(KA_SECTION_HISTORY, offset), UINT64_MAX - 63,
     APR_EINVAL},
    {"offset not aligned", SECTION(KA_SECTION_RECENT, offset), 1025,
     APR_EINVAL},
    {"size not aligned", SECTION(KA_SECTION_RECENT, size), 129, APR_EINVAL},
    {"huge history", SECTION(KA_SECTION_HISTORY, n), UINT32_MAX, APR_EINVAL},
    {"size times n wraps 32 bits", SECTION(KA_SECTION_RECENT, size), 0x80000000,
     APR_EINVAL},
    {"stats for fewer vhosts", SECTION(KA_SECTION_STATS, n), 5, APR_EINVAL},
};

static void test_segment_check__hostile(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(hostile_cases) / sizeof(hostile_cases[0]); i++) {
        const hostile_case *c = &hostile_cases[i];
        ka_segment_header *h = segment_made(*state, &small);
        uint64_t size = h->total_size;
        const char *error = NULL;
        apr_status_t rv;

        memcpy((char *)h + c->offset, &c->value, c->size); /* little-endian */
        rv = ka_segment_check(h, size, &error);
        if (rv != c->rv || !error) {
            fail_msg("%s: status %d, expected %d, %s", c->what, rv, c->rv,
                     error ? error : "without a sentence");
        }
    }
}

static void test_segment_check__every_truncation(void **state)
{
    const ka_segment_header *h = segment_made(*state, &small);
    uint64_t size;

    for (size = 0; size < h->total_size; size += size < 2048 ? 1 : 4093) {
        const char *error = NULL;

        assert_int_equal(ka_segment_check(h, size, &error), APR_EINVAL);
        assert_non_null(error);
    }
}

static void test_segment_check__a_higher_minor_is_read(void **state)
{
    ka_segment_header *h = segment_made(*state, &small);
    const char *error;

    h->minor++;
    assert_int_equal(ka_segment_check(h, h->total_size, &error), APR_SUCCESS);
    assert_false(ka_segment_fits(h, &small)); /* but not written to */
}

/* ---- gauges ----------------------------------------------------------- */

static void test_gauges__fields_do_not_touch(void **state)
{
    uint64_t word = KA_GAUGE_ZERO + 3 * KA_GAUGE_IDLE + 100000 * KA_GAUGE_BUSY +
                    7 * KA_GAUGE_CLOSING;
    ka_gauges g = ka_gauges_of(word);

    (void)state;
    assert_int_equal(g.idle, 3);
    assert_int_equal(g.busy, 100000);
    assert_int_equal(g.closing, 7);
}

static void test_gauges__below_zero_is_zero_and_borrows_nothing(void **state)
{
    ka_gauges g =
        ka_gauges_of(KA_GAUGE_ZERO - 2 * KA_GAUGE_IDLE + KA_GAUGE_BUSY);

    (void)state;
    assert_int_equal(g.idle, 0);
    assert_int_equal(g.busy, 1);
    assert_int_equal(g.closing, 0);
}

/* ---- tables ----------------------------------------------------------- */

static void test_quantities__bins_fill_the_block_without_overlap(void **state)
{
    size_t bins = 0, i, k;

    (void)state;
    for (i = 0; i < KA_QUANTITY_N; i++) {
        const ka_quantity_row *row = &ka_quantities[i];

        assert_non_null(row->name);
        assert_non_null(row->help);
        assert_int_equal(row->bin_n, KA_QUANTITY_BINS(row->bits));
        assert_true(row->first_bin + row->bin_n <= KA_BINS_N);
        for (k = 0; k < i; k++) {
            const ka_quantity_row *other = &ka_quantities[k];

            assert_true(row->first_bin >= other->first_bin + other->bin_n ||
                        other->first_bin >= row->first_bin + row->bin_n);
        }
        bins += row->bin_n;
    }
    assert_int_equal(bins, KA_BINS_N);
}

static void test_quantities__by_class_lie_where_the_writer_looks(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < KA_QUANTITY_REQUESTS; i++) {
        assert_int_equal(ka_quantities[i].first_bin,
                         i * KA_QUANTITY_BINS(KA_TIME_BITS));
    }
}

static void test_counters__each_has_a_name_of_its_own(void **state)
{
    size_t i, k;

    (void)state;
    for (i = 0; i < KA_COUNTER_N; i++) {
        ka_counter_row row = ka_counter_describe(i);

        if (i >= KA_REASON_N && i < KA_COUNTER_PIPELINED) {
            assert_null(row.name); /* room for reasons to come */
            continue;
        }
        assert_non_null(row.name);
        assert_non_null(row.help);
        assert_true((row.label == NULL) == (row.value == NULL));
        for (k = 0; k < i; k++) {
            ka_counter_row other = ka_counter_describe(k);

            assert_false(other.name && strcmp(row.name, other.name) == 0 &&
                         (!row.value || strcmp(row.value, other.value) == 0));
        }
    }
    assert_null(ka_counter_describe(KA_COUNTER_N).name);
}

static void test_reasons__names_are_the_interface(void **state)
{
    static const char *const names[] = {
        "idle_timeout", "client_closed", "client_close_header",
        "http10",       "max_requests",  "keepalive_off",
        "policy",       "error_status",  "aborted",
        "evicted",      "retired",       "graceful",
        "no_request",   "lost",          "other"};
    unsigned i;

    (void)state;
    assert_int_equal(KA_REASON_N, sizeof(names) / sizeof(names[0]));
    for (i = 0; i < KA_REASON_N; i++) {
        assert_string_equal(ka_reason_name(i), names[i]);
        assert_true(strlen(ka_reason_help(i)) > 10);
    }
    assert_string_equal(ka_reason_name(KA_REASON_N), "other");
    assert_string_equal(ka_reason_name(UINT32_MAX), "other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_segment__formatted_passes_its_check),
        unit_test(test_segment__sections_follow_each_other),
        unit_test(test_segment__last_vhost_is_other),
        unit_test(test_segment__another_plan_does_not_fit),
        unit_test(test_segment_plan__is_kept_in_bounds),
        unit_test(test_segment_check__hostile),
        unit_test(test_segment_check__every_truncation),
        unit_test(test_segment_check__a_higher_minor_is_read),
        unit_test(test_gauges__fields_do_not_touch),
        unit_test(test_gauges__below_zero_is_zero_and_borrows_nothing),
        unit_test(test_quantities__bins_fill_the_block_without_overlap),
        unit_test(test_quantities__by_class_lie_where_the_writer_looks),
        unit_test(test_counters__each_has_a_name_of_its_own),
        unit_test(test_reasons__names_are_the_interface),
    };

    return unit_main(tests);
}
