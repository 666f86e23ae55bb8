"""The tuning cache: by device and key, the newest entry, safe under two writers, and never an error to read."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from kernelwright.records.run import TuningEntry, TuningKey
from kernelwright.store.memory import TuningCache

KEY = TuningKey(language="triton", family="rows(block)", shape_class="float32 2^20 elements, rows of 2^10")


def entry(run="r1", device="H200", key=KEY, block=1024):
    return TuningEntry(key=key, device=device, schedule={"block": block}, speedup=1.5, task="softmax", run=run)


@pytest.fixture
def cache(tmp_path):
    return TuningCache(tmp_path / "kernelwright" / "tuning.json")


def test_an_entry_is_found_by_device_and_key_and_the_newest_counts(cache):
    assert cache.find("H200", KEY) is None
    cache.keep(entry())
    cache.keep(entry("r2", block=2048))
    assert cache.find("H200", KEY) == entry("r2", block=2048)
    assert cache.find("H100", KEY) is None
    assert cache.find("H200", KEY.model_copy(update={"language": "cpp"})) is None


def test_writers_at_once_lose_nothing(cache):
    keys = [KEY.model_copy(update={"shape_class": f"float32 2^{n}"}) for n in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: TuningCache(cache.file).keep(entry(key=key)), keys))
    assert all(cache.find("H200", key) is not None for key in keys)


@pytest.mark.parametrize("text", ["", "{", '{"version": 99, "entries": []}', '{"entries": [{"key": 1}]}'])
def test_a_file_that_is_broken_or_of_another_version_is_as_good_as_none(cache, text):
    cache.file.parent.mkdir()
    cache.file.write_text(text)
    assert cache.find("H200", KEY) is None
    cache.keep(entry())
    assert cache.find("H200", KEY) == entry()
