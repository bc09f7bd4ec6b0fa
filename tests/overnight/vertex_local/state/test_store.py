import threading

import pytest
from grpc import StatusCode

from overnight.vertex_local.api.errors import ApiError
from overnight.vertex_local.state.store import Store

KIND = "google.cloud.aiplatform.v1.CustomJob"
PLACE = "projects/1/locations/here"


def keep(store, job, number, **fields):
    name = f"{PLACE}/customJobs/{number}"
    store.insert(name, KIND, job(**fields))
    return name


def test_a_message_is_there_again_after_the_store_was_opened_anew(store, tmp_path, job):
    name = keep(store, job, 1, labels={"team": "vision"})
    store.set_note(name, "attempt", {"number": 2})
    store.link("made", name, "elsewhere", b"how")
    store.close()
    again = Store(tmp_path / "state.sqlite3")
    assert dict(again.get(name).labels) == {"team": "vision"}
    assert again.note(name, "attempt") == {"number": 2}
    assert again.linked("made", name) == [("elsewhere", b"how")]
    again.close()


def test_a_name_can_be_used_once(store, job):
    keep(store, job, 1)
    with pytest.raises(ApiError) as refused:
        keep(store, job, 1)
    assert refused.value.code is StatusCode.ALREADY_EXISTS


@pytest.mark.parametrize("act", [Store.get, Store.delete, lambda store, name: store.update(name, lambda _: None)])
def test_what_is_not_there_is_not_found(store, act):
    with pytest.raises(ApiError) as refused:
        act(store, f"{PLACE}/customJobs/7")
    assert refused.value.code is StatusCode.NOT_FOUND


def test_lists_are_in_order_of_creation_and_only_of_the_parent(store, job):
    names = [keep(store, job, number) for number in (3, 1, 2)]
    store.insert("projects/1/locations/there/customJobs/4", KIND, job())
    assert store.names(KIND)[:3] == names
    assert len(store.list(PLACE, KIND)) == 3


def test_a_change_that_fails_changes_nothing(store, job):
    name = keep(store, job, 1)

    def half(message):
        message.display_name = "half"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.update(name, half)
    assert store.get(name).display_name == "weekly"


def test_a_transaction_that_fails_keeps_none_of_its_calls(store, job):
    name = keep(store, job, 1)

    def much():
        with store.transaction():
            keep(store, job, 2)
            store.set_note(name, "key", "value")
            with store.transaction():
                store.delete(name)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        much()
    assert store.names(KIND) == [name]
    assert store.note(name, "key") is None


def test_no_change_is_lost_when_threads_write_at_once(store, job):
    name = keep(store, job, 1)

    def count():
        for _ in range(50):
            store.update(name, lambda message: message.labels.update(n=str(int(message.labels["n"] or "0") + 1)))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get(name).labels["n"] == "200"


def test_deleting_forgets_notes_and_links_too(store, job):
    one, two = keep(store, job, 1), keep(store, job, 2)
    store.set_note(one, "key", "value")
    store.link("made", two, one)
    store.delete(one)
    assert store.note(one, "key") is None
    assert store.linked("made", two) == []


def test_deleting_below_spares_neighbours_whose_names_begin_alike(store, job):
    for name in ("a/b/1", "a/b/1/c/2", "a/b/1/c/2/d/3", "a/b/1-x/c/2", "a/b/10/c/2", "a/b/1@2/c/2"):
        store.insert(name, KIND, job())
    store.delete_below("a/b/1")
    assert store.names(KIND) == ["a/b/1", "a/b/1-x/c/2", "a/b/10/c/2", "a/b/1@2/c/2"]


def test_connecting_twice_is_connecting_once(store):
    for payload in (b"x", b"x", b"y"):
        store.link("made", "one", "two", payload)
    assert store.linking("made", "two") == [("one", b"x"), ("one", b"y")]
    store.unlink("made", "one", "two")
    assert store.linked("made", "one") == []
