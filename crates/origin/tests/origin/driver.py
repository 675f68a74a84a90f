"""What applications do with MongoDB's official driver for Python, against any server: driver.py URL CA."""

import datetime
import sys

from bson import Decimal128, ObjectId
from pymongo import ASCENDING, DESCENDING, DeleteOne, InsertOne, MongoClient, ReturnDocument, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure

url, ca = sys.argv[1:]
client = MongoClient(url, tlsCAFile=ca, serverSelectionTimeoutMS=10_000)
client.drop_database("driver")
db = client.driver
STEPS = []


def step(function):
    STEPS.append(function)
    return function


@step
def greeting():
    assert client.admin.command("ping")["ok"] == 1
    assert client.server_info()["versionArray"][0] >= 4
    assert client.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"] == []


@step
def insert_and_find():
    seats = db.seats
    made = seats.insert_one({"row": 1, "price": 12.5, "when": datetime.datetime(2026, 1, 2), "tags": ["a"]})
    assert isinstance(made.inserted_id, ObjectId)
    found = seats.find_one({"_id": made.inserted_id})
    assert found["row"] == 1 and found["when"] == datetime.datetime(2026, 1, 2), found
    seats.insert_many([{"_id": number, "row": number % 10} for number in range(500)])
    assert [doc["_id"] for doc in seats.find({"row": 3, "_id": {"$lt": 50}}).sort("_id", DESCENDING)] == [43, 33, 23, 13, 3]
    assert [doc["_id"] for doc in seats.find({"_id": {"$gte": 490}}, skip=2, limit=3)] == [492, 493, 494]
    assert seats.find_one({"_id": 7}, {"_id": 0}) == {"row": 7}
    assert seats.find_one({"_id": "none"}) is None


@step
def types():
    given = {"_id": 1, "b": b"\x00\xff", "d": Decimal128("1.5"), "n": None, "big": 2**40, "in": {"list": [1, {"x": "\u00fc"}]}}
    db.types.insert_one(given)
    assert db.types.find_one() == given


@step
def indexes():
    users = db.users
    assert users.create_index([("mail", ASCENDING)], unique=True) == "mail_1"
    users.create_index([("town", ASCENDING), ("age", DESCENDING)])
    assert set(users.index_information()) == {"_id_", "mail_1", "town_1_age_-1"}
    users.insert_many([{"mail": f"u{n}", "town": n % 20, "age": n % 7} for n in range(400)])
    plan = users.find({"town": 3, "age": {"$gt": 4}}).explain()
    assert plan["executionStats"]["totalDocsExamined"] == plan["executionStats"]["nReturned"], plan
    assert plan["queryPlanner"]["winningPlan"]["inputStage"]["indexName"] == "town_1_age_-1"
    try:
        users.insert_one({"mail": "u5"})
        raise AssertionError("a second document with the same key was taken")
    except DuplicateKeyError as error:
        assert error.code == 11000 and error.details["keyValue"] == {"mail": "u5"}, error.details
    users.drop_index("mail_1")
    users.insert_one({"mail": "u5"})


@step
def updates():
    things = db.things
    things.insert_one({"_id": 1, "n": 1, "list": []})
    assert things.update_one({"_id": 1}, {"$inc": {"n": 4}, "$push": {"list": "x"}}).modified_count == 1
    assert things.update_one({"_id": 1}, {"$set": {"in.deep": True}, "$unset": {"n": ""}}).matched_count == 1
    assert things.find_one() == {"_id": 1, "list": ["x"], "in": {"deep": True}}
    assert things.replace_one({"_id": 1}, {"n": 2}).modified_count == 1
    made = things.update_one({"_id": 2}, {"$set": {"n": 3}}, upsert=True)
    assert made.upserted_id == 2 and made.matched_count == 0
    assert things.update_many({}, {"$inc": {"n": 1}}).modified_count == 2
    assert sorted(doc["n"] for doc in things.find()) == [3, 4]


@step
def find_and_modify():
    things = db.things
    before = things.find_one_and_update({"_id": 1}, {"$inc": {"n": 10}})
    after = things.find_one_and_update({"_id": 1}, {"$inc": {"n": 10}}, return_document=ReturnDocument.AFTER)
    assert (before["n"], after["n"]) == (3, 23)
    assert things.find_one_and_replace({"_id": 1}, {"m": 1})["n"] == 23
    assert things.find_one_and_delete({"_id": 1}) == {"_id": 1, "m": 1}
    assert things.find_one_and_delete({"_id": 1}) is None


@step
def deletes():
    assert db.seats.delete_one({"row": 3}).deleted_count == 1
    assert db.seats.delete_many({"row": 3}).deleted_count == 49
    assert db.seats.count_documents({"row": 3}) == 0


@step
def counts():
    assert db.seats.estimated_document_count() == 451
    assert db.seats.count_documents({"row": {"$in": [4, 5]}}) == 100
    assert db.seats.count_documents({"row": 4}, skip=10, limit=7) == 7
    assert sorted(db.seats.distinct("row")) == [0, 1, 2, 4, 5, 6, 7, 8, 9]


@step
def aggregates():
    rows = list(
        db.users.aggregate(
            [
                {"$match": {"town": {"$lt": 2}}},
                {"$group": {"_id": "$town", "n": {"$sum": 1}, "mean": {"$avg": "$age"}, "most": {"$max": "$age"}}},
                {"$sort": {"_id": -1}},
                {"$limit": 1},
            ]
        )
    )
    ages = [n % 7 for n in range(400) if n % 20 == 1]
    assert rows == [{"_id": 1, "n": 20, "mean": sum(ages) / 20, "most": max(ages)}], rows


@step
def bulk():
    result = db.bulk.bulk_write(
        [InsertOne({"_id": 1}), UpdateOne({"_id": 2}, {"$set": {"x": 1}}, upsert=True), DeleteOne({"_id": 1})]
    )
    assert (result.inserted_count, result.upserted_count, result.deleted_count) == (1, 1, 1)
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
    assert len(list(db.seats.find({}, {"_id": 1}, batch_size=100))) == 451


@step
def refused():
    for command, code in [({"frobnicate": 1}, 59), ({"find": "c", "filter": {"$where": "1"}}, 2)]:
        try:
            db.command(command)
            raise AssertionError(f"{command} was not refused")
        except OperationFailure as error:
            assert error.code == code, error


@step
def listing():
    assert set(db.list_collection_names()) == {"seats", "types", "users", "things", "bulk"}
    assert "driver" in client.list_database_names()
    db.types.drop()
    assert "types" not in db.list_collection_names()
    client.drop_database("driver")
    assert db.list_collection_names() == []


for function in STEPS:
    function()
client.close()
print(f"steps passed: {len(STEPS)}")
