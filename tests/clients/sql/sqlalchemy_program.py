"""A program with SQLAlchemy's models, sessions and relations that prints its results: sqlalchemy_program.py PORT
DRIVER."""
import datetime
import decimal
import sys

from sqlalchemy import Column, DateTime, ForeignKey, Integer, Numeric, String, create_engine, event, exc, func, select
from sqlalchemy.orm import Session, declarative_base, joinedload, relationship, selectinload

PORT, DRIVER = sys.argv[1:]
Base = declarative_base()


class Author(Base):
    __tablename__ = "author"
    id = Column(Integer, primary_key=True)
    name = Column(String(50), unique=True, nullable=False)
    books = relationship("Book", back_populates="author", order_by="Book.id", cascade="all, delete-orphan")


class Book(Base):
    __tablename__ = "book"
    id = Column(Integer, primary_key=True)
    author_id = Column(ForeignKey("author.id"), nullable=False)
    title = Column(String(100))
    price = Column(Numeric(8, 2))
    printed = Column(DateTime)
    version = Column(Integer, nullable=False)
    author = relationship(Author, back_populates="books")
    __mapper_args__ = {"version_id_col": version}


def shown(book):
    return book and (book.id, book.title, book.price, book.printed, book.version)


def fill(engine):
    with Session(engine) as session:
        for number in range(1, 6):
            books = [
                Book(title=f"ключ {number}.{n}", price=decimal.Decimal(n) / 4, printed=datetime.datetime(2024, n, 29))
                for n in range(1, number)
            ]
            session.add(Author(name=f"author {number}", books=books))
        session.commit()


def read(engine):
    for number in range(1, 12):  # the server answers each form twice, then a worker does
        with Session(engine) as session:
            author = session.get(Author, number)
            print(number, author and author.name, shown(session.get(Book, number)))
            if author:
                print([shown(book) for book in author.books])
    with Session(engine) as session:
        for loading in (joinedload, selectinload):
            authors = (
                session.execute(select(Author).options(loading(Author.books)).order_by(Author.id)).unique().scalars()
            )
            print([(author.name, len(author.books)) for author in authors])
        print(session.execute(select(func.count(), func.sum(Book.price), func.max(Book.printed))).one())
        for name in ("author 2", "nobody", "author 2", "AUTHOR 3"):
            print(session.execute(select(Author.id).where(Author.name == name)).scalar_one_or_none())
        print(session.execute(select(Book.title).where(Book.id.in_([1, 3, 99])).order_by(Book.id.desc())).all())


def write(engine):
    with Session(engine) as session:
        book = session.get(Book, 2)
        book.title = "changed"
        session.flush()
        print(shown(book))
        session.rollback()
        print(shown(session.get(Book, 2)))
        session.get(Book, 3).price += 1
        session.commit()
        with session.begin_nested() as point:
            session.add(Author(name="not to stay"))
            session.flush()
            point.rollback()
        try:
            session.add(Author(name="author 1"))
            session.commit()
        except exc.IntegrityError as problem:
            print(problem.orig)
            session.rollback()
        print(session.execute(select(func.count()).select_from(Author)).scalar())
        locked = session.execute(select(Author).where(Author.id == 1).with_for_update()).scalar_one()
        session.delete(locked)
        session.commit()
    stale = Session(engine)
    old = stale.get(Book, 5)
    with Session(engine) as session:
        session.get(Book, 5).title = "by another"
        session.commit()
    old.title = "too late"
    try:
        stale.commit()
    except Exception as problem:  # pylint: disable=broad-except
        print(type(problem).__name__)
    stale.close()


def main():
    engine = create_engine(
        f"mysql+{DRIVER}://root@127.0.0.1:{PORT}/orm?charset=utf8mb4", pool_size=2, pool_pre_ping=True
    )
    event.listen(engine, "handle_error", lambda context: print(type(context.original_exception).__name__))
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    fill(engine)
    read(engine)
    write(engine)
    read(engine)
    with engine.connect().execution_options(isolation_level="READ COMMITTED") as connection:
        print(connection.execute(select(Author.name).order_by(Author.id)).all())
    engine.dispose()


main()
