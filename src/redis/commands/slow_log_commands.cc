// slow_log_commands.cc: SLOWLOG and LATENCY. A client sees the slow commands of its own account.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "redis/registry/handlers.h"
#include "redis/session.h"
#include "redis/wire/numbers.h"

namespace postern::redis {
namespace {

using Event = LatencyEvents::Event;
constexpr Event all_events[] = {Event::command, Event::fast_command};

Bytes name_of(Event event) {
  return LatencyEvents::names[static_cast<size_t>(event)];
}

void write_slow_command(Writer &writer, const SlowCommand &one) {
  writer.array(6);
  writer.integer(static_cast<int64_t>(one.id));
  writer.integer(one.at_s);
  writer.integer(one.took_us);
  writer.array(one.words.size());
  for (const std::string &word : one.words) writer.bulk(word);
  writer.bulk(one.address);
  writer.bulk(one.client_name);
}

/// A command, and its subcommands if it has some.
void add_figures_of(const Command &command, const std::vector<CommandFigures> &figures,
                    std::vector<const Command *> &found) {
  const auto add = [&](const Command &one) {
    if (figures[one.place].calls != 0) found.push_back(&one);
  };
  add(command);
  if (!command.is_container()) return;
  for (const Command &one : commands())
    if (one.is_subcommand() && one.name.starts_with(command.name) && one.name[command.name.size()] == '|') add(one);
}

/// The bound in microseconds of an element of CommandFigures::calls_by_time.
int64_t bound_of(size_t time) {
  return int64_t{1} << time;
}

void write_histogram(Writer &writer, const Command &command, const CommandFigures &figures) {
  writer.bulk(command.name);
  writer.map(2);
  writer.bulk("calls");
  writer.integer(static_cast<int64_t>(figures.calls));
  writer.bulk("histogram_usec");
  size_t count = 0;
  for (const uint64_t calls : figures.calls_by_time) count += calls != 0 ? 1 : 0;
  writer.map(count);
  uint64_t sum = 0;
  for (size_t time = 0; time < figures.calls_by_time.size(); ++time) {
    if (figures.calls_by_time[time] == 0) continue;
    sum += figures.calls_by_time[time];
    writer.integer(bound_of(time));
    writer.integer(static_cast<int64_t>(sum));
  }
}

}  // namespace

namespace lower {

Next slowlog_get(Call &call) {
  int64_t count = 10;
  if (call.arguments.size() > 3)
    return refuse(call, "ERR unknown subcommand or wrong number of arguments for 'get'. Try SLOWLOG HELP.");
  if ((call.arguments.size() == 3 && !parse_integer(call.arguments[2], count)) || count < -1)
    return refuse(call, "ERR count should be greater than or equal to -1");
  const size_t wanted = count < 0 ? SlowLog::length_max_max : static_cast<size_t>(count);
  answer(call, [&session = call.session, wanted](Writer &writer) {
    const std::vector<SlowCommand> found = session.protocol().slow_log().newest(session.client().user(), wanted);
    writer.array(found.size());
    for (const SlowCommand &one : found) write_slow_command(writer, one);
  });
  return Next::go_on;
}

Next slowlog_len(Call &call) {
  answer(call, [&session = call.session](Writer &writer) {
    writer.integer(static_cast<int64_t>(session.protocol().slow_log().length(session.client().user())));
  });
  return Next::go_on;
}

Next slowlog_reset(Call &call) {
  call.session.protocol().slow_log().forget(call.session.client().user());
  return answer_ok(call);
}

Next latency_doctor(Call &call) {
  std::string text;
  const LatencyEvents &events = call.session.protocol().latency_events();
  if (events.threshold_ms == 0)
    text = "Nothing is watched: CONFIG SET latency-monitor-threshold <milliseconds> begins.\n";
  for (const Event event : all_events) {
    const std::vector<LatencyEvents::Sample> history = events.history(event);
    if (history.empty()) continue;
    text.append(name_of(event))
        .append(": ")
        .append(std::to_string(history.size()))
        .append(" seconds with slow commands, the worst took ");
    text.append(std::to_string(events.worst_ms(event))).append(" milliseconds.\n");
  }
  if (text.empty()) text = "No command was slower than latency-monitor-threshold.\n";
  text.append("SHOW GLOBAL STATUS LIKE 'redis%' has the times of the door's turns and of its waits.\n");
  answer(call, [kept = call.arena().copy(text)](Writer &writer) { writer.verbatim(kept); });
  return Next::go_on;
}

Next latency_graph(Call &call) {
  std::string text = "ERR No samples available for event '";
  text.append(call.arguments[2].substr(0, 128)).append("'");
  return refuse(call, text);
}

Next latency_histogram(Call &call) {
  answer(call, [&protocol = call.session.protocol(), wanted = call.arguments.subspan(2)](Writer &writer) {
    const std::vector<CommandFigures> figures = protocol.command_stats().sum();
    std::vector<const Command *> found;
    for (const Bytes name : wanted)
      if (const Command *const command = find_command(name)) add_figures_of(*command, figures, found);
    if (wanted.empty())
      for (const Command &command : commands())
        if (figures[command.place].calls != 0) found.push_back(&command);
    writer.map(found.size());
    for (const Command *const command : found) write_histogram(writer, *command, figures[command->place]);
  });
  return Next::go_on;
}

Next latency_history(Call &call) {
  answer(call, [&events = call.session.protocol().latency_events(), wanted = call.arguments[2]](Writer &writer) {
    std::vector<LatencyEvents::Sample> samples;
    for (const Event event : all_events)
      if (wanted == name_of(event)) samples = events.history(event);
    writer.array(samples.size());
    for (const LatencyEvents::Sample &one : samples) {
      writer.array(2);
      writer.integer(one.at_s);
      writer.integer(one.ms);
    }
  });
  return Next::go_on;
}

Next latency_latest(Call &call) {
  answer(call, [&events = call.session.protocol().latency_events()](Writer &writer) {
    std::vector<std::pair<Event, LatencyEvents::Sample>> found;
    for (const Event event : all_events)
      if (const std::vector<LatencyEvents::Sample> history = events.history(event); !history.empty())
        found.emplace_back(event, history.back());
    writer.array(found.size());
    for (const auto &[event, latest] : found) {
      writer.array(4);
      writer.bulk(name_of(event));
      writer.integer(latest.at_s);
      writer.integer(latest.ms);
      writer.integer(events.worst_ms(event));
    }
  });
  return Next::go_on;
}

Next latency_reset(Call &call) {
  LatencyEvents &events = call.session.protocol().latency_events();
  const std::span<const Bytes> wanted = call.arguments.subspan(2);
  int64_t count = 0;
  for (const Event event : all_events) {
    const bool named = wanted.empty() || std::find(wanted.begin(), wanted.end(), name_of(event)) != wanted.end();
    if (named && events.forget(event)) ++count;
  }
  return answer_integer(call, count);
}

}  // namespace lower
}  // namespace postern::redis
