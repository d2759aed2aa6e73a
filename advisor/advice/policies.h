/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Inside advice/: what mod_kapolicy would do. */
#ifndef KA_POLICIES_H
#define KA_POLICIES_H

#include "decide.h"

/**
 * R16: a timeout for each class, and what it does beside the answer's own.
 *
 * Each gets the smallest that loses at most delta of its own reuse ([M18] on
 * the class), at least 1 s as the Keep-Alive header says whole seconds, no
 * longer than the present one where what fits is not known.  Where that does
 * not fit, they are shortened in turn, always the one that frees most for what
 * it opens, until it does.
 *
 * It is proposed where it frees a tenth of the workers held in the mean, and
 * one at least, for a tenth more of the connections opened at most; or opens a
 * tenth less for a tenth more of what is held.
 *
 * From single requests it is [M20]; else from the classes' histograms, with
 * quantiles and peak of the timeouts at which as many are held in the mean.
 *
 * @param out  untouched unless it is proposed
 */
void ka_policy_choose_classes(ka_policy_by_class *out, const ka_decision *d,
                              const ka_mpm_answer *answer);

#endif
