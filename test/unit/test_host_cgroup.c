/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "hosttree.h"
#include "host/cgroup.h"

#define M (INT64_C(1) << 20)
#define ROOT(name) "test/data/proc/" name

static ka_cgroup read_group(const char *root, int pid, apr_pool_t *pool)
{
    ka_cgroup cgroup;

    ka_cgroup_read(&cgroup, root, pid, pool);
    return cgroup;
}

static const ka_cgroup_memory *limit_at(const ka_cgroup *cgroup, int i)
{
    assert_true(i < cgroup->memory->nelts);
    return &APR_ARRAY_IDX(cgroup->memory, i, const ka_cgroup_memory);
}

static void test_cgroup__m14_v2_every_ancestor_counts(void **state)
{
    ka_cgroup c = read_group(ROOT("prefork-v2"), 1000, *state);
    const ka_cgroup_memory *own, *slice;

    assert_true(c.known);
    assert_null(c.missing);
    assert_int_equal(c.version, 2);
    assert_string_equal(c.path, "/system.slice/apache2.service");
    assert_int_equal(c.memory->nelts, 2); /* "max" is no limit, nor is none */
    own = limit_at(&c, 0);
    assert_string_equal(own->path, "/system.slice/apache2.service");
    assert_string_equal(own->origin, "/sys/fs/cgroup/system.slice/"
                                     "apache2.service/memory.high");
    assert_int_equal(own->limit_bytes, 1536 * M);
    assert_int_equal(own->used_bytes, 160 * M); /* 260 less cache of 100 */
    slice = limit_at(&c, 1);
    assert_string_equal(slice->path, "/system.slice");
    assert_string_equal(slice->origin,
                        "/sys/fs/cgroup/system.slice/memory.max");
    assert_int_equal(slice->limit_bytes, 2048 * M);
    assert_int_equal(slice->used_bytes, 1000 * M);
    assert_true(own->seen && slice->seen);
    assert_int_equal(c.oom_kills, 1);
}

static void test_cgroup__v2_processors_and_processes(void **state)
{
    ka_cgroup c = read_group(ROOT("prefork-v2"), 1000, *state);

    assert_near(c.cpus, 1.5, 1e-12);
    assert_near(c.throttled, 0.05, 1e-12);
    assert_string_equal(c.cpu_origin, "/sys/fs/cgroup/system.slice/"
                                      "apache2.service/cpu.max");
    assert_int_equal(c.pids_max, 200);
    assert_int_equal(c.pids_now, 120);
}

static void test_cgroup__m14_v1_sentinel_is_no_limit(void **state)
{
    ka_cgroup c = read_group(ROOT("docker-v1"), 1, *state);
    const ka_cgroup_memory *hidden;

    assert_true(c.known);
    assert_int_equal(c.version, 1);
    assert_int_equal(c.memory->nelts, 1);
    hidden = limit_at(&c, 0); /* of an ancestor outside of the container */
    assert_false(hidden->seen);
    assert_int_equal(hidden->limit_bytes, 512 * M);
    assert_non_null(strstr(hidden->origin, "hierarchical_memory_limit"));
    assert_near(c.cpus, 0.5, 1e-12);
    assert_near(c.throttled, 0.4, 1e-12);
    assert_int_equal(c.pids_max, -1);
    assert_int_equal(c.oom_kills, 0);
}

static void
test_cgroup__m14_container_sees_its_own_group_as_the_mount(void **state)
{
    ka_cgroup c = read_group(ROOT("container-v2"), 1, *state);

    assert_true(c.known);
    assert_int_equal(c.memory->nelts, 1);
    assert_int_equal(limit_at(&c, 0)->limit_bytes, 256 * M);
    assert_string_equal(limit_at(&c, 0)->path, "/");
    assert_string_equal(limit_at(&c, 0)->origin, "/sys/fs/cgroup/memory.max");
    assert_near(c.cpus, -1, 0); /* cpu.max holds nonsense */
    assert_int_equal(c.pids_max, 0);
    assert_int_equal(c.pids_now, -1);
}

static void test_cgroup__what_is_not_known_is_said(void **state)
{
    ka_cgroup climbs = read_group(ROOT("broken"), 101, *state);
    ka_cgroup gone = read_group(ROOT("broken"), 999, *state);

    /* /../../other must not be walked out of /sys/fs/cgroup */
    assert_false(climbs.known);
    assert_non_null(strstr(climbs.missing, "--memory"));
    assert_int_equal(climbs.memory->nelts, 0);
    assert_false(gone.known);
    assert_non_null(strstr(gone.missing, "/proc/999/cgroup"));
    assert_null(ka_cgroup_memory_path(ROOT("broken"), 999, 2, *state));
}

/* The mount's directory is that of an ancestor: its limit is not ours. */
static void test_cgroup__mounted_from_outside_the_name_space(void **state)
{
    hosttree *tree = *state;
    ka_cgroup c;

    hosttree_text(tree, "/proc/5/cgroup", "4:memory:/\n0::/\n");
    hosttree_text(tree, "/proc/self/mountinfo",
                  "50 46 0:31 /../../.. /sys/fs/cgroup/memory rw - cgroup "
                  "cgroup rw,memory\n"
                  "51 46 0:32 / /sys/fs/cgroup/unified rw - cgroup2 "
                  "cgroup2 rw\n");
    hosttree_text(tree, "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                  "9223372036854771712\n");
    c = read_group(tree->root, 5, tree->pool);
    assert_false(c.known);
    assert_non_null(strstr(c.missing, "--memory"));
    assert_int_equal(c.memory->nelts, 0);
}

static void test_cgroup__within(void **state)
{
    static const struct {
        const char *path, *ancestor;
        bool within;
    } cases[] = {{"/a/b", "/a", true},  {"/a", "/a", true},
                 {"/ab", "/a", false},  {"/", "/a", false},
                 {"/a/b", "/", true},   {"/", "/", true},
                 {"/a/b", "/a/", true}, {"/a", "/a/b", false}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (ka_cgroup_within(cases[i].path, cases[i].ancestor) !=
            cases[i].within) {
            fail_msg("%s within %s", cases[i].path, cases[i].ancestor);
        }
    }
}

static void test_cgroup__memory_path_by_version(void **state)
{
    assert_string_equal(ka_cgroup_memory_path(ROOT("docker-v1"), 30, 1, *state),
                        "/docker/1a2b");
    assert_string_equal(
        ka_cgroup_memory_path(ROOT("prefork-v2"), 2000, 2, *state),
        "/system.slice/mariadb.service");
    assert_null(ka_cgroup_memory_path(ROOT("prefork-v2"), 2000, 1, *state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_cgroup__m14_v2_every_ancestor_counts),
        unit_test(test_cgroup__v2_processors_and_processes),
        unit_test(test_cgroup__m14_v1_sentinel_is_no_limit),
        unit_test(test_cgroup__m14_container_sees_its_own_group_as_the_mount),
        unit_test(test_cgroup__what_is_not_known_is_said),
        hosttree_test(test_cgroup__mounted_from_outside_the_name_space),
        unit_test(test_cgroup__within),
        unit_test(test_cgroup__memory_path_by_version)};

    return unit_main(tests);
}
