<?php
// Laravel's queue, with its worker.
//
// session       the outcome of jobs of all kinds
// worker FILE   runs a worker; each job adds a line to the file
// put FIRST N   puts N jobs; prints each number that the server has acknowledged
error_reporting(E_ALL & ~E_DEPRECATED);
require_once "Illuminate/Queue/autoload.php";
require_once "Illuminate/Redis/autoload.php";
require_once "Illuminate/Events/autoload.php";

use Illuminate\Container\Container;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Events\Dispatcher;
use Illuminate\Queue\Capsule\Manager;
use Illuminate\Queue\Connectors\RedisConnector;
use Illuminate\Queue\Worker;
use Illuminate\Queue\WorkerOptions;
use Illuminate\Redis\RedisManager;

[, $port, $what] = $argv;

function tell($name, $value) {
    echo $name, ": ", json_encode($value), "\n";
}

class Quiet implements ExceptionHandler {
    public function report(Throwable $e) {}
    public function shouldReport(Throwable $e) { return false; }
    public function render($request, Throwable $e) {}
    public function renderForConsole($output, Throwable $e) {}
}

class Note {
    public function fire($job, $data) {
        $file = getenv("JOBS_FILE");
        if ($file) file_put_contents($file, $data["number"] . "\n", FILE_APPEND | LOCK_EX);
        else tell("note", [$data["number"], $job->attempts()]);
        $job->delete();
    }
}

class AtTheThirdTry {
    public function fire($job, $data) {
        tell("try", $job->attempts());
        if ($job->attempts() < 3) throw new RuntimeException("not yet");
        $job->delete();
    }
}

class Fails {
    public function fire($job, $data) { throw new RuntimeException("no"); }
    public function failed($data, $e) { tell("failed", [$data, $e->getMessage()]); }
}

class Released {
    public function fire($job, $data) {
        tell("released", $job->attempts());
        if ($job->attempts() < 2) $job->release(1);
        else $job->delete();
    }
}

$container = new Container();
Container::setInstance($container);
$events = new Dispatcher($container);
$container->instance("events", $events);
$container->instance("Illuminate\\Contracts\\Events\\Dispatcher", $events);
$container->bind(ExceptionHandler::class, Quiet::class);
$redis = new RedisManager($container, "phpredis", [
    "options" => ["prefix" => "laravel_"],
    "default" => ["host" => "127.0.0.1", "port" => (int) $port, "database" => 0],
]);
$container->instance("redis", $redis);
$capsule = new Manager($container);
$capsule->addConnector("redis", fn() => new RedisConnector($redis));
$capsule->addConnection(
    ["driver" => "redis", "connection" => "default", "queue" => "default", "retry_after" => 2, "block_for" => 1],
    "redis"
);
$manager = $capsule->getQueueManager();
$manager->setDefaultDriver("redis");
$queue = $manager->connection("redis");
$worker = new Worker($manager, $events, new Quiet(), fn() => false);

function run_all($worker, $queue, $name, $tries) {
    for ($i = 0; $i < 200 && $queue->size($name) > 0; ++$i)
        $worker->runNextJob("redis", $name, new WorkerOptions("default", 0, 128, 60, 0, $tries));
}

if ($what == "session") {
    $redis->connection()->flushdb();
    $queue->push("Note", ["number" => 1]);
    $queue->push("Note", ["number" => 2], "other");
    $queue->bulk(["Note", "Note"], ["number" => 3]);
    tell("sizes", [$queue->size(), $queue->size("other")]);
    run_all($worker, $queue, "default", 1);
    run_all($worker, $queue, "other", 1);
    $queue->push("AtTheThirdTry");
    run_all($worker, $queue, "default", 3);
    $queue->push("Fails", ["number" => 4]);
    run_all($worker, $queue, "default", 2);
    $queue->push("Released");
    run_all($worker, $queue, "default", 5);
    $began = microtime(true);
    $queue->later(2, "Note", ["number" => 5]);
    run_all($worker, $queue, "default", 1);
    tell("later", microtime(true) - $began >= 1);
    // A worker that died: its job is another's after retry_after.
    $queue->push("Note", ["number" => 6]);
    tell("taken", $queue->pop()->attempts());
    tell("nothing", $queue->pop() === null);
    run_all($worker, $queue, "default", 2);
    tell("cleared", [$queue->push("Note") != null, $queue->clear("default"), $queue->size()]);
    $lock = $redis->connection()->throttle("limit")->allow(2)->every(60)->block(0);
    $taken = [];
    for ($i = 0; $i < 3; ++$i) $taken[] = $lock->then(fn() => true, fn() => false);
    tell("throttle", $taken);
    tell("funnel", $redis->connection()->funnel("one")->limit(1)->block(0)->then(
        fn() => $redis->connection()->funnel("one")->limit(1)->block(0)->then(fn() => "both", fn() => "one"),
        fn() => "none"
    ));
    $redis->connection()->flushdb();
} elseif ($what == "worker") {
    for (;;) {
        try {
            $worker->runNextJob("redis", "default", new WorkerOptions("default", 0, 128, 60, 0, 100));
        } catch (Throwable $e) {
            usleep(50000);
        }
    }
} else {
    [, , , $first, $count] = $argv;
    for ($number = (int) $first; $number < $first + $count; ++$number) {
        for (;;) {
            try {
                $queue->push("Note", ["number" => $number]);
                break;
            } catch (Throwable $e) {
                usleep(50000);
            }
        }
        echo "put: $number\n";
    }
}
