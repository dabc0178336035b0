// http.h: whether somebody speaks HTTP to a port that has another protocol.
//
// A page in a browser can make it send a request to any port of the browser's machine and network, with lines of the
// page's choice in the body. A session asks here about a line that is no request of its protocol, and hangs up without
// a word if it is HTTP: so the body is never taken for requests.
#pragma once

#include "base/bytes.h"

namespace postern {

/// Whether a line, without its end, is the first of an HTTP request or its `Host:` header. Total: any bytes.
[[nodiscard]] bool is_http(Bytes line);

}  // namespace postern
