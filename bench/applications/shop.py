"""A shop over Django's models, for bench/pages: shop.py PORT DATABASE FOLDER_WITH_DJANGO.

Reads commands from standard input: `fill`, or the name of a page, and sends its queries as a view would; prints
`done` after each. Its connection stays open, as with CONN_MAX_AGE.
"""
import datetime
import decimal
import sys
import types
from pathlib import Path

PORT, DATABASE, FOLDER = sys.argv[1:4]
sys.path.insert(0, FOLDER)
# Django takes any package as an application, even an empty one.
sys.modules["shop"] = types.ModuleType("shop")
sys.modules["shop"].__path__ = [str(Path(__file__).parent)]

import django  # noqa: E402
from django.conf import settings  # noqa: E402

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.mysql",
            "HOST": "127.0.0.1",
            "PORT": PORT,
            "USER": "root",
            "NAME": DATABASE,
            "OPTIONS": {"charset": "utf8mb4"},
        }
    },
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "shop"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    SECRET_KEY="s",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth import authenticate  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, models, transaction  # noqa: E402
from django.db.models import Avg, Count, F, Q, Sum  # noqa: E402


class Category(models.Model):
    parent = models.ForeignKey("self", models.CASCADE, null=True)
    name = models.CharField(max_length=60)
    slug = models.SlugField(unique=True)

    class Meta:
        app_label = "shop"


class Product(models.Model):
    title = models.CharField(max_length=120, db_index=True)
    price = models.DecimalField(max_digits=10, decimal_places=2)
    stock = models.IntegerField(default=100)
    public = models.BooleanField(default=True)
    since = models.DateTimeField(db_index=True)
    categories = models.ManyToManyField(Category)

    class Meta:
        app_label = "shop"


class Review(models.Model):
    product = models.ForeignKey(Product, models.CASCADE, related_name="reviews")
    author = models.ForeignKey(User, models.CASCADE)
    score = models.IntegerField()
    text = models.TextField()

    class Meta:
        app_label = "shop"


class Basket(models.Model):
    owner = models.ForeignKey(User, models.CASCADE, null=True)
    status = models.CharField(max_length=10, default="open", db_index=True)

    class Meta:
        app_label = "shop"


class Line(models.Model):
    basket = models.ForeignKey(Basket, models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, models.CASCADE)
    count = models.IntegerField(default=1)

    class Meta:
        app_label = "shop"
        unique_together = [("basket", "product")]


ALL = (Category, Product, Review, Basket, Line)
BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def fill():
    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        for model in ALL:
            editor.create_model(model)
    users = [User.objects.create_user(f"user{number}", password=f"pw{number}") for number in range(20)]
    root = Category.objects.create(name="All", slug="all")
    categories = [Category.objects.create(name=f"Part {n}", slug=f"part-{n}", parent=root) for n in range(12)]
    products = Product.objects.bulk_create(
        Product(
            title=f"Thing {n:03}", price=decimal.Decimal(n) + decimal.Decimal("0.99"), since=BEGIN, public=n % 9 != 0
        )
        for n in range(300)
    )
    products = list(Product.objects.order_by("id"))
    for number, product in enumerate(products):
        product.categories.set([categories[number % 12], categories[number * 7 % 12]])
    Review.objects.bulk_create(
        Review(product=product, author=users[n % 20], score=n % 5 + 1, text=f"Text {n}")
        for n, product in enumerate(products * 3)
    )


def visitor():
    """The queries of the middleware on each page: the session, and its user."""
    session = SessionStore(session_key=VISIT.get("key"))
    number = session.get("user")
    return session, User.objects.filter(pk=number).first() if number else None


VISIT = {}


def front():
    visitor()
    list(Category.objects.filter(parent__isnull=True).order_by("name"))
    list(Product.objects.filter(public=True).order_by("-since", "-id")[:12])
    list(Product.objects.annotate(count=Count("reviews")).order_by("-count", "id")[:5])


def category():
    visitor()
    shown = Category.objects.get(slug="part-3")
    public = Product.objects.filter(public=True, categories=shown)
    public.count()
    for product in public.order_by("title").prefetch_related("categories")[:20]:
        list(product.categories.all())
    list(Category.objects.filter(parent_id=shown.parent_id))


def product():
    visitor()
    shown = Product.objects.get(pk=37)
    list(shown.categories.select_related("parent"))
    shown.reviews.aggregate(Avg("score"), Count("id"))
    list(shown.reviews.select_related("author").order_by("-id")[:10])
    Product.objects.filter(categories__in=shown.categories.all()).exclude(pk=shown.pk).distinct().exists()


def search():
    visitor()
    found = Product.objects.filter(Q(title__icontains="thing 1") | Q(reviews__text__icontains="text 77"))
    found.distinct().count()
    list(found.distinct().order_by("title")[:20])


def login():
    user = authenticate(username="user3", password="pw3")
    session = SessionStore()
    session["user"] = user.pk
    session.save()
    VISIT["key"] = session.session_key
    User.objects.filter(pk=user.pk).update(last_login=BEGIN)


def basket():
    _, user = visitor()
    with transaction.atomic():
        mine, _ = Basket.objects.get_or_create(owner=user, status="open")
        for number in (37, 38, 41):
            line, made = Line.objects.get_or_create(basket=mine, product_id=number)
            if not made:
                line.count = F("count") + 1
                line.save(update_fields=["count"])
    list(mine.lines.select_related("product"))


def checkout():
    session, user = visitor()
    with transaction.atomic():
        mine = Basket.objects.select_for_update().filter(owner=user, status="open").first()
        if mine is not None:
            mine.lines.aggregate(total=Sum(F("count") * F("product__price")))
            for line in mine.lines.all():
                Product.objects.filter(pk=line.product_id, stock__gte=line.count).update(stock=F("stock") - line.count)
            mine.status = "paid"
            mine.save()
    session["paid"] = True
    session.save()


PAGES = {one.__name__: one for one in (fill, front, category, product, search, login, basket, checkout)}
for asked in sys.stdin:
    PAGES[asked.strip()]()
    print("done", flush=True)
