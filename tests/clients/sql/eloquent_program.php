<?php
// A program over Eloquent's models (Laravel) that prints the answers: eloquent_program.php PORT.
require '/usr/share/php/Illuminate/Database/autoload.php';

use Illuminate\Database\Capsule\Manager;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\Eloquent\ModelNotFoundException;
use Illuminate\Database\QueryException;

class Author extends Model
{
    public $timestamps = false;
    protected $guarded = [];

    public function books()
    {
        return $this->hasMany(Book::class);
    }
}

class Book extends Model
{
    public $timestamps = false;
    protected $guarded = [];
    protected $casts = ['price' => 'decimal:2', 'printed' => 'datetime', 'sold' => 'boolean'];

    public function author()
    {
        return $this->belongsTo(Author::class);
    }
}

function show(...$values): void
{
    foreach ($values as $value) {
        echo json_encode($value, JSON_UNESCAPED_UNICODE), "\n";
    }
}

function read(): void
{
    for ($number = 1; $number < 10; ++$number) { // each form is the server's twice, then a worker's
        show(Author::find($number), Book::where('author_id', $number)->orderBy('id')->get());
        show(Author::where('name', 'имя ' . $number % 4)->first(), Book::find([$number, $number + 1, 99]));
        show(Book::whereKey($number)->exists(), Book::where('id', $number)->count(), Book::whereKey($number)->value('title'));
        try {
            show(Book::findOrFail($number * 3)->toArray());
        } catch (ModelNotFoundException $problem) {
            show($problem->getMessage());
        }
        show(Book::where('author_id', '>', 1)->orderBy('id')->skip($number)->take(2)->pluck('title'));
    }
    show(Author::with('books')->orderBy('id')->get(), Book::sum('price'), Book::max('printed'));
    show(Book::join('authors', 'authors.id', '=', 'books.author_id')->where('authors.name', 'имя 2')->pluck('title'));
    Book::orderBy('id')->chunk(3, fn ($books) => show($books->modelKeys()));
}

function write(): void
{
    $book = Book::find(2);
    $book->update(['title' => "it's changed", 'printed' => null]);
    $book->increment('stock', 5);
    $book->decrement('stock');
    show($book->fresh(), $book->save());
    for ($number = 1; $number < 5; ++$number) {
        show(Book::where('id', $number)->update(['sold' => $number % 2 === 0]), Book::whereKey(50 + $number)->delete());
        show(Book::updateOrCreate(['title' => "upsert $number"], ['author_id' => 1, 'price' => $number]));
        show(Author::firstOrCreate(['name' => "имя $number"]), Author::insertOrIgnore(['name' => "имя $number"]));
        show(Author::upsert([['name' => "имя $number"], ['name' => "new $number"]], ['name'], ['name']));
    }
    try {
        Author::create(['name' => 'имя 1']);
    } catch (QueryException $problem) {
        show($problem->getMessage());
    }
    Manager::connection()->transaction(function () {
        Book::lockForUpdate()->find(3)->update(['title' => 'locked']);
        try {
            Manager::connection()->transaction(function () {
                Author::find(1)->update(['name' => 'not to stay']);
                throw new RuntimeException('inner');
            });
        } catch (RuntimeException $problem) {
            show($problem->getMessage(), Author::find(1)->name);
        }
    });
    Book::destroy([1, 4]);
    Author::find(3)->books()->delete();
    show(Book::where('price', '>=', 2)->delete());
}

$manager = new Manager();
$manager->addConnection([
    'driver' => 'mysql', 'host' => '127.0.0.1', 'port' => $argv[1], 'database' => 'orm', 'username' => 'root',
    'password' => '', 'charset' => 'utf8mb4', 'collation' => 'utf8mb4_unicode_ci', 'strict' => true,
]);
$manager->setAsGlobal();
$manager->bootEloquent();
Manager::schema()->create('authors', function ($table) {
    $table->id();
    $table->string('name')->unique();
});
Manager::schema()->create('books', function ($table) {
    $table->id();
    $table->foreignId('author_id')->constrained();
    $table->string('title')->index();
    $table->decimal('price', 8, 2)->nullable();
    $table->dateTime('printed', 3)->nullable();
    $table->boolean('sold')->default(false);
    $table->integer('stock')->default(0);
});
for ($number = 1; $number < 5; ++$number) {
    $author = Author::create(['name' => "имя $number"]);
    for ($n = 0; $n < $number; ++$n) {
        $author->books()->create(['title' => "book $number.$n", 'price' => $n / 4, 'printed' => "2024-0$number-28 01:02:03.5"]);
    }
}
read();
write();
read();
Manager::schema()->table('books', fn ($table) => $table->string('more')->default('7'));
read();
