<?php
// A session of PHP's memcached extension: `php memcached_session.php PORT text|binary [USER PASSWORD]`.
// Prints the answers, one line for each step; they are the same in both protocols.
[, $port, $protocol, $user, $password] = array_pad($argv, 5, null);

function connect($password)
{
    global $port, $protocol, $user;
    $client = new Memcached();
    $client->setOption(Memcached::OPT_BINARY_PROTOCOL, $protocol === 'binary');
    $client->setOption(Memcached::OPT_COMPRESSION, false);
    $client->setOption(Memcached::OPT_TCP_NODELAY, true);
    $client->setOption(Memcached::OPT_RECV_TIMEOUT, 60 * 1000 * 1000);
    if ($user !== null) {
        $client->setSaslAuthData($user, $password);
    }
    $client->addServer('127.0.0.1', (int)$port);
    return $client;
}

function step($name, $told)
{
    global $client;
    $text = is_string($told) && strlen($told) > 300 ? strlen($told) . ' bytes ' . md5($told) : json_encode($told);
    echo "$name: $text {$client->getResultMessage()}\n";
    return $told;
}

$any_bytes = str_repeat(implode('', array_map('chr', range(0, 255))), 4);
$large = str_repeat('0123456789abcdef', 32000);
if ($user !== null) {
    $client = connect('wrong');
    echo 'a wrong password: ', json_encode($client->get('k')), "\n";
}
$client = connect($password);
step('flush', $client->flush());
step('get of nothing', $client->get('k'));
step('set', $client->set('k', 'one'));
step('get', $client->get('k'));
echo 'add over it: ', json_encode($client->add('k', 'two')), "\n";
step('add', $client->add('added', 'two'));
step('replace', $client->replace('k', 'three'));
echo 'replace nothing: ', json_encode($client->replace('nothing', 'x')), "\n";
step('append', $client->append('k', '>'));
step('prepend', $client->prepend('k', '<'));
step('append to nothing', $client->append('nothing', 'x'));
$got = $client->get('k', null, Memcached::GET_EXTENDED);
step('get with cas', $got['value']);
step('cas', $client->cas($got['cas'], 'k', 'four'));
step('cas again', $client->cas($got['cas'], 'k', 'five'));
step('cas of nothing', $client->cas($got['cas'], 'nothing', 'x'));
step('get after cas', $client->get('k'));
step('incr nothing', $client->increment('n', 1));
step('set a number', $client->set('n', 10));
step('incr', $client->increment('n', 89));
step('incr to more digits', $client->increment('n', 1));
step('decr', $client->decrement('n', 1));
step('decr below zero', $client->decrement('n', 1000));
step('touch', $client->touch('k', 100));
step('touch nothing', $client->touch('nothing', 100));
step('delete', $client->delete('added'));
step('delete nothing', $client->delete('added'));
step('set many', $client->setMulti(['m0' => 'value 0', 'm1' => 'value 1', 'm2' => 'value 2']));
step('get many', $client->getMulti(['m0', 'm2', 'nothing'], Memcached::GET_PRESERVE_ORDER));
step('get many later', $client->getDelayed(['m1', 'm2']));
$later = array_column($client->fetchAll(), 'value', 'key');
ksort($later);
step('fetch them', $later);
step('delete many', $client->deleteMulti(['m0', 'm1']));
step('get many of what is left', $client->getMulti(['m0', 'm1', 'm2']));
step('set any object', $client->set('object', ['a' => [1, null, 'é']]));
step('get any object', $client->get('object'));
step('set any bytes', $client->set('bytes', $any_bytes));
step('get any bytes', $client->get('bytes'));
step('set nothing at all', $client->set('empty', ''));
step('get nothing at all', $client->get('empty'));
step('set much', $client->set('large', $large));
step('get much', $client->get('large'));
step('set the longest key', $client->set(str_repeat('k', 250), 'x'));
step('get the longest key', $client->get(str_repeat('k', 250)));
$client->setOption(Memcached::OPT_NOREPLY, true);
$client->set('quiet', 'x');
$client->delete('m2');
$client->setOption(Memcached::OPT_NOREPLY, false);
step('set what stays', $client->set('left', 'by php-memcached'));
$again = connect($password);
echo 'get what was not answered: ', json_encode([$again->get('quiet'), $again->get('m2')]), "\n";
echo 'version: ', json_encode(count(array_filter($again->getVersion()))), "\n";
