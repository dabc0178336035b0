<?php

// What the client sends for each call, against a server of its own that answers one line. `composer test`, or
// `php requests.php AUTOLOAD`.

declare(strict_types=1);

require $argv[1] ?? __DIR__ . '/../vendor/autoload.php';

/** @return array{string, mixed} the bytes that a call sent, and what it returned when the server said $reply */
function exchange(string $reply, callable $call): array
{
    $listener = stream_socket_server('tcp://127.0.0.1:0');
    $port = (int) substr(strrchr(stream_socket_get_name($listener, false), ':'), 1);
    $hs = new HandlerSocket('127.0.0.1', $port, ['timeout' => 5]);
    $server = stream_socket_accept($listener);
    fwrite($server, $reply);  // It waits for nothing: the call is short.
    $result = $call($hs);
    $hs->close();
    return [(string) stream_get_contents($server), $result];
}

$cases = [
    ["P\t1\tdb\tt\tPRIMARY\ta,`b,c`\tf\n", true, "0\t1\n", fn ($hs) => $hs->openIndex(1, 'db', 't', 'PRIMARY', ['a', 'b,c'], 'f')],
    ["P\t1\tdb\tt\t\ta\n", false, "1\t1\topen_table\n", fn ($hs) => $hs->openIndex(1, 'db', 't', '', 'a')],
    ["A\t1\tsecret\n", true, "0\t1\n", fn ($hs) => $hs->auth('secret')],
    ["A\t2\tu\tp\x01I\n", true, "0\t1\n", fn ($hs) => $hs->login('u', "p\t")],
    ["1\t=\t1\t\0\n", [], "0\t2\n", fn ($hs) => $hs->executeSingle(1, '=', [null])],
    ["1\t=\t2\t1.5\t0.1\n", [['x', null]], "0\t2\tx\t\0\n", fn ($hs) => $hs->executeSingle(1, '=', [1.5, 0.1])],
    ["1\t>=\t1\ta\t5\t3\n", [["\t"], ['']], "0\t1\t\x01I\t\n", fn ($hs) => $hs->executeSingle(1, '>=', ['a'], 5, 3)],
    ["1\t=\t1\t\t9\t0\t@\t0\t2\t7\t8\n", [], "0\t1\n", fn ($hs) => $hs->executeSingle(1, '=', [''], 9, 0, null, null, null, 0, [7, 8])],
    ["1\t=\t1\t5\t1\t0\tF\t>\t0\tx\tU?\tv\n", [['o']], "0\t1\to\n", fn ($hs) => $hs->executeSingle(1, '=', [5], 1, 0, 'U?', ['v'], ['F', '>', 0, 'x'])],
    ["1\t=\t1\t5\t1\t0\tD\n", 1, "0\t1\t1\n", fn ($hs) => $hs->executeDelete(1, '=', [5])],
    ["1\t+\t2\t5\tv\n", 1, "0\t1\n", fn ($hs) => $hs->executeInsert(1, [5, 'v'])],
    ["1\t+\t1\tv\n", 77, "0\t1\t77\n", fn ($hs) => $hs->executeInsert(1, ['v'])],
    ["1\t+\t1\tv\n", '18446744073709551615', "0\t1\t18446744073709551615\n", fn ($hs) => $hs->executeInsert(1, ['v'])],
    ["1\t=\t1\t5\n1\t=\t1\t6\n", [[['a']], false], "0\t1\ta\n2\t1\tstmtnum\n", fn ($hs) => $hs->executeMulti([[1, '=', [5]], [1, '=', [6]]])],
];
foreach ($cases as [$sent, $result, $reply, $call]) {
    $got = exchange($reply, $call);
    if ($got !== [$sent, $result]) {
        fwrite(STDERR, 'wanted ' . json_encode([$sent, $result]) . "\ngot    " . json_encode($got) . "\n");
        exit(1);
    }
}
foreach ([fn ($hs) => $hs->auth("a\nb"), fn ($hs) => $hs->executeSingle(1, "\t", []), fn ($hs) => $hs->executeSingle(-1, '=', [])] as $wrong) {
    try {
        exchange('', $wrong);
        fwrite(STDERR, "what cannot be sent was sent\n");
        exit(1);
    } catch (HandlerSocketException) {
    }
}
echo "all requests are right\n";
