#include "workload.h"

#include <array>

namespace postern::bench {
namespace {

constexpr std::array<const char *, kinds> names = {"find", "multi", "scan", "update", "insert", "increment", "zero"};
constexpr std::array<const char *, 3> tables = {"user", "written", "people"};
constexpr Bytes domain = "@example.org";

/// Takes `expected` off the front of `text`; false if something else is there.
bool take(Bytes &text, Bytes expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

/// A key's digits, printed once for all the columns they are in.
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

const char *name_of(Table table) {
  return tables[static_cast<size_t>(table)];
}

bool table_of(Bytes name, Table &table) {
  for (size_t i = 0; i < tables.size(); ++i) {
    if (name != tables[i]) continue;
    table = static_cast<Table>(i);
    return true;
  }
  return false;
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

void put_row(std::string &out, uint64_t key, uint64_t version, char between) {
  put_name(out, key, version);
  out += between;
  put_email(out, key);
  out += between;
  out += created;
}

bool is_name(Bytes text, uint64_t key) {
  return take_name(text, Digits(key).get()) && text.empty();
}

bool is_email(Bytes text, uint64_t key) {
  return take_email(text, Digits(key).get()) && text.empty();
}

bool is_row(Bytes text, uint64_t key, char between) {
  const Digits digits(key);
  const Bytes separator(&between, 1);
  return take_name(text, digits.get()) && take(text, separator) && take_email(text, digits.get()) &&
         take(text, separator) && text == created;
}

uint64_t key_of_name(Bytes text) {
  uint64_t key = 0;
  if (!take(text, "name") || !parse_natural(text.substr(0, text.find('.')), key)) return 0;
  return is_name(std::string("name").append(text), key) ? key : 0;
}

}  // namespace postern::bench
