/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A graceful restart (R10): children of the old generation accept nothing more
 * and finish, event's idle connections are closed, and a new generation begins
 * with StartServers, as far as the old one leaves it room in the scoreboard.
 */
#include "sim_priv.h"

static int64_t instant_of(const ka_sim *s)
{
    return ka_sim_add(s->traffic->begin_us, s->config->restart_us);
}

void ka_sim_expect_restart(ka_sim *s)
{
    if (s->config->restart_us >= 0 && instant_of(s) < s->traffic->end_us) {
        ka_sim_push(s, instant_of(s), KA_SIM_RESTART, 0);
    }
}

/* Children that find a slot beside those that are ending: on prefork each of
 * them has one, on event those of ServerLimit are for them, on worker a slot is
 * given anew as soon as a thread in it has ended. */
static uint32_t room_for_new(const ka_sim *s)
{
    const ka_spawn_settings *spawn = &s->parent.settings;
    const uint32_t ending = s->ending.children;
    const uint32_t slots = spawn->mpm == KA_MPM_EVENT ? spawn->server_limit
                                                      : s->parent.limit;

    if (spawn->mpm == KA_MPM_WORKER) {
        return s->parent.limit;
    }
    return slots > ending ? slots - ending : 0;
}

void ka_sim_restart(ka_sim *s, uint32_t unused)
{
    const uint64_t retired = s->out->retired;
    size_t i;

    (void)unused;
    for (i = 0; i < s->child_n; i++) {
        if (s->children[i].used && !s->children[i].ending) {
            s->out->ended++;
            ka_sim_end_child(s, (uint32_t)i);
        }
    }
    s->out->restart.closed = s->out->retired - retired;
    s->parent = ka_spawner_of(&s->config->spawn);
    if (s->parent.children > room_for_new(s)) {
        s->parent.children = room_for_new(s);
    }
    s->out->spawned += s->parent.children;
    ka_sim_start(s, s->parent.children, s->config->child_start_us == 0);
    ka_sim_dispatch(s);
}

void ka_sim_count_wave(ka_sim *s, int64_t came_us, int64_t wait_us)
{
    ka_sim_wave *wave = &s->out->restart;
    const int64_t at = instant_of(s);

    if (s->config->restart_us < 0 ||
        came_us >= ka_sim_add(at, KA_SIM_WAVE_US)) {
        return;
    }
    if (came_us < at) {
        wave->opened_before += came_us >= ka_sim_add(at, -KA_SIM_WAVE_US);
        return;
    }
    wave->opened_after++;
    wave->waited += wait_us > 0;
    wave->wait_most_us =
        wait_us > wave->wait_most_us ? wait_us : wave->wait_most_us;
}
