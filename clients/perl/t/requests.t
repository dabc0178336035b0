# The bytes of requests and replies, against a server that plays them: no database is needed.
use strict;
use warnings;
use IO::Socket::INET;
use Test::More;
use Net::HandlerSocket;

# Answers each line that comes with the next of these; its port.
sub serve {
    my @replies  = @_;
    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1) or die "listen: $!";
    my $pid      = fork // die "fork: $!";
    return ($listener->sockport, $pid) if $pid;
    alarm 20;
    my $socket = $listener->accept or exit 1;
    while (my $line = <$socket>) {
        my ($expected, $reply) = @{ shift @replies // exit 1 };
        $line eq "$expected\n" or do { syswrite $socket, "2\t1\tgot " . unpack('H*', $line) . "\n"; next };
        defined $reply or exit 0;
        syswrite $socket, "$reply\n";
    }
    exit 0;
}

sub client {
    my ($port, $pid) = serve(@_);
    return (Net::HandlerSocket->new({ host => '127.0.0.1', port => $port, timeout => 5 }), $pid);
}

my ($hs, $pid) = client(
    ["P\t1\ttest\tuser\tPRIMARY\tid,name\tname", "0\t1"],
    ["1\t=\t1\t101",                             "0\t2\t101\tYuk\x01Iari"],
    ["1\t>=\t2\ta\x01Ib\t\0\t5\t100",            "0\t2\t1\t\0\t2\t"],
    ["1\t=\t1\t\t10\t0\t@\t0\t2\ta\tb\tF\t>\t0\t\0", "0\t2"],
    ["1\t+\t2\t7\tx",                            "0\t1"],
    ["1\t+\t2\t7\tx",                            "1\t1\t121"],
    ["1\t=\t1\t7\t1\t0\tU\t7\ty",                "0\t1\t1"],
    ["1\t=\t1\t7\t1\t0\tD",                      "0\t1\t1"],
    ["1\t=\t1\t1",                               "0\t2\t1\tone"],
    ["1\t=\t1\t2",                               "0\t2"],
    ["A\t1\tsecret",                             "3\t1\tunauth"],
    ["A\t2\tann\tp\x01Iw",                       "0\t1"],
    ["1\t=\t1\t3",                               "0\t3\t1\t2\t3"],
);
is $hs->open_index(1, 'test', 'user', 'PRIMARY', 'id,name', 'name'), 0, 'open_index returns 0';
is $hs->get_error, '', 'and there is no error';
is_deeply $hs->execute_single(1, '=', ['101'], 0, 0), [0, '101', "Yuk\tari"], 'a row behind its code';
is_deeply $hs->execute_find(1, '>=', ["a\tb", undef], 5, 100), [0, '1', undef, '2', ''], 'NULL is undef';
is_deeply $hs->execute_single(1, '=', [''], 10, 0, undef, undef, [['F', '>', 0, undef]], 0, ['a', 'b']), [0], 'IN and filters';
is_deeply $hs->execute_insert(1, [7, 'x']), [0], 'an insert';
is_deeply $hs->execute_single(1, '+', [7, 'x'], 1, 0), [1, '121'], 'an error is its code and text';
is $hs->get_error_code . $hs->get_error, '1121', 'which get_error_code and get_error tell, too';
is_deeply $hs->execute_update(1, '=', [7], 1, 0, [7, 'y']), [0, 1], 'an update counts';
is_deeply $hs->execute_delete(1, '=', [7], 1, 0), [0, 1], 'a delete, too';
is_deeply $hs->execute_multi([[1, '=', [1], 0, 0], [1, '=', [2], 0, 0]]), [[0, '1', 'one'], [0]], 'several in one go';
is $hs->auth('secret'), 3, 'auth returns the code';
is $hs->login('ann', "p\tw"), 0, 'login with an account';
is $hs->stable_point, 1, 'nothing is under way';
is $hs->execute_single(1, '=', [3], 0, 0)->[0], -1, 'a row and a half is none';
like $hs->get_error, qr/no reply/, 'which is told';
is $hs->stable_point, 0, 'and the connection is closed';
is $hs->execute_single(1, '=', [3], 0, 0)->[0], -1, 'for good';
waitpid $pid, 0;

($hs, $pid) = client(["1\t=\t1\t1", undef]);
is_deeply [@{ $hs->execute_single(1, '=', [1], 0, 0) }[0, 1]], [-1, 'the server closed the connection'], 'a server that goes away';
waitpid $pid, 0;

$hs = Net::HandlerSocket->new({ host => '127.0.0.1', port => 1 });
is $hs->open_index(1, 'test', 't', 'PRIMARY', 'id'), -1, 'no server';
like $hs->get_error, qr/^connect: /, 'is told';

eval { $hs->open_index(1, "a\tb", 't', 'PRIMARY', 'id') };
like $@, qr/TAB/, 'names cannot make requests of their own';
eval { $hs->execute_single(1, "=\t0\n1", ['x'], 1, 0) };
like $@, qr/TAB and LF/, 'nor can operators';

done_testing;
