"""Seeds: secret, repeatable once they are known, and never used for anybody else afterwards."""

from kernelwright.evaluate.session.seeds import SEED_BITS, Seeds


def test_seeds_are_drawn_anew_and_remembered_in_order():
    one, other = Seeds(), Seeds()
    drawn = [one.new() for _ in range(4)]
    assert all(0 <= seed < 1 << SEED_BITS for seed in drawn)
    assert [other.new() for _ in range(4)] != drawn
    assert not one.stale
    assert one.reveal() == tuple(drawn)
    assert one.stale


def test_replayed_seeds_come_first_and_secret_ones_after_them():
    seeds = Seeds((7, 8))
    drawn = [seeds.new() for _ in range(3)]
    assert drawn[:2] == [7, 8]
    assert drawn[2] > 8
    assert seeds.stale, "what a receipt shows is no secret"
    assert seeds.reveal() == tuple(drawn)


def test_only_without_their_defence_do_they_count():
    seeds = Seeds(secret=False)
    assert [seeds.new() for _ in range(3)] == [0, 1, 2]
