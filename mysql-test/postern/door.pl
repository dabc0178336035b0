# A client of the doors, for perl blocks of tests:
#   do "$ENV{MTR_SUITE_DIR}/door.pl"; my $door = door($ENV{HS_PORT}); show($door, "0\t=\t1\t101");
use strict;
use IO::Socket::INET;

# Connects, waiting for a door that is about to open. Without one in the end: undef.
sub door {
  my ($port, $seconds) = @_;
  for (my $left = ($seconds // 30) * 20;; --$left) {
    my $door = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 10);
    return $door if $door || $left <= 0;
    select(undef, undef, undef, 0.05);
  }
}

# Sends a line and returns the line that answers.
sub ask {
  my ($door, $request) = @_;
  print $door "$request\n";
  my $reply = <$door>;
  return defined $reply ? $reply =~ s/[\r\n]+$//r : 'closed';
}

# The same, and prints both.
sub show {
  my ($door, $request) = @_;
  print "> $request\n< ", ask($door, $request), "\n";
}

1;
