// http.h: detects HTTP on a port of another protocol.
//
// A web page can make a browser send a request to any port of its machine and network, with lines of the page's choice
// in the body. A session that reads a line outside its protocol checks it here, and closes the connection if it is
// HTTP, so that the body is never taken for requests.
#pragma once

#include "base/bytes.h"

namespace postern {

/// Whether a line, without its end, is the first of an HTTP request or its `Host:` header. Total: any bytes.
[[nodiscard]] bool is_http(Bytes line);

}  // namespace postern
