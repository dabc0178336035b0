# A program over DBIx::Class that prints the answers: dbix_program.pl PORT DRIVER.
use strict;
use warnings;
use utf8;

package Orm::Author;
use base 'DBIx::Class::Core';
__PACKAGE__->table('author');
__PACKAGE__->add_columns(id => { is_auto_increment => 1 }, 'name');
__PACKAGE__->set_primary_key('id');
__PACKAGE__->add_unique_constraint(name => ['name']);
__PACKAGE__->has_many(books => 'Orm::Book', 'author_id');

package Orm::Book;
use base 'DBIx::Class::Core';
__PACKAGE__->table('book');
__PACKAGE__->add_columns(id => { is_auto_increment => 1 }, qw(author_id title price stock));
__PACKAGE__->set_primary_key('id');
__PACKAGE__->belongs_to(author => 'Orm::Author', 'author_id');

package Orm;
use base 'DBIx::Class::Schema';
__PACKAGE__->register_class(Author => 'Orm::Author');
__PACKAGE__->register_class(Book => 'Orm::Book');

package main;
binmode STDOUT, ':utf8';
my ($port, $driver) = @ARGV;
my $unicode = $driver eq 'mysql' ? { mysql_enable_utf8mb4 => 1 } : {};
my $orm = Orm->connect("dbi:$driver:host=127.0.0.1;port=$port;database=orm", 'root', '', { RaiseError => 1, %$unicode });

sub show {
    print join(' ', map { defined $_ ? $_ : 'NULL' } @_), "\n";
}

sub columns {
    my ($row) = @_;
    my %columns = $row ? $row->get_columns : ();
    return map { "$_=" . ($columns{$_} // 'NULL') } sort keys %columns;
}

sub reading {
    my ($authors, $books) = ($orm->resultset('Author'), $orm->resultset('Book'));
    for my $number (1 .. 9) {    # each form is the server's twice, then a worker's
        show(columns($authors->find($number)), columns($authors->find({ name => "имя $number" }, { key => 'name' })));
        show(map { columns($_) } $books->search({ author_id => $number }, { order_by => 'id' }));
        show($books->search({ id => $number })->count, columns($books->find($number)));
        show(map { $_->title } $books->search({ id => [ $number, $number + 1 ] }, { order_by => 'id' }));
        show(map { $_->id } $books->search({ author_id => { '>' => 1 } }, { order_by => 'id', rows => 2, page => $number }));
        show(map { $_->author->name } $books->search({ 'me.id' => $number }, { prefetch => 'author' }));
    }
    show($books->get_column('price')->sum, $books->get_column('price')->max);
}

sub writing {
    my ($authors, $books) = ($orm->resultset('Author'), $orm->resultset('Book'));
    for my $number (1 .. 4) {
        my $book = $books->find($number);
        $book->update({ title => "changed $number", price => undef });
        $book->update({ stock => \'stock + 3' });
        show(columns($book->get_from_storage), $books->search({ id => $number + 40 })->delete);
        show(columns($authors->find_or_create({ name => "имя $number" })));
        show(columns($authors->update_or_create({ name => "new $number" }, { key => 'name' })));
    }
    eval { $authors->create({ name => 'имя 1' }); 1 } or show($@ =~ /(Duplicate[^\[]*)/);
    $orm->txn_do(sub {
        $books->find(3, { for => 'update' })->update({ title => 'locked' });
        eval { $orm->txn_do(sub { $authors->find(1)->update({ name => 'other' }); die "inner\n" }) };
        show($@);
        $authors->find(1)->update({ name => 'имя 1' });
    });
    $books->find(5)->delete;
    show($books->search({ author_id => 2 })->update({ stock => 9 }));
}

my $dbh = $orm->storage->dbh;
$dbh->do('CREATE TABLE author (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50) NOT NULL UNIQUE)');
$dbh->do('CREATE TABLE book (id INT AUTO_INCREMENT PRIMARY KEY, author_id INT NOT NULL, title VARCHAR(99), price DECIMAL(8,2),'
      . ' stock INT NOT NULL DEFAULT 0, KEY (author_id), FOREIGN KEY (author_id) REFERENCES author (id))');
for my $number (1 .. 4) {
    my $author = $orm->resultset('Author')->create({ name => "имя $number" });
    $author->create_related(books => { title => "book $number.$_", price => $_ / 4 }) for 1 .. $number;
}
reading();
writing();
reading();
