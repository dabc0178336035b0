package My::Suite::Postern;

@ISA = qw(My::Suite);

return "There is no library of Postern" unless $ENV{POSTERN_SO};

push @::global_suppressions, (
  qr(Plugin '\w+' is of maturity level gamma while the server is stable),
  qr(Postern: \w+ (read |write )?port: open_files_limit is),
  # A door may look at its tables while a test drops them one by one.
  qr(Postern: memcached: innodb_memcache\.\w+ cannot be read),
);

sub is_default { 1 }

bless { };
