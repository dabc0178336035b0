package Net::HandlerSocket;

use 5.010;
use strict;
use warnings;
use Errno qw(EAGAIN EINTR EWOULDBLOCK);
use IO::Select;
use IO::Socket::IP;
use IO::Socket::UNIX;
use Time::HiRes ();

our $VERSION = '2.00';

# The limit for bytes of requests with unread replies. They fit into the sockets' buffers, so that a server that waits
# for us to read never meets us waiting for it to read.
use constant WINDOW_BYTES  => 32 * 1024;
use constant RECEIVE_BYTES => 64 * 1024;

# The connection's own errors have this code, as in the original.
use constant BROKEN => -1;

my %INSERTION = map { $_ => 1 } qw(+ U I);

sub new {
    my ($class, $args) = @_;
    my $self = bless {
        host => 'localhost', port => 9998, timeout => 60, connect_timeout => 10,
        reply_bytes_max => 2**30, %{ $args // {} },
    }, $class;
    $self->reconnect;
    return $self;
}

# --- life

sub reconnect {
    my ($self) = @_;
    $self->close;
    $self->_succeed;
    my $socket = $self->_connect;
    return $self->_break("connect: $@") if !$socket;
    $socket->blocking(0);
    @$self{qw(socket received columns)} = ($socket, '', {});
    return $self->login(@$self{qw(user password)}) if defined $self->{user};
    return $self->auth($self->{secret})            if defined $self->{secret};
    return 0;
}

sub close {
    my ($self) = @_;
    my $socket = delete $self->{socket};
    delete $self->{broken};
    CORE::close($socket) if $socket;
    return;
}

# True if no request is in flight: another user may take the connection.
sub stable_point { return $_[0]{socket} && $_[0]{received} eq '' ? 1 : 0 }

sub get_error_code { return $_[0]{error_code} }

sub get_error { return $_[0]{error} }

sub _connect {
    my ($self) = @_;
    my $socket = defined $self->{unix_socket}
        ? IO::Socket::UNIX->new(Peer => $self->{unix_socket}, Timeout => $self->{connect_timeout})
        : IO::Socket::IP->new(
            PeerHost => $self->{host}, PeerPort => $self->{port}, Timeout => $self->{connect_timeout},
            Sockopts => [[Socket::IPPROTO_TCP(), Socket::TCP_NODELAY(), 1]],
        );
    return $socket if !$socket || !$self->{tls};
    require IO::Socket::SSL;
    # {} is enough: certificate and name are checked against the system's authorities.
    my %tls = (SSL_hostname => $self->{host}, SSL_verifycn_name => $self->{host}, %{ ref $self->{tls} ? $self->{tls} : {} });
    my $secured = IO::Socket::SSL->start_SSL($socket, Timeout => $self->{connect_timeout}, SSL_verifycn_scheme => 'default', %tls);
    $@ = "TLS: $IO::Socket::SSL::SSL_ERROR" if !$secured;
    return $secured;
}

# --- requests

sub auth {
    my ($self, $key, $type) = @_;
    return $self->_lone(join("\t", 'A', $type // 1, _name($key)));
}

sub login {
    my ($self, $user, $password) = @_;
    return $self->_lone(join("\t", 'A', 2, map { _token($_) } $user, $password // ''));
}

sub open_index {
    my ($self, $id, $database, $table, $index, $columns, $filter_columns) = @_;
    my @names = ($database, $table, $index, $columns);
    push @names, $filter_columns if defined $filter_columns && $filter_columns ne '';
    my $code = $self->_lone(join("\t", 'P', _number($id), map { _name($_) } @names));
    $self->{columns}{ _number($id) } = _count_names(_name($columns)) if $code == 0;
    return $code;
}

sub execute_single { my $self = shift; return $self->execute_multi([[@_]])->[0] }

sub execute_find { my $self = shift; return $self->execute_single(@_) }

sub execute_insert { my ($self, $id, $values) = @_; return $self->execute_single($id, '+', $values) }

sub execute_update {
    my ($self, $id, $op, $keys, $limit, $offset, $values, @rest) = @_;
    return $self->execute_single($id, $op, $keys, $limit, $offset, 'U', $values, @rest);
}

sub execute_delete {
    my ($self, $id, $op, $keys, $limit, $offset, @rest) = @_;
    return $self->execute_single($id, $op, $keys, $limit, $offset, 'D', undef, @rest);
}

sub execute_multi {
    my ($self, $requests) = @_;
    my @lines = map { _line(@$_) } @$requests;
    my @kinds = map { $self->_kind(@$_) } @$requests;
    return $self->_exchange(\@lines, \@kinds);
}

# P and A: the code alone.
sub _lone { my ($self, $line) = @_; return $self->_exchange(["$line\n"], ['done'])->[0][0] }

# The expected form of its reply.
sub _kind {
    my ($self, $id, $op, undef, undef, undef, $change) = @_;
    return $op eq '+' ? 'id' : 'count' if $INSERTION{$op};
    return 'count' if defined $change && $change !~ /\?\z/ && $change ne '';
    return 'rows:' . _number($id);
}

# --- bytes of requests

sub _number { my ($number) = @_; return ($number // 0) =~ /\A\s*([0-9]+)\s*\z/ ? $1 + 0 : _die("'$number' is no number") }

sub _die { require Carp; return Carp::croak("Net::HandlerSocket: $_[0]") }

sub _bytes {
    my ($text) = @_;
    $text = "$text";
    utf8::encode($text) if utf8::is_utf8($text);
    return $text;
}

# Names go over the wire as they are.
sub _name {
    my $name = _bytes($_[0] // '');
    _die('TAB, LF and 0x01 cannot be sent in a name or a secret') if $name =~ /[\t\n\x01]/;
    return $name;
}

sub _token {
    my ($value) = @_;
    return "\0" if !defined $value;
    $value = _bytes($value);
    $value =~ s/([\x00-\x0f])/"\x01" . chr(ord($1) + 0x40)/eg;
    return $value;
}

# A token in the place of a protocol word.
sub _word { my ($word) = @_; return $word =~ /\A[^\t\n]*\z/ ? $word : _die('TAB and LF cannot be sent in an operator') }

sub _count_names {
    my ($list) = @_;
    return 0 if $list eq '';
    my $quoted = 0;
    my $count  = 1;
    for my $character (split //, $list) {
        $quoted = !$quoted if $character eq '`';
        ++$count if $character eq ',' && !$quoted;
    }
    return $count;
}

sub _line {
    my ($id, $op, $keys, $limit, $offset, $change, $values, $filters, $in_part, $in_values) = @_;
    my @tokens = (_number($id), _word($op), scalar @$keys, map { _token($_) } @$keys);
    # Tokens after the values of a new row are ignored.
    return join("\t", @tokens) . "\n" if $INSERTION{$op};
    my @options;
    push @options, '@', _number($in_part), scalar @$in_values, map { _token($_) } @$in_values if $in_values;
    push @options, _word($_->[0]), _word($_->[1]), _number($_->[2]), _token($_->[3]) for @{ $filters // [] };
    push @options, _word($change), map { _token($_) } @{ $values // [] } if defined $change && $change ne '';
    push @tokens, $limit ? _number($limit) : 0, _number($offset), @options if @options || $limit || $offset;
    return join("\t", @tokens) . "\n";
}

# --- the wire

# Sends all lines and reads all replies: [code, values...] each.
sub _exchange {
    my ($self, $lines, $kinds) = @_;
    $self->_succeed;
    $self->_break('the server sent more than it was asked for') if $self->{socket} && $self->{received} ne '';
    my ($sent, $flying, @replies) = (0, 0);
    for my $at (0 .. $#$lines) {
        if ($flying <= WINDOW_BYTES / 2 && $sent < @$lines) {
            my $data = '';
            while ($sent < @$lines && ($flying == 0 || $flying + length $lines->[$sent] <= WINDOW_BYTES)) {
                $data .= $lines->[$sent];
                $flying += length $lines->[ $sent++ ];
            }
            $self->_send($data);
        }
        push @replies, $self->_reply($kinds->[$at]);
        $flying -= length $lines->[$at];
    }
    return \@replies;
}

sub _reply {
    my ($self, $kind) = @_;
    my $line = $self->_receive_line;
    return [BROKEN, $self->{error}] if !defined $line;
    my ($code, $columns, @tokens) = split /\t/, $line, -1;
    return $self->_malformed($line) if !_is_natural($code, 2**32);
    if ($code != 0) {
        my $text = $tokens[0] // '';
        @$self{qw(error_code error)} = ($code, _unescaped($text) // $text);
        return [$code, $self->{error}];
    }
    return $self->_malformed($line) if !_is_natural($columns, 2**32) || !$self->_fits($kind, $columns, \@tokens);
    for my $token (@tokens) {
        next if index($token, "\x01") < 0 && $token ne "\0";
        my $value = $token eq "\0" ? undef : _unescaped($token) // return $self->_malformed($line);
        $token = $value;
    }
    return [0, @tokens];
}

# Whether a reply without an error is one to this kind of request.
sub _fits {
    my ($self, $kind, $columns, $tokens) = @_;
    if ($kind =~ /\Arows:(.*)/) {
        my $known = $self->{columns}{$1} // return 1;
        return $columns == $known && ($known ? @$tokens % $known == 0 : !@$tokens);
    }
    return 0 if $columns != 1;
    return @$tokens == 0 if $kind eq 'done' || $kind eq 'id' && !@$tokens;
    return @$tokens == 1 && _is_natural($tokens->[0], 2**64);
}

sub _is_natural {
    my ($text, $end) = @_;
    return defined $text && $text =~ /\A[0-9]{1,20}\z/ && ($end > 2**60 ? length $text < 20 || $text le '18446744073709551615' : $text < $end);
}

# undef if an escape is malformed.
sub _unescaped {
    my ($token) = @_;
    return if $token =~ /\x01(?:\z|[\x00-\x3f])/;
    $token =~ s/\x01(.)/chr(ord($1) - 0x40)/egs;
    return $token;
}

sub _malformed { my ($self, $line) = @_; $self->_break('this is no reply: ' . substr $line, 0, 80); return [BROKEN, $self->{error}] }

# Closes the connection: later bytes cannot be trusted.
sub _break {
    my ($self, $why) = @_;
    $self->close;
    @$self{qw(error_code error broken)} = (BROKEN, $why, $why);
    return BROKEN;
}

sub _succeed { my ($self) = @_; @$self{qw(error_code error)} = (0, ''); return }

# Waits until the socket can be read or written: false if the time is up.
sub _wait {
    my ($self, $writing, $deadline) = @_;
    my $select = IO::Select->new($self->{socket});
    my $left   = $deadline - Time::HiRes::time();
    return 0 if $left <= 0;
    my @ready = $writing ? $select->can_write($left) : $select->can_read($left);
    return @ready > 0 || Time::HiRes::time() < $deadline;
}

# True if the call should be tried again, after a wait; else the connection is broken.
sub _again {
    my ($self, $writing, $deadline) = @_;
    return 0 if $! != EAGAIN && $! != EWOULDBLOCK && $! != EINTR;
    # TLS may have to write in order to read, and the other way.
    if ($self->{tls} && defined $IO::Socket::SSL::SSL_ERROR) {
        $writing = 1 if $IO::Socket::SSL::SSL_ERROR == IO::Socket::SSL::SSL_WANT_WRITE();
        $writing = 0 if $IO::Socket::SSL::SSL_ERROR == IO::Socket::SSL::SSL_WANT_READ();
    }
    return 1 if $self->_wait($writing, $deadline);
    $self->_break('timeout');
    return 1;
}

sub _send {
    my ($self, $data) = @_;
    my $deadline = Time::HiRes::time() + $self->{timeout};
    local $SIG{PIPE} = 'IGNORE';
    while ($self->{socket} && length $data) {
        my $count = syswrite $self->{socket}, $data;
        if (defined $count) {
            substr $data, 0, $count, '';
        }
        elsif (!$self->_again(1, $deadline)) {
            last;    # The server has closed, perhaps with an error message, which is read next.
        }
    }
    return;
}

# The next line without its LF; undef if there is none to come.
sub _receive_line {
    my ($self) = @_;
    my $deadline = Time::HiRes::time() + $self->{timeout};
    my $searched = 0;
    while ($self->{socket}) {
        my $end = index $self->{received}, "\n", $searched;
        $searched = length $self->{received};
        return $self->_too_long if ($end < 0 ? $searched : $end) > $self->{reply_bytes_max};
        if ($end >= 0) {
            my $line = substr $self->{received}, 0, $end;
            substr $self->{received}, 0, $end + 1, '';
            return $line;
        }
        my $count = sysread $self->{socket}, $self->{received}, RECEIVE_BYTES, $searched;
        next if $count;
        $self->_break('the server closed the connection') if defined $count;
        $self->_break("read: $!") if !defined $count && !$self->_again(0, $deadline);
        $self->_break('timeout') if $self->{socket} && Time::HiRes::time() >= $deadline;
    }
    @$self{qw(error_code error)} = (BROKEN, $self->{broken} // 'not connected') if $self->{error_code} != BROKEN;
    return;
}

sub _too_long { my ($self) = @_; $self->_break("a reply longer than $self->{reply_bytes_max} bytes"); return }

1;

__END__

=encoding UTF-8

=head1 NAME

Net::HandlerSocket - rows of MariaDB by key, without SQL

=head1 SYNOPSIS

    use Net::HandlerSocket;

    my $hs = Net::HandlerSocket->new({ host => 'localhost', port => 9999 });
    $hs->open_index(0, 'test', 'user', 'PRIMARY', 'user_id,user_name') == 0 or die $hs->get_error;
    my $res = $hs->execute_single(0, '=', ['101'], 1, 0);
    die $hs->get_error if $res->[0] != 0;
    print "$res->[2]\n";
    $hs->close;

=head1 DESCRIPTION

The methods and what they return are those of the module that came with HandlerSocket, so that programs written for it
run unchanged. It is pure Perl and needs core modules only; IO::Socket::SSL for TLS. The page is README.md.

=head1 LICENSE

GPL-2.0, as Postern's.

=cut
