#include "workload.h"

#include <algorithm>
#include <array>

namespace postern::bench {
namespace {

constexpr std::array<const char *, kinds> names = {"find", "multi", "scan", "update", "insert", "increment", "zero"};
constexpr Bytes domain = "@example.org";
/// A value repeats its key in this many digits.
constexpr size_t value_digits = 10;
constexpr uint32_t value_bytes_max = 16 << 20;
constexpr uint32_t columns_max = 1000;

/// Takes `expected` off the front of `text`; false if something else is there.
bool take(Bytes &text, Bytes expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

/// A key's digits, printed once for all columns that contain them.
class Digits {
 public:
  explicit Digits(uint64_t key) : size_(static_cast<size_t>(print_natural(text_, key) - text_)) {}
  Bytes get() const { return {text_, size_}; }

 private:
  char text_[20];
  size_t size_;
};

bool take_name(Bytes &text, Bytes key) {
  if (!take(text, "name") || !take(text, key)) return false;
  if (!take(text, ".")) return true;
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  text.remove_prefix(digits);
  return digits != 0;
}

bool take_email(Bytes &text, Bytes key) {
  return take(text, "user") && take(text, key) && take(text, domain);
}

void put_value(std::string &out, uint64_t key, size_t size) {
  const Digits digits(key);
  std::string once(value_digits - std::min(value_digits, digits.get().size()), '0');
  once += digits.get();
  const size_t end = out.size() + size;
  while (out.size() < end) out.append(once, 0, end - out.size());
}

/// Compares a large value with itself shifted by one period, so that a check costs less than sending the value.
bool is_value(Bytes text, uint64_t key, size_t size) {
  if (text.size() != size) return false;
  const size_t first = std::min(size, value_digits);
  std::string expected;
  put_value(expected, key, first);
  return text.starts_with(expected) && text.substr(first) == text.substr(0, size - first);
}

/// `5.12` is the fifth column of row 12.
void put_column(std::string &out, size_t column, uint64_t key) {
  put_number(out, column + 1);
  out += '.';
  put_number(out, key);
}

bool is_column(Bytes text, size_t column, uint64_t key) {
  return take(text, Digits(column + 1).get()) && take(text, ".") && text == Digits(key).get();
}

/// `head` and a number up to `most`.
bool take_sized(Bytes name, Bytes head, uint32_t most, uint32_t &size) {
  uint64_t number = 0;
  if (!take(name, head) || !parse_natural(name, number) || number == 0 || number > most) return false;
  size = static_cast<uint32_t>(number);
  return true;
}

}  // namespace

const char *name_of(Kind kind) {
  return names[static_cast<size_t>(kind)];
}

bool kind_of(Bytes name, Kind &kind) {
  for (size_t i = 0; i < kinds; ++i) {
    if (name != names[i]) continue;
    kind = static_cast<Kind>(i);
    return true;
  }
  return false;
}

bool table_of(Bytes name, Table &table) {
  uint32_t size = 0;
  if (name == "user" || name == "written" || take_sized(name, "user_", UINT32_MAX, size)) {
    table = {std::string(name), Cells::user, 0};
  } else if (name == "people") {
    table = {std::string(name), Cells::email, 0};
  } else if (take_sized(name, "value_", value_bytes_max, size)) {
    table = {std::string(name), Cells::value, size};
  } else if (take_sized(name, "wide_", columns_max, size)) {
    table = {"wide", Cells::columns, size};
  } else {
    return false;
  }
  return true;
}

std::vector<std::string> columns_of(const Table &table) {
  switch (table.cells) {
    case Cells::user: return {"user_name", "user_email", "created"};
    case Cells::email: return {"email"};
    case Cells::value: return {"value"};
    case Cells::columns: break;
  }
  std::vector<std::string> columns;
  for (uint32_t i = 1; i <= table.size; ++i) columns.push_back("c" + std::to_string(i));
  return columns;
}

uint32_t rows_of(const Request &request, const Shape &shape) {
  switch (request.kind) {
    case Kind::multi: return static_cast<uint32_t>(request.keys.size());
    case Kind::scan: return shape.scan_rows;
    case Kind::find:
    case Kind::update:
    case Kind::insert:
    case Kind::increment:
    case Kind::zero: break;
  }
  return 1;
}

void put_number(std::string &out, uint64_t number) {
  char text[20];
  out.append(text, print_natural(text, number));
}

void put_name(std::string &out, uint64_t key, uint64_t version) {
  out += "name";
  put_number(out, key);
  if (version == 0) return;
  out += '.';
  put_number(out, version);
}

void put_email(std::string &out, uint64_t key) {
  out += "user";
  put_number(out, key);
  out += domain;
}

void put_row(std::string &out, const Table &table, uint64_t key, uint64_t version, char between) {
  switch (table.cells) {
    case Cells::user:
      put_name(out, key, version);
      out += between;
      put_email(out, key);
      out += between;
      out += created;
      break;
    case Cells::email: put_email(out, key); break;
    case Cells::value: put_value(out, key, table.size); break;
    case Cells::columns:
      for (uint32_t i = 0; i < table.size; ++i) {
        if (i != 0) out += between;
        put_column(out, i, key);
      }
      break;
  }
}

std::string key_prefix(const Table &table) {
  return (table.cells == Cells::value ? table.name : "user") + ":";
}

bool is_name(Bytes text, uint64_t key) {
  return take_name(text, Digits(key).get()) && text.empty();
}

bool is_email(Bytes text, uint64_t key) {
  return take_email(text, Digits(key).get()) && text.empty();
}

bool is_cell(Bytes text, const Table &table, size_t column, uint64_t key) {
  switch (table.cells) {
    case Cells::user: return column == 0 ? is_name(text, key) : column == 1 ? is_email(text, key) : text == created;
    case Cells::email: return is_email(text, key);
    case Cells::value: return is_value(text, key, table.size);
    case Cells::columns: break;
  }
  return is_column(text, column, key);
}

bool is_row(Bytes text, const Table &table, uint64_t key, char between) {
  const Bytes separator(&between, 1);
  switch (table.cells) {
    case Cells::user: {
      const Digits digits(key);
      return take_name(text, digits.get()) && take(text, separator) && take_email(text, digits.get()) &&
             take(text, separator) && text == created;
    }
    case Cells::email: return is_email(text, key);
    case Cells::value: return is_value(text, key, table.size);
    case Cells::columns: break;
  }
  for (uint32_t i = 0; i < table.size; ++i) {
    const size_t end = i + 1 == table.size ? text.size() : std::min(text.find(between), text.size());
    if (!is_column(text.substr(0, end), i, key)) return false;
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return true;
}

uint64_t key_of_name(Bytes text) {
  uint64_t key = 0;
  if (!take(text, "name") || !parse_natural(text.substr(0, text.find('.')), key)) return 0;
  return is_name(std::string("name").append(text), key) ? key : 0;
}

}  // namespace postern::bench
