"""Django's own Redis cache, and sessions stored in it: prints the program's results."""
import sys
import time

*folders, port = sys.argv[1:]
sys.path[:0] = folders

import django  # noqa: E402
from django.conf import settings  # noqa: E402

settings.configure(
    CACHES={
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": f"redis://127.0.0.1:{port}",
        }
    },
    SESSION_ENGINE="django.contrib.sessions.backends.cache",
    SECRET_KEY="s",
    USE_TZ=True,
)
django.setup()

from django.contrib.sessions.backends.cache import SessionStore  # noqa: E402
from django.core.cache import cache  # noqa: E402


def tell(name, value):
    print(f"{name}: {value!r}")


cache.clear()
tell("set", cache.set("greeting", {"hello": ["w\u00f6rld", 1]}, 100))
tell("get", cache.get("greeting"))
tell("default", cache.get("nosuch", "none"))
tell("add", [cache.add("greeting", 1), cache.add("other", 1)])
tell("numbers", [cache.set("n", 41), cache.incr("n"), cache.decr("n", 2), cache.get("n")])
cache.set_many({"a": 1, "b": b"\0\xff", "c": None}, 50)
tell("many", cache.get_many(["a", "b", "c", "d"]))
tell("has", [cache.has_key("a"), cache.has_key("d")])
tell("touch", [cache.touch("a", 500), cache.touch("d", 500)])
tell("get or set", [cache.get_or_set("made", lambda: 7), cache.get("made")])
cache.set("short", 1, 1)
late = time.monotonic() + 30
while cache.get("short") is not None and time.monotonic() < late:
    time.sleep(0.01)
tell("expired", cache.get("short"))
tell("delete", [cache.delete("a"), cache.delete("a")])
cache.delete_many(["b", "c"])
tell("deleted", cache.get_many(["a", "b", "c"]))
tell("versions", [cache.set("v", 1, version=2), cache.get("v"), cache.get("v", version=2)])
try:
    cache.incr("nosuch")
except ValueError as error:
    tell("no number", str(error).replace(":1:", ""))

session = SessionStore()
session["user"] = 7
session.save()
again = SessionStore(session.session_key)
tell("session", again.get("user"))
again["cart"] = [1, 2]
again.save()
tell("changed", SessionStore(session.session_key)["cart"])
again.flush()
tell("flushed", SessionStore(session.session_key).get("user"))
cache.clear()
tell("cleared", cache.get("greeting"))
