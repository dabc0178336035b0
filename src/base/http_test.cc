#include "base/http.h"

#include <gtest/gtest.h>

namespace postern {
namespace {

TEST(Http, KnowsARequestLine) {
  for (const Bytes line :
       {"GET / HTTP/1.1", "GET / HTTP/1.1\r", "GET / HTTP/1.0 ", "POST /a/b?c=d HTTP/1.1", "PUT /x HTTP/2.0",
        "HEAD / HTTP/1.1", "OPTIONS * HTTP/1.1", "CONNECT there:1 HTTP/1.1", "DELETE HTTP/1.1", "PROPFIND / HTTP/1.1",
        "PRI * HTTP/2.0", "GET /", "POST /a", "PUT http://there/", "PATCH https://there/", "GET / index.html"})
    EXPECT_TRUE(is_http(line)) << line;
}

TEST(Http, KnowsTheHeaderThatNamesAHost) {
  for (const Bytes line : {"Host: 127.0.0.1:9998", "host:x", "HOST:", "Host:\r"}) EXPECT_TRUE(is_http(line)) << line;
}

TEST(Http, KnowsNothingElse) {
  for (const Bytes line : {"", " ", "\r", "GET", "GET ", "GET a", "get / HTTP", "GETS /", "GET\t/", "POST", "Hos",
                           "Host", "Hosts:", "HTTP/1.1", "a HTTP", "aHTTP/1.1", "P\t1\ttest\tt\t\tk", "set a 0 0 1"})
    EXPECT_FALSE(is_http(line)) << line;
}

}  // namespace
}  // namespace postern
