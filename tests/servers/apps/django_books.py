"""A Django project in one file: two models, four ModelViewSets with REST framework's kinds of pagination, tokens."""

import os
import sys
from decimal import Decimal

import django
from django.apps import apps
from django.conf import settings

settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.environ["BOOKS_DATABASE"],
            "OPTIONS": {"timeout": 60, "transaction_mode": "IMMEDIATE"},
        }
    },
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "rest_framework",
        "rest_framework.authtoken",
        __name__,
    ],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    MIGRATION_MODULES={"auth": None, "contenttypes": None, "authtoken": None},
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.TokenAuthentication"],
        "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    },
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.models import User  # noqa: E402 - models want the settings first
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import models  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.utils.timezone import now  # noqa: E402
from rest_framework import pagination, routers, serializers, viewsets  # noqa: E402
from rest_framework.authtoken.models import Token  # noqa: E402


class Author(models.Model):
    name = models.CharField(max_length=20)

    class Meta:
        app_label = __name__
        ordering = ["id"]


class Book(models.Model):
    title = models.CharField(max_length=20)
    author = models.ForeignKey(Author, on_delete=models.CASCADE)
    price = models.DecimalField(max_digits=6, decimal_places=2)
    done = models.BooleanField(default=False)
    published = models.DateField()
    created = models.DateTimeField(default=now, editable=False)
    rating = models.IntegerField(null=True, blank=True, default=None)

    class Meta:
        app_label = __name__
        ordering = ["id"]


class AuthorSerializer(serializers.ModelSerializer):
    class Meta:
        model = Author
        fields = ["id", "name"]


class BookSerializer(serializers.ModelSerializer):
    class Meta:
        model = Book
        fields = ["id", "title", "author", "price", "done", "published", "created", "rating"]


class Limited(pagination.LimitOffsetPagination):
    default_limit = 4


class Numbered(pagination.PageNumberPagination):
    page_size = 4


class Walked(pagination.CursorPagination):
    page_size = 4
    ordering = "id"


class AuthorViewSet(viewsets.ModelViewSet):
    queryset = Author.objects.all()
    serializer_class = AuthorSerializer


class BookViewSet(viewsets.ModelViewSet):
    queryset = Book.objects.all()
    serializer_class = BookSerializer
    pagination_class = Limited

    def get_queryset(self):
        found = super().get_queryset()
        asked = self.request.query_params
        if "done" in asked:
            found = found.filter(done=asked["done"] == "true")
        if "author" in asked:
            found = found.filter(author=asked["author"])
        return found


class NumberedViewSet(BookViewSet):
    pagination_class = Numbered


class WalkedViewSet(BookViewSet):
    pagination_class = Walked


def reset(request: HttpRequest) -> HttpResponse:
    """The data that each test begins with."""
    Book.objects.all().delete()
    Author.objects.all().delete()
    User.objects.all().delete()
    Token.objects.create(user=User.objects.create(username="ann"), key="token-of-ann")
    Author.objects.bulk_create([Author(id=1, name="Ann"), Author(id=2, name="Bo")])
    Book.objects.bulk_create(
        Book(
            id=number,
            title=f"Book {number}",
            author_id=1 + number % 2,
            price=Decimal(number) + Decimal("0.50"),
            done=number % 3 == 0,
            published="2024-02-29",
        )
        for number in range(1, 11)
    )
    return HttpResponse(status=204)


router = routers.DefaultRouter()
router.register("authors", AuthorViewSet)
router.register("books", BookViewSet, basename="book")
router.register("numbered", NumberedViewSet, basename="numbered")
router.register("walked", WalkedViewSet, basename="walked")
urlpatterns = [path("api/", include(router.urls)), path("reset", reset)]

# One file is the whole project, so its models are in no module `models` where Django would look for them.
apps.get_app_config(__name__).models_module = sys.modules[__name__]
call_command("migrate", run_syncdb=True, verbosity=0)
application = get_wsgi_application()
