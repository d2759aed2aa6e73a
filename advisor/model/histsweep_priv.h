/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What the files of histsweep.h share. */
#ifndef KA_HISTSWEEP_PRIV_H
#define KA_HISTSWEEP_PRIV_H

#include "histsweep.h"

/* limit_us: T0, above which there is nothing; KA_TIMEOUT_OFF: no such limit.
 * Within the bin that us falls into, values are taken as evenly spread. */

/** #{v > us} */
double ka_histsweep_above(const ka_hist *h, int64_t us, int64_t limit_us);

/** sum min(v, us) */
double ka_histsweep_capped(const ka_hist *h, int64_t us, int64_t limit_us);

#endif
