"""Blocks of pages that need a cluster, run on one of two processes, after the blocks before them."""

import re

import pytest
from test_docs import BLOCK, PAGES, ROOT, Block, lines, run


def cluster_blocks(page):
    """Blocks of Python in a page, if any of them is for a cluster."""
    text = page.read_text(encoding="utf-8")
    if not re.search(r"(?m)^```python .*\bcluster\b", text):
        return []
    found = []
    for match in BLOCK.finditer(text):
        words = tuple(match["info"].split())
        if words[:1] == ("python",) and ("no-test" not in words or "cluster" in words):
            output = match["output"] and "".join(line[4:] or "\n" for line in match["output"].splitlines(keepends=True))
            found.append(Block(match["code"], words[1:], output, text.count("\n", 0, match.start()) + 2))
    return found


@pytest.mark.cluster
@pytest.mark.parametrize("page", [p for p in PAGES if cluster_blocks(p)], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_blocks_for_a_cluster_print_what_the_page_shows(page, cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page", "address": cluster.scheduler.address}
    for block in cluster_blocks(page):
        printed = run(block, names, page)
        if "cluster" in block.words and block.output is not None:
            assert lines(printed) == lines(block.output), f"{page}:{block.line}"
    names["client"].close()
