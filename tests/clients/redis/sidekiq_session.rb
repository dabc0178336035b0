# Sidekiq, Ruby's job queue: the results of its jobs, with scheduled jobs and retries.
*folders, port = ARGV
folders.each { |folder| $LOAD_PATH.unshift(*Dir["#{folder}/usr/share/rubygems-integration/all/gems/*/lib"]) }
require "sidekiq"
require "sidekiq/api"
require "sidekiq/launcher"
require "sidekiq/scheduled"

$stdout.sync = true
Redis.silence_deprecations = true
Sidekiq.logger.level = Logger::FATAL
Sidekiq.redis = { url: "redis://127.0.0.1:#{port}" }
SECONDS = 30
DONE = Queue.new

class Add
  include Sidekiq::Worker

  def perform(one, other)
    DONE << "#{one} + #{other} = #{one + other}"
  end
end

class Failing
  include Sidekiq::Worker
  sidekiq_options retry: 1, queue: "low"
  sidekiq_retry_in { 1 }
  sidekiq_retries_exhausted { |job, _| DONE << "gave up: #{job["error_message"]} after #{job["retry_count"]} retries" }

  def perform
    raise "no"
  end
end

def tell(name, value)
  puts "#{name}: #{value}"
end

def eventually
  deadline = Time.now + SECONDS
  sleep 0.02 until (held = yield) || Time.now > deadline
  tell("late", "yes") unless held
end

def told(count)
  Array.new(count) { DONE.pop }.sort
end

Sidekiq.redis(&:flushdb)
Add.perform_async(1, 2)
Add.perform_in(1, 3, 4)
Sidekiq::Client.push_bulk("class" => Add, "args" => Array.new(40) { |i| [i, i] })
Failing.perform_async
Sidekiq::Client.push("class" => Add, "args" => [9, 9], "queue" => "nobody's")
stats = Sidekiq::Stats.new
tell("waiting", [stats.enqueued, stats.scheduled_size, stats.retry_size, stats.queues.sort])
tell("first", Sidekiq::Queue.new.map(&:args).last)
Sidekiq::Queue.new("nobody's").first.delete

Sidekiq.options.merge!(queues: %w[default default low], concurrency: 4, timeout: 5)
launcher = Sidekiq::Launcher.new(Sidekiq.options)
launcher.run
tell("done", told(41))
eventually { Sidekiq::RetrySet.new.size == 1 }
tell("to be tried again", Sidekiq::RetrySet.new.map { |job| [job.klass, job["error_message"]] })
eventually { [Sidekiq::RetrySet.new, Sidekiq::ScheduledSet.new].all? { |set| set.all? { |job| job.score < Time.now.to_f } } }
Sidekiq::Scheduled::Enq.new.enqueue_jobs
tell("later", told(2))
eventually { Sidekiq::ProcessSet.new.size == 1 }
tell("processes", Sidekiq::ProcessSet.new.map { |process| [process["concurrency"], process["queues"]] })
launcher.stop
stats = Sidekiq::Stats.new
tell("in the end", [stats.enqueued, stats.retry_size, stats.dead_size])
tell("the dead", Sidekiq::DeadSet.new.map { |job| job["error_message"] })
Sidekiq.redis(&:flushdb)
