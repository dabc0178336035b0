# Plays a session by one of Perl's drivers and prints the answers: perl perl_session.pl DRIVER PORT SESSION.
use strict;
use warnings;
use DBI;

my ($driver, $port, $session) = @ARGV;
my ($module, $prepares) = split /-/, $driver;    # mysql, MariaDB; "-prepared": by the server
my $lower = lc $module;
my $db = DBI->connect(
  "DBI:$module:database=shop;host=127.0.0.1;port=$port;${lower}_local_infile=1;${lower}_multi_statements=1",
  'root', '',
  { RaiseError => 1, PrintError => 0, "${lower}_server_prepare" => $prepares ? 1 : 0,
    ($lower eq 'mysql' ? (mysql_enable_utf8mb4 => 1) : ()) });
binmode STDOUT, ':utf8';

sub value_of {
  my ($kind, $value) = split /:/, shift, 2;
  return $kind eq 'n' ? undef : $kind eq 'b' ? pack('H*', $value) : $kind eq 'i' ? $value + 0 : $value;
}

sub shown { join ', ', map { !defined $_ ? 'undef' : ref $_ ? '[' . shown(@$_) . ']' : "'$_'" } @_ }

sub run {
  my ($how, $text, @values) = @_;
  my $statement = $db->prepare($text);
  my $changed = $statement->execute(@values);
  while (1) {
    if ($statement->{NUM_OF_FIELDS}) {
      print '  ', shown(map { $statement->{$_} } qw(NAME TYPE NULLABLE PRECISION SCALE)), "\n";
      while (my $row = $statement->fetchrow_arrayref) { print '  ', shown(@$row), "\n" }
    }
    print '  ', shown($changed, $statement->rows, $db->{"${lower}_insertid"}, $db->{"${lower}_info"},
      $statement->{"${lower}_warning_count"}), "\n";
    last if $how ne 'm' || !$statement->more_results;
  }
}

open my $lines, '<:encoding(UTF-8)', $session or die;
while (my $line = <$lines>) {
  chomp $line;
  my ($how, $times, $text, @values) = split /\t/, $line;
  $text =~ s/\\n/\n/g;
  for (1 .. $times) {
    print '> ', substr($text, 0, 200), "\n";
    eval { run($how, $text, map { value_of($_) } @values); 1 }
      or print '  ', shown($DBI::err // '', $DBI::errstr // $@), "\n";
  }
}
