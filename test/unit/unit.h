/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What every unit test needs: cmocka, one pool per test, assert_near. */
#ifndef KA_TEST_UNIT_H
#define KA_TEST_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <math.h>
#include <cmocka.h>
#include <apr_general.h>
#include <apr_pools.h>

#define assert_near(a, b, tolerance)                                           \
    do {                                                                       \
        double near_a_ = (a), near_b_ = (b), near_t_ = (tolerance);            \
        if (!(fabs(near_a_ - near_b_) <= near_t_)) {                           \
            fail_msg("%s = %.9g, expected %s = %.9g within %.3g", #a, near_a_, \
                     #b, near_b_, near_t_);                                    \
        }                                                                      \
    } while (0)

/* Fixture: *state is a pool of the test's own. */
static inline int unit_pool_make(void **state)
{
    apr_pool_t *pool;

    if (apr_pool_create(&pool, NULL) != APR_SUCCESS) {
        return -1;
    }
    *state = pool;
    return 0;
}

static inline int unit_pool_destroy(void **state)
{
    apr_pool_destroy(*state);
    return 0;
}

/* cmocka.h still carries a deprecated macro of this name. */
#undef unit_test
#define unit_test(function)                                                    \
    cmocka_unit_test_setup_teardown(function, unit_pool_make,                  \
                                    unit_pool_destroy)

static inline int unit_run(const char *name, const struct CMUnitTest *tests,
                           size_t n)
{
    int failed;

    apr_initialize();
    failed = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    apr_terminate();
    return failed;
}

#define unit_main(tests)                                                       \
    unit_run(__FILE__, tests, sizeof(tests) / sizeof((tests)[0]))

#endif
