<?php

// One client of bench/php: asks for values by key, one at a time, for some seconds, and compares each answer with what
// follows from its key. `php php_client.php WAY PLACE SECONDS KEY_MAX SEED`, PLACE as JSON. Waits for a line on standard
// input before it begins, and prints how many were answered.

declare(strict_types=1);

const CHUNK = 10;  // requests between two looks at the clock

/** @return Closure(int): ?string the value of a key */
function asking(string $way, array $place): Closure
{
    switch ($way) {
        case 'handlersocket':
            require __DIR__ . '/../clients/php/src/HandlerSocketException.php';
            require __DIR__ . '/../clients/php/src/HandlerSocket.php';
            $hs = new HandlerSocket($place['host'], $place['port']);
            $hs->openIndex(0, 'test', 'people', 'PRIMARY', 'email') || throw new RuntimeException($hs->getError());
            return static fn (int $key): ?string => $hs->executeSingle(0, '=', [$key])[0][0] ?? null;
        case 'memcached':
            $memcached = new Memcached();
            $memcached->setOption(Memcached::OPT_TCP_NODELAY, true);
            $memcached->addServer($place['host'], $place['port']);
            $prefix = $place['prefix'];
            return static fn (int $key): ?string => $memcached->get($prefix . $key) ?: null;
        case 'sql-text':
            $sql = new mysqli($place['host'], $place['user'], '', 'test', $place['port'], $place['socket'] ?? null);
            return static fn (int $key): ?string =>
                $sql->query("SELECT email FROM people WHERE user_id = $key")->fetch_row()[0] ?? null;
        case 'sql-prepared':
            $sql = new mysqli($place['host'], $place['user'], '', 'test', $place['port'], $place['socket'] ?? null);
            $statement = $sql->prepare('SELECT email FROM people WHERE user_id = ?');
            // The connection is kept, too: it would be closed with its last name.
            return static function (int $key) use ($sql, $statement): ?string {
                $statement->execute([$key]);
                return $statement->get_result()->fetch_row()[0] ?? null;
            };
    }
    throw new RuntimeException("there is no way '$way'");
}

[, $way, $place, $seconds, $key_max, $seed] = $argv;
mt_srand((int) $seed);
$ask = asking($way, json_decode($place, true, 8, JSON_THROW_ON_ERROR));
$ask(1);
echo "ready\n";
fgets(STDIN);
$answered = 0;
$end = hrtime(true) + (float) $seconds * 1e9;
do {
    for ($i = 0; $i < CHUNK; ++$i) {
        $key = mt_rand(1, (int) $key_max);
        $value = $ask($key);
        if ($value !== "user$key@example.org") {
            fwrite(STDERR, "$way answers " . var_export($value, true) . " for $key\n");
            exit(1);
        }
    }
    $answered += CHUNK;
} while (hrtime(true) < $end);
echo "$answered\n";
