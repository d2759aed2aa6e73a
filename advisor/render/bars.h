/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#ifndef KA_BARS_H
#define KA_BARS_H

#include <ka_histogram.h>
#include "page.h"

/** A distribution of microseconds as bars under a heading; nothing if it is
 * empty. */
void ka_bars(ka_page *page, const char *title, const ka_hist *h);

#endif
