// geo_search.h: GeoSearch, which finds the members of a sorted set in an area of the earth, and replies that GEO
// commands share.
#pragma once

#include <string>
#include <vector>

#include "redis/collections/collections.h"
#include "redis/geo/geo_arguments.h"

namespace postern::redis {

/// Writes a distance as Redis does, with four digits after the point.
void write_distance(Writer &to, double distance);
/// Writes longitude and latitude without trailing zeros.
void write_point(Writer &to, geo::Point point);

/// GEOSEARCH, GEORADIUS and their forms that store.
class GeoSearch final : public CollectionWork {
 public:
  /// `source`: the sorted set. `target`: where the result is stored, if it is.
  GeoSearch(Call &call, OpenMap &open, const GeoReading &reading, Bytes source, std::optional<Bytes> target)
      : CollectionWork(call, open), reading_(reading), source_(source), target_(target) {}

 private:
  struct Found {
    std::string member{};
    double score = 0;
    geo::Point point{};
    double metres = 0;
  };

  Task<> run() override;
  /// False: no such member.
  Task<bool> find_member(const Entry &source, GeoQuery &query);
  Task<> search(const Entry &source, const GeoQuery &query, std::vector<Found> &found);
  Task<> store_result(const Entry &target, const GeoQuery &query, const std::vector<Found> &found);
  void tell_found(const GeoQuery &query, const std::vector<Found> &found);
  StepReply &add_reading(OpenTable &table, const Find &find) {
    return target_ ? add_lock(table, find) : add_read(table, find);
  }

  const GeoReading reading_;
  const Bytes source_;
  const std::optional<Bytes> target_;
};

}  // namespace postern::redis
