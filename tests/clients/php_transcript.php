<?php

// Drives the PHP client by one client transcript, which comes on standard input as JSON. `php php_transcript.php AUTOLOAD
// PORT` prints the outcome of each exchange in the transcripts' terms, as far as the client's results show it.

declare(strict_types=1);

require $argv[1];

const INSERTIONS = ['insert' => '+', 'upsert' => 'U', 'insert_or_ignore' => 'I'];
const CHANGES = ['update' => 'U', 'delete' => 'D', 'increment' => '+', 'decrement' => '-'];

// Characters U+0000 to U+00FF of a transcript are bytes.
function raw(mixed $value): mixed
{
    return is_string($value) ? mb_convert_encoding($value, 'ISO-8859-1', 'UTF-8') : $value;
}

function raw_list(?array $values): array
{
    return array_map('raw', $values ?? []);
}

function arguments(string $kind, array $asked): array
{
    if (isset(INSERTIONS[$kind])) {
        return [$asked['id'], INSERTIONS[$kind], raw_list($asked['values'])];
    }
    $change = isset(CHANGES[$kind]) ? CHANGES[$kind] . (($asked['before'] ?? false) ? '?' : '') : null;
    $filters = array_map(
        fn (array $one): array => [$one['type'], $one['operator'], $one['column'], raw($one['value'])],
        $asked['filters'] ?? []
    );
    $in = $asked['in'] ?? ['part' => -1, 'values' => null];
    return [
        $asked['id'], $asked['operator'], raw_list($asked['key']), $asked['limit'] ?? 1, $asked['offset'] ?? 0,
        $change, raw_list($asked['values'] ?? null), $filters, $in['part'], $in['values'] === null ? null : raw_list($in['values']),
    ];
}

function lone(HandlerSocket $hs, string $kind, array $asked): bool
{
    return match ($kind) {
        'authenticate' => $hs->auth(raw($asked['secret'])),
        'login' => $hs->login(raw($asked['user']), raw($asked['password'])),
        'open' => $hs->openIndex(
            $asked['id'],
            $asked['database'],
            $asked['table'],
            $asked['index'],
            raw_list($asked['columns']),
            raw_list($asked['filter_columns'] ?? [])
        ),
    };
}

function shown(mixed $result): mixed
{
    if (is_array($result)) {
        return array_map('shown', $result);
    }
    return is_string($result) ? mb_convert_encoding($result, 'UTF-8', 'ISO-8859-1') : $result;
}

$session = json_decode(stream_get_contents(STDIN), true, 512, JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
$options = ['timeout' => ($session['stall'] ?? false) ? 0.3 : 20];
if (isset($session['reply_bytes_max'])) {
    $options['max_reply_bytes'] = $session['reply_bytes_max'];
}
$hs = new HandlerSocket('127.0.0.1', $argv[2], $options);
$told = [];
foreach ($session['exchanges'] as $exchange) {
    $asked = array_map(fn (array $one): array => [array_key_first($one), reset($one)], $exchange['requests']);
    $alone = count($asked) === 1 && in_array($asked[0][0], ['open', 'authenticate', 'login'], true);
    $results = $alone
        ? [lone($hs, ...$asked[0])]
        : $hs->executeMulti(array_map(fn (array $one): array => arguments(...$one), $asked));
    $told[] = ['results' => shown($results), 'code' => $hs->getErrorCode(), 'error' => shown($hs->getError())];
}
echo json_encode($told, JSON_THROW_ON_ERROR);
