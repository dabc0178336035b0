# Lets one of memcached's own tests ask a server that runs already, in place of those it would start: the one that
# listens on 127.0.0.1:$PORT. Each "new" server is that one, emptied, with its statistics reset.
#
#   cd build/clients/memcached-suite && PORT=11211 perl -I .../tests/clients/memcached -MRunningServer t/flags.t
package RunningServer;
use strict;
use warnings;
use Cwd ();
use IO::Socket::INET;
use Socket qw(IPPROTO_TCP TCP_NODELAY);

# What `use MemcachedTest` in a test would load; that finds it loaded and changed.
$INC{'MemcachedTest.pm'} = Cwd::getcwd() . '/t/lib/MemcachedTest.pm';
require $INC{'MemcachedTest.pm'};

sub connected {
    my $conn = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ENV{PORT}") || die "nobody listens: $!";
    setsockopt($conn, IPPROTO_TCP, TCP_NODELAY, 1);  # they send a packet in two pieces
    return $conn;
}

sub new_memcached {
    # Not the test's own connection, which may be to speak the binary dialect.
    my $conn = connected();
    for (['flush_all', "OK\r\n"], ['stats reset', "RESET\r\n"], ['stats detail off', "OK\r\n"]) {
        my ($command, $expected) = @$_;
        print $conn "$command\r\n";
        my $answer = <$conn>;
        die "$command: $answer" unless $answer eq $expected;
    }
    return Memcached::Handle->new(conn => connected(), host => '127.0.0.1', port => $ENV{PORT});
}

{
    no warnings 'redefine';
    *MemcachedTest::new_memcached = \&new_memcached;
    # Only a memcached that was built for its tests has a clock that can be moved.
    *MemcachedTest::mem_move_time = sub { select undef, undef, undef, $_[1] + 0.05 };
    # A handle has no process to end.
    *Memcached::Handle::DESTROY = *Memcached::Handle::stop = *Memcached::Handle::graceful_stop = sub { };
    # Asked of the program; what they are about is left out.
    no strict 'refs';
    *{"MemcachedTest::supports_$_"} = sub { 0 } for qw(sasl drop_priv extstore tls proxy udp);
    *MemcachedTest::supports_unix_socket = sub { 1 };
}

1;
