/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Between tallies, profile files and analyses: an analysis of logs becomes
 * the tally that a profile file holds, and tallies become an analysis.
 */
#ifndef KA_COMMAND_ANALYSIS_PROFILE_H
#define KA_COMMAND_ANALYSIS_PROFILE_H

#include "../sources/profilefile.h"
#include "analysis.h"

/**
 * Whether the sources are profiles.
 * @param error  on failure a text for the user
 * @return APR_SUCCESS; APR_EINVAL: some are and some are not
 */
apr_status_t ka_analysis_find_profiles(bool *profiles, const char **error,
                                       const ka_options *options,
                                       apr_pool_t *pool);

/** What is wrong with the options for profiles, as a text for the user; NULL
 * if nothing is. */
const char *ka_profile_unfit(const char *path, const ka_options *options,
                             apr_pool_t *pool);

/**
 * Reads profiles; a file that is named twice is read once.
 * @param hosts   added to
 * @param paths   paths[n]
 * @return as ka_profilefile_read
 */
apr_status_t ka_profiles_read(ka_hosts *hosts, const char **error,
                              const char *const *paths, size_t n,
                              apr_pool_t *pool);

/** ka_analysis_run for sources that are all profiles: analysis is empty but
 * for `server`.  Several servers become its members. */
apr_status_t ka_analysis_profiles(ka_analysis *analysis, const char **error,
                                  const ka_options *options, apr_pool_t *pool);

/**
 * The second half of an analysis without a trace: profile, timeouts, lengths
 * and report from the tally; tally, source and server are set, the latter with
 * T0 if it is known.
 * @return APR_SUCCESS; APR_EINVAL, APR_ENOMEM
 */
apr_status_t ka_analysis_of_tally(ka_analysis *analysis,
                                  const ka_options *options, apr_pool_t *pool);

/**
 * The tally of an analysis of logs: the one that it was counted into, or one
 * made from its trace.
 * @param host  the server's name, not empty
 * @return the caller's, to be freed by ka_tally_free; NULL without memory
 */
ka_tally *ka_analysis_tally(ka_analysis *analysis, const char *host,
                            apr_pool_t *pool);

#endif
