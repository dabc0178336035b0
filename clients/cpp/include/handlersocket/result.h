// result.h: the result of a call: its value or an Error. No call of this library throws unless its name says so:
// value() does, for programs that prefer exceptions.
//
//   if (auto rows = connection.find(user, {101})) use(*rows); else std::cerr << rows.error().message();
//   Rows rows = connection.find(user, {101}).value();            // throws handlersocket::Exception
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace handlersocket {

struct Error {
  enum class Kind {
    refused,    ///< the server answered this request with an error; the connection stays open
    connect,    ///< no connection: name, port, socket or TLS
    closed,     ///< the connection ended before the reply; a requested change may have happened
    timeout,    ///< the reply did not come in time; the connection is closed
    malformed,  ///< the received bytes are no reply to the request; the connection is closed
    too_large,  ///< the reply is longer than Options::reply_bytes_max; the connection is closed
    usage,      ///< wrong use of a call; nothing was sent
    exhausted,  ///< the pool has no free connection, and none became free in time
  };

  Kind kind = Kind::refused;
  unsigned code = 0;   ///< a refused request's: 1 the server, 2 the request, 3 authentication
  std::string text{};  ///< a refused request's, as the server sent it: a word, a number or a sentence

  /// A row with an equal primary or unique key exists.
  bool duplicate() const { return kind == Kind::refused && code == 1 && text == "121"; }
  /// Not authenticated, or the account lacks a privilege.
  bool unauthorized() const { return kind == Kind::refused && code == 3; }
  /// A readable sentence.
  std::string message() const;
};

class Exception : public std::runtime_error {
 public:
  explicit Exception(Error error) : std::runtime_error(error.message()), error_(std::move(error)) {}
  const Error &error() const noexcept { return error_; }

 private:
  Error error_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const noexcept { return held_.index() == 0; }

  /// Throw Exception if there is an error instead.
  T &value() & { return checked(), *std::get_if<0>(&held_); }
  const T &value() const & { return checked(), *std::get_if<0>(&held_); }
  T value() && { return checked(), std::move(*std::get_if<0>(&held_)); }

  /// As value(): a forgotten check is an exception, never a wild read.
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  /// For a failed call; throws std::bad_variant_access if there is none.
  const Error &error() const { return std::get<1>(held_); }

 private:
  void checked() const {
    if (const Error *error = std::get_if<1>(&held_)) throw Exception(*error);
  }

  std::variant<T, Error> held_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const noexcept { return !error_; }
  void value() const {
    if (error_) throw Exception(*error_);
  }
  /// For a failed call; throws std::bad_optional_access if there is none.
  const Error &error() const { return error_.value(); }

 private:
  std::optional<Error> error_{};
};

}  // namespace handlersocket
