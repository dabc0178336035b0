import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.LockModeType;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OptimisticLockException;
import jakarta.persistence.OrderBy;
import jakarta.persistence.PersistenceException;
import jakarta.persistence.Table;
import jakarta.persistence.Version;
import java.math.BigDecimal;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** A program over Hibernate's entities that prints the results: HibernateProgram PORT OPTIONS. */
public class HibernateProgram {
  @Entity(name = "Author")
  @Table(name = "author")
  static class Author {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;

    @Column(unique = true, nullable = false) String name;

    @OneToMany(mappedBy = "author", orphanRemoval = true) @OrderBy("id") List<Book> books = new ArrayList<>();
  }

  @Entity(name = "Book")
  @Table(name = "book")
  static class Book {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;

    @ManyToOne(optional = false) Author author;

    String title;

    @Column(precision = 8, scale = 2) BigDecimal price;

    LocalDateTime printed;
    boolean sold;

    @Version int version;

    public String toString() { return id + " " + title + " " + price + " " + printed + " " + sold + " " + version; }
  }

  static void show(Object... told) {
    for (Object one : told) System.out.println(one);
  }

  static void fill(SessionFactory factory) {
    for (int number = 1; number < 5; ++number) {
      Author author = new Author();
      author.name = "имя " + number;
      int books = number;
      factory.inTransaction(session -> {
        session.persist(author);
        for (int n = 0; n < books; ++n) {
          Book book = new Book();
          book.author = author;
          book.title = "book " + author.id + "." + n;
          book.price = BigDecimal.valueOf(n * 25L, 2);
          book.printed = LocalDateTime.of(2024, 1 + n, 28, 1, 2, 3, 500_000);
          session.persist(book);
        }
      });
    }
  }

  static void read(SessionFactory factory) {
    for (long number = 1; number < 10; ++number) { // each form is the server's twice, then a worker's
      long key = number;
      factory.inTransaction(session -> {
        Author author = session.get(Author.class, key);
        show(author == null ? null : author.name, author == null ? null : author.books, session.get(Book.class, key));
      });
      try (Session session = factory.openSession()) {
        show(session.createQuery("from Author where name = :name", Author.class)
                 .setParameter("name", "имя " + key % 4)
                 .getResultList()
                 .size());
        show(session.createQuery("from Book where id in (:keys) order by id", Book.class)
                 .setParameterList("keys", List.of(key, key + 1, 99L))
                 .getResultList());
        show(session.createQuery("select count(b.id) from Book b where b.id = :key", Long.class)
                 .setParameter("key", key)
                 .getSingleResult());
        show(session.createQuery("select title from Book where author.id = :key order by id", String.class)
                 .setParameter("key", key)
                 .setFirstResult(1)
                 .setMaxResults(2)
                 .getResultList());
      }
    }
    try (Session session = factory.openSession()) {
      show(session.createQuery("select sum(price), max(printed) from Book", Object[].class).getSingleResult());
      for (Author author :
          session.createQuery("select distinct a from Author a left join fetch a.books order by a.id", Author.class)
              .getResultList()) {
        show(author.name + author.books);
      }
    }
  }

  static void write(SessionFactory factory) {
    for (long number = 1; number < 5; ++number) {
      long key = number;
      factory.inTransaction(session -> {
        Book book = session.get(Book.class, key);
        book.title = "changed '" + key + "'";
        book.sold = !book.sold;
        if (key == 2) book.price = null;
      });
      factory.inTransaction(session -> {
        show(session.createMutationQuery("update Book set price = price + 1 where id = :key")
                 .setParameter("key", key)
                 .executeUpdate());
        show(session.createMutationQuery("delete from Book where id = :key")
                 .setParameter("key", key + 50)
                 .executeUpdate());
      });
      factory.inTransaction(session -> show(session.get(Book.class, key, org.hibernate.LockMode.PESSIMISTIC_WRITE)));
    }
    try {
      factory.inTransaction(session -> {
        Author author = new Author();
        author.name = "имя 1";
        session.persist(author);
      });
    } catch (PersistenceException problem) {
      show(problem.getMessage().replaceAll("\\(conn=\\d+\\)", ""));
    }
    try (Session stale = factory.openSession()) {
      stale.beginTransaction();
      Book book = stale.get(Book.class, 3L);
      stale.getTransaction().commit();
      factory.inTransaction(session -> session.get(Book.class, 3L).title = "by another");
      stale.beginTransaction();
      book.title = "too late";
      stale.getTransaction().commit();
    } catch (OptimisticLockException problem) {
      show(problem.getMessage());
    }
    factory.inTransaction(session -> {
      session.find(Author.class, 1L, LockModeType.PESSIMISTIC_READ).books.clear();
      session.remove(session.get(Book.class, 5L));
    });
    try (Session session = factory.openSession()) {
      session.beginTransaction();
      session.get(Author.class, 2L).name = "not to stay";
      session.flush();
      session.getTransaction().rollback();
    }
  }

  public static void main(String[] arguments) {
    Logger.getLogger("").setLevel(Level.OFF);
    String url = "jdbc:mariadb://127.0.0.1:" + arguments[0] + "/orm?user=root&" + arguments[1];
    Configuration configuration = new Configuration()
                                      .addAnnotatedClass(Author.class)
                                      .addAnnotatedClass(Book.class)
                                      .setProperty("hibernate.connection.url", url)
                                      .setProperty("hibernate.connection.pool_size", "2")
                                      .setProperty("hibernate.connection.autocommit", "true")
                                      .setProperty("hibernate.hbm2ddl.auto", "create");
    try (SessionFactory factory = configuration.buildSessionFactory()) {
      fill(factory);
      read(factory);
      write(factory);
      read(factory);
    }
  }
}
