// options.h: the parameters of connections, indexes and requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "handlersocket/value.h"

namespace handlersocket {

/// How a connection is encrypted. The server's certificate is verified unless that is turned off.
struct Tls {
  std::string ca_file{};           ///< PEM file of certificates to trust; empty: those of the system
  bool verify = true;              ///< false: encrypted, but the peer is not authenticated
  std::string server_name{};       ///< the name or address that the certificate must have; empty: Options::host
  std::string certificate_file{};  ///< PEM file of the client's own certificate, if the server wants one
  std::string key_file{};
};

/// An account of the database, for servers with handlersocket_auth = account.
struct Account {
  std::string user{};
  std::string password{};
};

struct Options {
  std::string host = "127.0.0.1";
  uint16_t port = 9998;       ///< 9998 reads, 9999 reads and writes
  std::string unix_socket{};  ///< path; host and port are ignored then
  std::optional<Tls> tls{};
  std::optional<std::string> secret{};  ///< the port's plain secret
  std::optional<Account> account{};
  /// For connecting, the TLS handshake and authentication together; looking up the host's name is not covered.
  std::chrono::milliseconds connect_timeout{10'000};
  /// For each whole reply, and for each flush.
  std::chrono::milliseconds request_timeout{60'000};
  size_t reply_bytes_max = size_t{256} << 20;  ///< one reply as it is sent, without its LF
};

/// An index to open. Columns are those that finds return and that inserts and updates set, in this order.
struct IndexSpec {
  std::string database{};
  std::string table{};
  std::string index = "PRIMARY";  ///< a name, or a position in SHOW INDEX if it begins with a digit
  std::vector<std::string> columns{};
  std::vector<std::string> filter_columns{};  ///< columns for filters
  std::optional<uint32_t> id{};               ///< on the wire; the connection counts up unless it is given
};

/// Compares a filter column with a value. A row for which that is false is skipped, or ends the find.
struct Filter {
  size_t column = 0;            ///< position among IndexSpec::filter_columns
  std::string operation = "=";  ///< = != < <= > >=
  Value value{};                ///< borrows its bytes, as values do
  bool ends = false;            ///< the first row for which it is false ends the find
};

/// Each of the values in turn in the place of one key value.
struct In {
  size_t part = 0;              ///< in the key; the key's own value there is ignored
  std::vector<Value> values{};  ///< borrow their bytes
};

/// The rows along an index that a find or a modification selects.
struct Where {
  std::string operation = "=";  ///< = > >= < <=
  uint64_t limit = 1;           ///< rows that pass the filters; 0 is 1
  uint64_t offset = 0;
  std::optional<In> in{};
  std::vector<Filter> filters{};
};

}  // namespace handlersocket
