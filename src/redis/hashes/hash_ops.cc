#include "redis/hashes/hash_ops.h"

namespace postern::redis {

bool may_write_hash(Call &call, const Place &place) {
  if (place.state != Place::State::there) refuse_place(call, place);
  else if (place.map().kind() == Map::Kind::value) refuse(call, wrong_type);
  else if (place.map().read_only()) refuse_read_only(call, place);
  else return true;
  return false;
}

std::span<Value> values_of(Call &call, size_t first, size_t step) {
  const std::span<Value> values = call.arena().array<Value>((call.arguments.size() - first + step - 1) / step);
  for (size_t i = 0; i < values.size(); ++i) values[i] = Value::of(call.arguments[first + i * step]);
  return values;
}

}  // namespace postern::redis
