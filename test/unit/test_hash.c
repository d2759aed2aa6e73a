/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Hashes stay what they are: profiles of different hosts are merged by them. */
#include "unit.h"

#include "sources/hash.h"

static void test_hash__values_are_fixed(void **state)
{
    static const char text[] = "198.51.100.1 Mozilla/5.0 (X11; Linux x86_64)";
    static const struct {
        size_t length;
        uint64_t hash;
    } cases[] = {
        { 0, UINT64_C(0xb89ed4593248fb8f) },
        { 1, UINT64_C(0x1c5313ff973fee18) },
        { 2, UINT64_C(0x2ead908c4219519d) },
        { 3, UINT64_C(0x4d283eee11a9dcce) },
        { 4, UINT64_C(0xd1895baf234d2b79) },
        { 5, UINT64_C(0xc1a46cd182bb9fbf) },
        { 7, UINT64_C(0xb69c35f8b4a6cc5d) },
        { 8, UINT64_C(0x8b37d30577530464) },
        { 9, UINT64_C(0x3ec2e6ba847e5f82) },
        { 12, UINT64_C(0x1f9297bbb243b1af) },
        { 15, UINT64_C(0x96702ad3acc8a760) },
        { 16, UINT64_C(0x4e88f60aba5b4bb1) },
        { 17, UINT64_C(0x8ddb3dcd9f77b0f2) },
        { 23, UINT64_C(0xb9a6e3e396b5f193) },
        { 24, UINT64_C(0x3b7e668d2c3d78dd) },
        { 25, UINT64_C(0x2c35c1605f4effc6) },
        { 31, UINT64_C(0xfee68ead0a2ccbaa) },
        { 32, UINT64_C(0x28db3f2aae9ea478) },
        { 33, UINT64_C(0x9bc907cf7f050346) },
        { 44, UINT64_C(0x60768b7236142b35) },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        /* In a block of just its size, so that a byte too far is seen. */
        const size_t n = cases[i].length;
        char *copy = malloc(n ? n : 1);

        assert_non_null(copy);
        memcpy(copy, text, n);
        assert_int_equal(ka_hash_bytes(copy, n), cases[i].hash);
        free(copy);
    }
    assert_int_equal(ka_hash_pair(1, 2), UINT64_C(0x13ad2dc402abbe5a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_hash__values_are_fixed),
    };

    return unit_main(tests);
}
