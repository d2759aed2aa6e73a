/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Blocking with a real number of servers, and Hayward's approximation for
 * over-dispersed load ([M12]).
 *
 *   1/B(s, A) = A x integral_0^inf exp(-A y) (1 + y)^s dy      (Jagerman)
 *   B(s+1, A) = A B(s, A) / (s + 1 + A B(s, A))
 *   Hayward:    B(c, A, z) ~= B(c/z, A/z)                      (Fredericks)
 *
 * All functions are pure and safe from any thread.
 */
#ifndef KA_ERLANG_H
#define KA_ERLANG_H

/* Blocking that sizing accepts. */
#define KA_BLOCKING 1e-3

/**
 * Erlang B, the share of arrivals that find all servers busy; relative error
 * below 1e-9.  Past 1e9 erlangs the fluid limit, max(0, 1 - servers/load).
 * @param servers  >= 0, real; negative and NaN are taken as 0
 * @param load     offered load in erlangs, >= 0; 0 gives 0 (1 with 0 servers);
 *                 negative and NaN are taken as 0
 * @return 0 .. 1
 * Takes O(sqrt(load)) steps.
 */
double ka_erlang_b(double servers, double load);

/**
 * [M12] The smallest integer c with B(c/z, A/z) <= eps.
 * @param mean  A, mean number of holders, >= 0; 0, negative or not finite
 *              gives 0
 * @param z     variance / mean; values under 1 (and NaN) are taken as 1, so
 *              that a short quiet trace is never sized below Poisson; at most
 *              1e9
 * @param eps   0 < eps < 1; anything else is taken as KA_BLOCKING
 * @return workers, >= ceil(mean)
 */
double ka_workers_needed(double mean, double z, double eps);

#endif
