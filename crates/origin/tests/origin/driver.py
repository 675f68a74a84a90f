"""What applications do with MongoDB's official driver for Python, against any server: driver.py URL CA."""

import datetime
import sys

from bson import ObjectId
from pymongo import ASCENDING, DESCENDING, DeleteOne, InsertOne, MongoClient, ReturnDocument, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure

url, ca = sys.argv[1:]
client = MongoClient(url, tlsCAFile=ca, serverSelectionTimeoutMS=10_000)
db = client.driver
for collection in ["seats", "types", "users", "things", "bulk"]:
    db[collection].delete_many({})
STEPS = []


def step(function):
    STEPS.append(function)
    return function


@step
def greeting():
    assert client.admin.command("ping")["ok"] == 1
    assert client.server_info()["versionArray"][0] >= 4


@step
def insert_and_find():
    seats = db.seats
    made = seats.insert_one({"row": 11, "price": 12.5, "when": datetime.datetime(2026, 1, 2), "tags": ["a"]})
    assert isinstance(made.inserted_id, ObjectId)
    found = seats.find_one({"_id": made.inserted_id})
    assert found["row"] == 11 and found["when"] == datetime.datetime(2026, 1, 2), found
    seats.insert_many([{"_id": number, "row": number % 10} for number in range(500)])
    assert sorted(doc["_id"] for doc in seats.find({"row": 3})) == list(range(3, 500, 10))
    assert len(list(seats.find({"row": 3}, limit=7))) == 7
    assert seats.find_one({"row": 7, "_id": 17}) == {"_id": 17, "row": 7}
    assert seats.find_one({"tags": "a"})["_id"] == made.inserted_id
    assert seats.find_one({"_id": "none"}) is None


@step
def types():
    given = {"_id": 1, "b": b"\x00\xff", "t": True, "n": None, "big": 2**40, "in": {"list": [1, {"x": "\u00fc"}]}}
    db.types.insert_one(given)
    assert db.types.find_one() == given
    assert db.types.find_one({"in": given["in"]}) == given


@step
def indexes():
    users = db.users
    assert users.create_index([("mail", ASCENDING)], unique=True) == "mail_1"
    users.create_index([("town", ASCENDING), ("age", DESCENDING)])
    users.create_index([("town", ASCENDING), ("age", DESCENDING)])
    users.insert_many([{"mail": f"u{n}", "town": n % 20, "age": n % 7} for n in range(400)])
    assert {doc["mail"] for doc in users.find({"town": 3, "age": 4})} == {"u123", "u263"}
    try:
        users.insert_one({"mail": "u5"})
        raise AssertionError("a second document with the same key was taken")
    except DuplicateKeyError as error:
        assert error.code == 11000 and error.details["keyValue"] == {"mail": "u5"}, error.details


@step
def updates():
    things = db.things
    things.insert_many([{"_id": 1, "n": 1}, {"_id": 2, "n": 1}])
    assert things.update_one({"_id": 1}, {"$inc": {"n": 4}, "$set": {"s": "x"}}).modified_count == 1
    assert things.update_one({"_id": 1}, {"$set": {"s": "x"}}).modified_count == 0
    assert things.find_one({"_id": 1}) == {"_id": 1, "n": 5, "s": "x"}
    assert things.update_one({"_id": 3}, {"$set": {"n": 3}}).matched_count == 0
    assert things.update_many({}, {"$inc": {"n": 1}}).modified_count == 2
    assert sorted(doc["n"] for doc in things.find()) == [2, 6]


@step
def find_and_modify():
    things = db.things
    before = things.find_one_and_update({"_id": 1}, {"$inc": {"n": 10}})
    after = things.find_one_and_update({"_id": 1}, {"$inc": {"n": 10}}, return_document=ReturnDocument.AFTER)
    assert (before["n"], after["n"]) == (6, 26)
    assert things.find_one_and_delete({"_id": 1}) == {"_id": 1, "n": 26, "s": "x"}
    assert things.find_one_and_delete({"_id": 1}) is None


@step
def deletes():
    assert db.seats.delete_one({"row": 3}).deleted_count == 1
    assert db.seats.delete_many({"row": 3}).deleted_count == 49
    assert list(db.seats.find({"row": 3})) == []


@step
def groups():
    rows = list(db.users.aggregate([{"$group": {"_id": "$town", "n": {"$sum": 1}, "ages": {"$sum": "$age"}}}]))
    ages = [sum(n % 7 for n in range(400) if n % 20 == town) for town in range(20)]
    expected = [{"_id": town, "n": 20, "ages": ages[town]} for town in range(20)]
    assert sorted(rows, key=lambda row: row["_id"]) == expected, rows


@step
def bulk():
    result = db.bulk.bulk_write(
        [InsertOne({"_id": 1}), InsertOne({"_id": 2}), UpdateOne({"_id": 2}, {"$set": {"x": 1}}), DeleteOne({"_id": 1})]
    )
    assert (result.inserted_count, result.modified_count, result.deleted_count) == (2, 1, 1)
    try:
        db.bulk.bulk_write([InsertOne({"_id": 2}), InsertOne({"_id": 3})], ordered=False)
        raise AssertionError("a taken key was taken again")
    except BulkWriteError as error:
        assert error.details["nInserted"] == 1 and error.details["writeErrors"][0]["code"] == 11000


@step
def cursors():
    assert len(list(db.seats.find(batch_size=7))) == 451
    with db.seats.find(batch_size=2) as cursor:
        next(cursor)
        assert cursor.alive
    assert len(list(db.seats.find({}, batch_size=100))) == 451


@step
def refused():
    for command, code in [({"frobnicate": 1}, 59), ({"find": "c", "filter": {"$where": "1"}}, 2)]:
        try:
            db.command(command)
            raise AssertionError(f"{command} was not refused")
        except OperationFailure as error:
            assert error.code == code, error


for function in STEPS:
    function()
client.close()
print(f"steps passed: {len(STEPS)}")
