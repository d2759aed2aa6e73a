/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#ifndef KA_COMMAND_DOCTOR_H
#define KA_COMMAND_DOCTOR_H

#include "../render/doctor.h"

/**
 * Looks at the httpds of a host, its memory and its limits.  Never fails: what
 * could not be read is in the tables of what is missing.
 * @param root  "" or a directory that holds proc/ and sys/
 */
void ka_doctor_read(ka_doctor *out, const char *root, apr_pool_t *pool);

#endif
