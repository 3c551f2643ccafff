"""Memory that is used again is nobody else's."""

from __future__ import annotations

import gc

from onefit.spare import spare_table


def test_a_table_is_used_again_only_when_no_view_of_it_is_left():
    table = spare_table(600, 50)
    assert table.shape == (600, 50)
    assert table.flags.c_contiguous
    assert table.flags.writeable
    table[:] = 1.0
    view, address = table[100:200, 3], table.ctypes.data
    del table
    gc.collect()
    others = [spare_table(600, 50) for _ in range(3)]
    for each in others:
        each[:] = 2.0
    assert (view == 1.0).all()
    assert address not in [each.ctypes.data for each in others]
    del view, each
    gc.collect()
    assert spare_table(600, 50).ctypes.data == address


def test_small_and_huge_tables_are_plain():
    assert spare_table(3, 0).shape == (3, 0)
    assert spare_table(10, 2).base is None
    assert spare_table(2**21, 2).base is None


def test_no_two_tables_of_several_threads_share_memory():
    from concurrent.futures import ThreadPoolExecutor

    def work(number: int) -> bool:
        for _ in range(200):
            table = spare_table(512, 64)
            table.fill(number)
            if not (table == number).all():
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
