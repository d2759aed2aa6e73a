/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From requests in order to batches for a stream: for logs of which the
 * format names connections, or could, but whose requests turn out to be told
 * apart by coarse times only.
 */
#ifndef KA_STREAM_REQUESTS_H
#define KA_STREAM_REQUESTS_H

#include "../sources/observation.h"
#include "stream.h"

typedef struct ka_stream_requests ka_stream_requests;

/**
 * @param stream  outlives it; gets nothing from elsewhere
 * @param off     KeepAlive is Off: that a response is final says nothing
 *                about its client
 * @return to be freed by ka_stream_requests_free; NULL without memory
 */
ka_stream_requests *ka_stream_requests_make(ka_stream *stream, bool off);
void ka_stream_requests_free(ka_stream_requests *requests);

/** Takes a request, in order of start. */
void ka_stream_requests_take(ka_stream_requests *requests,
                             const ka_request *request);

/** Hands on the last ones; ka_stream_finish may be called then. */
void ka_stream_requests_end(ka_stream_requests *requests);

#endif
