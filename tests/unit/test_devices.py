"""Kinds of device and architectures, as the table has them."""

import pytest

from kernelwright.devices import facts, kind_of, kinds, understood


def test_every_kind_names_its_usual_architecture():
    assert [kind.name for kind in kinds().values() if kind.timed] == ["cpu", "cuda"]
    for kind in kinds().values():
        assert kind.gpu == bool(kind.architectures)
        assert not kind.gpu or kind.usual in kind.architectures
        assert all(facts()[arch]["kind"] == kind.name for arch in kind.architectures)


def test_the_kind_of_an_unknown_architecture_is_told_by_its_spelling():
    assert [kind_of(arch) for arch in ("sm_90", "sm_91", "gfx942", "gfx1", "rv64")] == [
        "cuda",
        "cuda",
        "hip",
        "hip",
        "",
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CPU", "cpu"),
        (" sm_90a", "sm_90"),
        ("sm_100f", "sm_100"),
        ("gfx90a", "gfx90a"),
        ("gfx942:sramecc+:xnack-", "gfx942"),
        ("sm_91", "sm_91"),
        ("cuda", "cuda"),
    ],
)
def test_a_target_is_understood_as_people_write_it(name, meant):
    assert understood(name) == meant
