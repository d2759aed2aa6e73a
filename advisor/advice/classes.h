/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Inside advice/: a class of requests by itself, and what backends must bear.
 */
#ifndef KA_CLASSES_H
#define KA_CLASSES_H

#include "report.h"

/**
 * [M12] Requests of a class in progress at once in the busiest period.
 *
 *   A_b   mean of busy workers there: the load whose [M12] workers are those
 *         that the outcome has
 *   A_b s the class's own, by its share s of all busy time
 *   z     variance / mean of busy workers, as for the whole
 *
 * So the whole (s = 1) needs what the outcome says; never less than the mean.
 *
 * @param share   s, 0 .. 1
 * @param growth  factor on demand
 * @return whole requests; 0 where nothing is busy
 */
double ka_class_peak(const ka_outcome *outcome, double share, double growth);

/** The same of one of n parts that share a class's load evenly, as the
 * children of a threaded MPM do: each has its own busy moments. */
double ka_class_peak_of_part(const ka_outcome *outcome, double share,
                             double growth, int64_t n);

/** The class's share of all busy time; 0 where service times are not known. */
double ka_class_busy_share(const ka_profile *profile, ka_class cls);

/** Whether service times of most of the class's requests are known. */
bool ka_class_busy_known(const ka_profile *profile, ka_class cls);

#endif
