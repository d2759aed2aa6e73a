/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside advice/: the block that is proposed, and the present settings, played
 * by the simulation (model/sim.h) under the busiest stretch of the traffic; and
 * the search for the numbers with which nobody waits.
 *
 * Nobody waits: at p99.9 of connections none waits for a worker, no request is
 * lost, and no more than one in a thousand meets an eviction.
 */
#ifndef KA_SIMULATED_H
#define KA_SIMULATED_H

#include "decide.h"

/* What would have to be more; 0: the block has enough. */
typedef struct ka_simulated_more {
    uint32_t workers;   /* MaxRequestWorkers */
    uint32_t min_spare;
    uint32_t async_factor;
} ka_simulated_more;

/**
 * Plays the answer's block.
 * @param a      its `simulated` is filled
 * @return false: there is nothing to play, or no memory
 * Of a group, under the traffic of its busiest server.
 */
bool ka_simulate_block(const ka_decision *d, ka_mpm_answer *a);

/**
 * Plays the answer's block from a start with its StartServers as the stretch
 * begins.
 * @return the smallest StartServers with which nobody waits, about as above; 0:
 *         they are enough, or no number is
 */
uint32_t ka_simulate_start(const ka_decision *d, ka_mpm_answer *a);

/** Plays the present settings, if all that count are known. */
void ka_simulate_now(const ka_decision *d, ka_mpm_answer *a);

/** Plays the answer's block under another timeout, or by load.
 * @param adaptive  NULL: no; else timeout_us is its max_us
 * @return as ka_simulate_block */
bool ka_simulate_otherwise(ka_sim_result *out, const ka_decision *d,
                           const ka_mpm_answer *a, int64_t timeout_us,
                           const ka_adaptive *adaptive);

/**
 * The smallest numbers with which nobody waits, or, where none are enough, with
 * which fewest do; about: within a sixteenth.
 * @param limit  workers that memory holds; -1: not known
 */
ka_simulated_more ka_simulate_search(const ka_decision *d,
                                     const ka_mpm_answer *a, int64_t limit);

#endif
