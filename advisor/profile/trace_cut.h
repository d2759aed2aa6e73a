/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A part of a trace as a trace of its own.
 *
 *                 first                    end
 *     chain  ==|...|==|....|==|......|==|...|==|...
 *                  ^ opens here         ^ tail = the gap that follows
 */
#ifndef KA_TRACE_CUT_H
#define KA_TRACE_CUT_H

#include "trace.h"

/** Index of the first request that begins to add busy time at at_us or later;
 * request_n if there is none.  Those that joined others may stand a little
 * out of order: then one nearby. */
size_t ka_trace_at(const ka_trace *trace, int64_t at_us);

/**
 * The requests [first, end) of a trace.  A chain that began before opens with
 * its first request in there; one that goes on after it keeps idle until its
 * next request comes, and ends.  The window ends with the last response, or
 * where request `end` begins if that is before.
 * @param out  the caller's, to be cleared
 * @return false: no memory (or the trace has failed); out is empty then
 * O(n) of the whole trace.
 */
bool ka_trace_cut(ka_trace *out, const ka_trace *trace, size_t first,
                  size_t end);

#endif
