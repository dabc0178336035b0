# Drives the Perl client by one client transcript, which comes on standard input as JSON. `perl perl_transcript.pl PORT`;
# prints what each exchange came to, in the shapes that the module returns.
use strict;
use warnings;
use JSON::PP;
use Net::HandlerSocket;

my %INSERT = (insert => '+', upsert => 'U', insert_or_ignore => 'I');
my %CHANGE = (update => 'U', delete => 'D', increment => '+', decrement => '-');
my $session = decode_json(do { local $/; <STDIN> });
my $hs = Net::HandlerSocket->new({
    host => '127.0.0.1', port => $ARGV[0], timeout => $session->{stall} ? 0.3 : 20,
    exists $session->{reply_bytes_max} ? (reply_bytes_max => $session->{reply_bytes_max}) : (),
});

# Characters U+0000 to U+00FF of a transcript are bytes.
sub raw { my ($value) = @_; utf8::downgrade($value) if defined $value; return $value }

sub names { return join ',', map { my $name = raw($_); $name =~ /[,`]/ ? '`' . $name =~ s/`/``/gr . '`' : $name } @_ }

sub arguments {
    my ($kind, $asked) = @_;
    my @values = map { raw($_) } @{ $asked->{values} // [] };
    return ($asked->{id}, $INSERT{$kind}, \@values) if $INSERT{$kind};
    my $change = $CHANGE{$kind} && $CHANGE{$kind} . ($asked->{before} ? '?' : '');
    my $in     = $asked->{in};
    my $plain  = !$change && !$in && !$asked->{filters} && !$asked->{offset} && ($asked->{limit} // 1) == 1;
    return (
        $asked->{id}, $asked->{operator}, [map { raw($_) } @{ $asked->{key} }],
        $plain ? 0 : $asked->{limit} // 1, $asked->{offset} // 0, $change, \@values,
        [map { [$_->{type}, $_->{operator}, $_->{column}, raw($_->{value})] } @{ $asked->{filters} // [] }],
        $in ? ($in->{part}, [map { raw($_) } @{ $in->{values} }]) : (),
    );
}

sub lone {
    my ($kind, $asked) = @_;
    my $code =
          $kind eq 'authenticate' ? $hs->auth(raw($asked->{secret}))
        : $kind eq 'login'        ? $hs->login(raw($asked->{user}), raw($asked->{password}))
        :   $hs->open_index(@$asked{qw(id database table index)}, names(@{ $asked->{columns} }), names(@{ $asked->{filter_columns} // [] }));
    return [$code, $code ? $hs->get_error : ()];
}

my @told;
for my $exchange (@{ $session->{exchanges} }) {
    my @asked = map { [%$_] } @{ $exchange->{requests} };
    my $lone  = @asked == 1 && $asked[0][0] =~ /\A(?:open|authenticate|login)\z/;
    push @told, $lone ? [lone(@{ $asked[0] })] : $hs->execute_multi([map { [arguments(@$_)] } @asked]);
}
print JSON::PP->new->ascii->encode(\@told);
