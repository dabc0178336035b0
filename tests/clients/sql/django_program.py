"""A program with Django's models that prints its results: django_program.py PORT [FOLDER WITH DJANGO]."""
import datetime
import decimal
import sys

PORT = sys.argv[1]
sys.path[:0] = sys.argv[2:]

import django  # noqa: E402
from django.conf import settings  # noqa: E402

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.mysql",
            "HOST": "127.0.0.1",
            "PORT": PORT,
            "USER": "root",
            "NAME": "orm",
            "OPTIONS": {"charset": "utf8mb4"},
        }
    },
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    SECRET_KEY="s",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, models, transaction  # noqa: E402

ZONE = datetime.timezone.utc


class Shelf(models.Model):
    label = models.CharField(max_length=40, unique=True)

    class Meta:
        app_label = "library"


class Item(models.Model):
    shelf = models.ForeignKey(Shelf, models.CASCADE, related_name="items")
    title = models.CharField(max_length=80, db_index=True)
    price = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    since = models.DateTimeField(null=True)
    about = models.JSONField(default=dict)

    class Meta:
        app_label = "library"


def shown(item):
    return (item.pk, item.title, item.price, item.since, item.about)


def fill():
    for number in range(1, 5):
        shelf = Shelf.objects.create(label=f"полка {number}")
        since = datetime.datetime(2024, number, 29, 23, 59, 59, 999999, ZONE)
        made = [Item(shelf=shelf, title=f"item {n}", price=n, since=since, about={"n": [n, None]}) for n in range(3)]
        Item.objects.bulk_create(made)


def read():
    for number in range(1, 9):  # the server answers each form twice, then a worker does
        print(Shelf.objects.filter(pk=number).values_list("label", flat=True).first())
        try:
            print(shown(Item.objects.get(pk=number)))
        except Item.DoesNotExist as problem:
            print(problem)
        print([shown(item) for item in Item.objects.filter(shelf_id=number).order_by("-pk")])
    print(list(Item.objects.select_related("shelf").order_by("pk").values_list("shelf__label", "title")))
    print([len(shelf.items.all()) for shelf in Shelf.objects.prefetch_related("items").order_by("pk")])
    print(Item.objects.aggregate(models.Sum("price"), models.Count("pk"), models.Max("since")))
    print(list(Item.objects.filter(title__in=["item 1", "ITEM 2"], about__n__0=1).values_list("pk", flat=True)))
    print(list(Item.objects.values("shelf").annotate(n=models.Count("pk")).order_by("shelf")))
    print(Shelf.objects.filter(label="полка 2").exists(), Shelf.objects.in_bulk([1, 3]).keys())


def write():
    print(Item.objects.filter(pk=2).update(price=models.F("price") + decimal.Decimal("0.25")))
    print(
        Item.objects.get_or_create(title="new", shelf_id=1)[1], Item.objects.get_or_create(title="new", shelf_id=1)[1]
    )
    print(Item.objects.update_or_create(title="new", defaults={"price": 9})[1])
    try:
        with transaction.atomic():
            Item.objects.filter(shelf_id=1).delete()
            with transaction.atomic():
                Shelf.objects.create(label="полка 1")
    except IntegrityError as problem:
        print(problem)
    with transaction.atomic():
        item = Item.objects.select_for_update().get(pk=3)
        item.title = "locked"
        item.save(update_fields=["title"])
    print(Item.objects.filter(shelf_id=4).delete(), Shelf.objects.filter(pk=4).delete())


def applications():
    user = User.objects.create_user("ann", "ann@example.com", "pw", last_login=None)
    user.groups.add(Group.objects.create(name="editors"))
    for _ in range(4):
        ann = User.objects.get(username="ann")
        print(ann.email, ann.check_password("pw"), [group.name for group in ann.groups.all()], ann.has_perm("auth.x"))
    session = SessionStore("k" * 32)
    session["cart"] = [1, "два"]
    session.save(must_create=True)
    for _ in range(4):
        print(SessionStore("k" * 32).load(), SessionStore("x" * 32).exists("x" * 32))


def main():
    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        editor.create_model(Shelf)
        editor.create_model(Item)
    fill()
    read()
    write()
    read()
    applications()
    print(connection.introspection.table_names())


main()
