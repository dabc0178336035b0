<?php
// A program over Doctrine's entities that prints the answers: doctrine_program.php PORT DRIVER.
error_reporting(E_ALL & ~E_DEPRECATED & ~E_USER_DEPRECATED);
require '/usr/share/php/Doctrine/ORM/autoload.php';

use Doctrine\DBAL\DriverManager;
use Doctrine\DBAL\Exception\UniqueConstraintViolationException;
use Doctrine\DBAL\LockMode;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping\Driver\AttributeDriver;
use Doctrine\ORM\Mapping as ORM;
use Doctrine\ORM\OptimisticLockException;
use Doctrine\ORM\Proxy\ProxyFactory;
use Doctrine\ORM\Tools\SchemaTool;

#[ORM\Entity]
class Author
{
    #[ORM\Id, ORM\GeneratedValue, ORM\Column]
    public ?int $id = null;
    #[ORM\Column(unique: true)]
    public string $name;
    #[ORM\OneToMany(targetEntity: Book::class, mappedBy: 'author')]
    #[ORM\OrderBy(['id' => 'ASC'])]
    public $books;
}

#[ORM\Entity]
class Book
{
    #[ORM\Id, ORM\GeneratedValue, ORM\Column(type: 'bigint')]
    public $id = null;
    #[ORM\ManyToOne(targetEntity: Author::class, inversedBy: 'books'), ORM\JoinColumn(nullable: false)]
    public $author;
    #[ORM\Column]
    public string $title;
    #[ORM\Column(type: 'decimal', precision: 8, scale: 2, nullable: true)]
    public $price;
    #[ORM\Column(type: 'datetime', nullable: true)]
    public $printed;
    #[ORM\Version, ORM\Column(type: 'integer')]
    public int $version = 1;
}

function show(...$values): void
{
    foreach ($values as $value) {
        if ($value instanceof Book) {
            $value = [$value->id, $value->title, $value->price, $value->printed?->format('c'), $value->version];
        }
        if ($value instanceof Author) {
            $value = [$value->id, $value->name];
        }
        echo json_encode($value, JSON_UNESCAPED_UNICODE), "\n";
    }
}

function read(EntityManager $manager): void
{
    for ($number = 1; $number < 10; ++$number) { // each form is the server's twice, then a worker's
        $manager->clear();
        show($manager->find(Author::class, $number), $manager->find(Book::class, $number));
        show($manager->getRepository(Author::class)->findOneBy(['name' => 'имя ' . $number % 4]));
        show(...$manager->getRepository(Book::class)->findBy(['id' => [$number, $number + 1, 99]], ['id' => 'DESC']));
        show(...$manager->getRepository(Book::class)->findBy(['author' => $number], ['id' => 'ASC'], 2, 1));
        show($manager->getRepository(Book::class)->count(['id' => $number]));
        show($manager->find(Author::class, $number)?->books->count());
    }
    $query = $manager->createQuery('SELECT a, b FROM Author a LEFT JOIN a.books b ORDER BY a.id, b.id');
    show($query->getArrayResult(), $manager->createQuery('SELECT SUM(b.price), MAX(b.printed) FROM Book b')->getResult());
}

function write(EntityManager $manager, callable $another): void
{
    $manager->clear();
    for ($number = 1; $number < 5; ++$number) {
        $manager->find(Book::class, $number)->title = "it's changed $number";
        $manager->flush();
        $increment = $manager->createQuery('UPDATE Book b SET b.price = b.price + 1 WHERE b.id = :id');
        show($increment->execute(['id' => $number]));
        show($manager->createQuery('DELETE FROM Book b WHERE b.id = :id')->execute(['id' => $number + 50]));
    }
    $manager->wrapInTransaction(function ($manager) {
        $book = $manager->find(Book::class, 3, LockMode::PESSIMISTIC_WRITE);
        $book->price = null;
    });
    $manager->clear();
    $book = $manager->find(Book::class, 2);
    $manager->getConnection()->executeStatement('UPDATE Book SET version = version + 1 WHERE id = ?', [2]);
    $book->title = 'too late';
    try {
        $manager->flush();
    } catch (OptimisticLockException $problem) {
        show($problem->getMessage());
    }
    $manager = $another();
    $author = new Author();
    $author->name = 'имя 1';
    $manager->persist($author);
    try {
        $manager->flush();
    } catch (UniqueConstraintViolationException $problem) {
        show($problem->getMessage());
    }
    $manager = $another();
    $manager->remove($manager->find(Book::class, 5));
    $manager->flush();
}

$settings = new Configuration();
$settings->setMetadataDriverImpl(new AttributeDriver([]));
$settings->setProxyDir(sys_get_temp_dir());
$settings->setProxyNamespace('Proxies');
$settings->setAutoGenerateProxyClasses(ProxyFactory::AUTOGENERATE_EVAL);
$address = ['driver' => $argv[2], 'host' => '127.0.0.1', 'port' => $argv[1], 'user' => 'root', 'dbname' => 'orm', 'charset' => 'utf8mb4'];
$another = fn () => new EntityManager(DriverManager::getConnection($address, $settings), $settings);
$manager = $another();
$classes = $manager->getMetadataFactory();
(new SchemaTool($manager))->createSchema([$classes->getMetadataFor(Author::class), $classes->getMetadataFor(Book::class)]);
for ($number = 1; $number < 5; ++$number) {
    $author = new Author();
    $author->name = "имя $number";
    $manager->persist($author);
    for ($n = 0; $n < $number; ++$n) {
        $book = new Book();
        $book->author = $author;
        $book->title = "book $number.$n";
        $book->price = $n / 4;
        $book->printed = new DateTime("2024-0$number-28 01:02:03");
        $manager->persist($book);
    }
    $manager->flush();
}
read($manager);
write($manager, $another);
read($another());
