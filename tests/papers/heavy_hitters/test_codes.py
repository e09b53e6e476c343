"""The codes: exact inverses, errors and erasures up to the promised number, lists, and every decoder."""

from __future__ import annotations

import time

import numpy as np
import pytest

from sfumato import Noise
from sfumato.errors import ParameterError
from sfumato.papers.heavy_hitters.codes import (
    DECODERS,
    Field,
    ReedSolomon,
    UniqueListCode,
    best_offsets,
    second_eigenvalue,
)
from sfumato.papers.heavy_hitters.codes.clusters import (
    component_clusters,
    components,
    neighbour_graph,
    spectral_clusters,
)
from sfumato.papers.heavy_hitters.codes.reed_solomon import field_of

KEY = bytes(range(16))


def code_of(**changes):
    sizes = {"message_bits": 64, "symbol_bits": 8, "coordinates": 14, "label_bits": 4, "key": KEY}
    return UniqueListCode(**{**sizes, **changes})


def disturbed(code, count, rate, noise):
    """Return items, how often each is in the lists undisturbed, and lists: entries lost or replaced at a rate."""
    items = [noise.uniform(1 << code.message_bits) for _ in range(count)]
    coded = [code.encode(item) for item in items]
    intact, lists = [0] * count, []
    for place in range(code.coordinates):
        layer = {}
        for owner, word in enumerate(coded):
            drawn, (label, symbol) = noise.uniform(2000) / 1000, word[place]
            if drawn < rate:
                continue
            if drawn < 2 * rate:
                label, symbol = noise.uniform(1 << code.label_bits), noise.uniform(1 << code.word_bits)
            # A list names a label at most once: the first one stays.
            layer.setdefault(label, (symbol, owner if symbol == word[place][1] else None))
        for _, owner in layer.values():
            if owner is not None:
                intact[owner] += 1
        lists.append([(label, symbol) for label, (symbol, _) in layer.items()])
    return items, intact, lists


class TestFields:
    @pytest.mark.parametrize("bits", [4, 8])
    def test_products_are_those_of_a_field(self, bits):
        field = Field(bits)
        assert sorted(field.powers) == list(range(1, field.size))
        for one in range(1, field.size):
            assert field.times(one, field.inverse(one)) == 1
        a, b, c = (Noise(insecure_seed=seed).uniform(field.size, 300) for seed in (1, 2, 3))
        table = field.products
        assert (table[a, table[b, c]] == table[table[a, b], c]).all()
        assert (table[a, b ^ c] == (table[a, b] ^ table[a, c])).all()

    def test_a_linear_system_is_solved_or_refused(self):
        field = Field(8)
        matrix = Noise(insecure_seed=4).uniform(256, 30).reshape(6, 5)
        wanted = np.array([3, 0, 7, 200, 9])
        right = [int(np.bitwise_xor.reduce(field.products[row, wanted])) for row in matrix]
        assert (field.solve(np.column_stack([matrix, right])) == wanted).all()
        right[0] ^= 1
        assert field.solve(np.column_stack([matrix, right])) is None

    def test_unknown_fields_and_lengths_are_refused(self):
        with pytest.raises(ParameterError, match="4 or 8"):
            Field(5)
        with pytest.raises(ParameterError, match="length"):
            ReedSolomon(field_of(4), 16, 4)


class TestReedSolomon:
    @pytest.mark.parametrize(("bits", "length", "dimension"), [(8, 14, 8), (4, 14, 8), (4, 15, 3), (8, 5, 5)])
    def test_every_pattern_within_the_bound_is_corrected(self, bits, length, dimension):
        code, noise = ReedSolomon(field_of(bits), length, dimension), Noise(insecure_seed=bits + length)
        for _ in range(40):
            message = tuple(noise.uniform(1 << bits, dimension).tolist())
            received = code.encode(message)
            erasures = noise.uniform(length - dimension + 1)
            errors = noise.uniform((length - dimension - erasures) // 2 + 1)
            places = np.argsort(noise.uniform(1 << 40, length))
            for place in places[:erasures]:
                received[place] = None
            for place in places[erasures : erasures + errors]:
                received[place] ^= 1 + noise.uniform((1 << bits) - 1)
            assert code.decode(received) == message

    def test_too_many_erasures_give_nothing(self):
        code = ReedSolomon(field_of(8), 6, 4)
        assert code.decode([1, 2, 3, None, None, None]) is None

    def test_many_messages_at_once(self):
        code = ReedSolomon(field_of(8), 9, 4)
        messages = Noise(insecure_seed=5).uniform(256, 400).reshape(100, 4).astype(np.uint8)
        for place in (0, 8):
            assert code.symbols(messages, place).tolist() == [code.symbol(row, place) for row in messages.tolist()]


class TestGraphs:
    def test_the_best_offsets_are_those_of_the_spec(self):
        # Several pairs of offsets may tie; the eigenvalue is what counts.
        for coordinates, eigenvalue in ((12, 1.0), (14, 1.69), (16, 2.0), (24, 2.41), (28, 2.67)):
            assert second_eigenvalue(coordinates, best_offsets(coordinates)) <= eigenvalue + 0.005

    @pytest.mark.parametrize("coordinates", range(5, 45))
    def test_the_best_graph_is_in_one_piece(self, coordinates):
        assert second_eigenvalue(coordinates, best_offsets(coordinates)) < 4 - 1e-9


class TestUniqueListCode:
    @pytest.mark.parametrize("changes", [{}, {"two_sided": True}, {"symbol_bits": 4, "message_bits": 30}])
    def test_one_item_comes_back_from_its_own_word(self, changes):
        code, noise = code_of(**changes), Noise(insecure_seed=6)
        for number in range(60):
            item = noise.uniform(1 << code.message_bits)
            assert code.decode([[pair] for pair in code.encode(item)], DECODERS[number % 3]) == [item]

    def test_rows_say_the_same_as_single_items(self):
        for code in (code_of(), code_of(symbol_bits=4, message_bits=30), code_of(label_bits=16)):
            noise = Noise(insecure_seed=7)
            items = [noise.uniform(1 << code.message_bits) for _ in range(20)]
            padding = 8 * code.row_bytes - code.message_bits
            packed = b"".join((item << padding).to_bytes(code.row_bytes, "big") for item in items)
            rows = np.frombuffer(packed, dtype=np.uint8).reshape(20, -1)
            for place in (0, 5, 13):
                labels, symbols, free = code.entry_rows(rows, place)
                assert [code.entry(item, place) for item in items] == list(
                    zip(labels.tolist(), symbols.tolist(), strict=True)
                )
                assert free.tolist() == [code.labels_and_word(item)[1] for item in items]

    @pytest.mark.parametrize(
        ("decoder", "two_sided", "label_bits", "least"),
        [("votes", False, 4, 11), ("votes", True, 4, 9), ("spectral", True, 4, 10), ("components", True, 8, 10)],
    )
    def test_items_in_enough_lists_are_recovered_and_no_others(self, decoder, two_sided, label_bits, least):
        code, noise = code_of(two_sided=two_sided, label_bits=label_bits), Noise(insecure_seed=8)
        hits = total = 0
        for _ in range(12):
            items, intact, lists = disturbed(code, 8, 0.15, noise)
            found = code.decode(lists, decoder)
            assert set(found) <= set(items) and len(set(found)) == len(found)
            hits += sum(item in found for item, count in zip(items, intact, strict=True) if count >= least)
            total += sum(count >= least for count in intact)
        # Unique list recovery: what stands in enough lists must come out. Small graphs may lose a rare one.
        assert hits >= 0.97 * total and total >= 25

    def test_deletions_and_corruptions_of_sparse_lists(self):
        # With room for all labels the only losses are the planted ones: 0.15 of the coordinates, half of them lies.
        code, noise = code_of(label_bits=8), Noise(insecure_seed=9)
        runs = [disturbed(code, 8, 0.15, noise) for _ in range(6)]
        found = sum(len(set(code.decode(lists)) & set(items)) for items, _, lists in runs)
        assert found >= 47

    def test_the_decoders_agree_on_clean_lists(self):
        code = code_of(label_bits=8, two_sided=True)
        _, _, lists = disturbed(code, 3, 0.0, Noise(insecure_seed=10))
        first, *others = (set(code.decode(lists, decoder)) for decoder in DECODERS)
        assert all(first == other for other in others) and len(first) == 3

    def test_spectral_cuts_what_components_leave_together(self):
        code, noise = code_of(label_bits=3), Noise(insecure_seed=11)
        items, _, lists = disturbed(code, 4, 0.0, noise)
        entries = code.entries(lists)
        assert max(map(len, component_clusters(code, entries))) > 14
        assert len(set(code.decode(lists, "spectral")) & set(items)) > len(set(code.decode(lists, "components")))
        assert max(map(len, spectral_clusters(code, entries))) < max(map(len, component_clusters(code, entries)))

    def test_only_edges_named_by_both_ends_count_in_a_two_sided_code(self):
        code = code_of(two_sided=True)
        word = code.encode(12345)
        lists = [[pair] for pair in word]
        lists[0] = [(word[0][0], word[0][1] ^ 1)]
        graph = neighbour_graph(code, code.entries(lists))
        one_sided = neighbour_graph(code_of(), code_of().entries([[pair] for pair in code_of().encode(12345)]))
        assert len(components(one_sided)) == 1 and all(len(near) == 4 for near in one_sided.values())
        assert len(graph[0, word[0][0]]) == 3

    def test_noise_alone_gives_no_item(self):
        code, noise = code_of(label_bits=2), Noise(insecure_seed=12)
        for decoder in DECODERS:
            lists = [
                [(label, noise.uniform(1 << code.word_bits), noise.uniform(100) / 50) for label in range(4)]
                for _ in range(14)
            ]
            assert code.decode(lists, decoder) == []

    def test_time_grows_in_step_with_the_entries(self):
        code, noise = code_of(label_bits=12), Noise(insecure_seed=13)
        times = []
        for count in (8, 16):
            _, _, lists = disturbed(code, count, 0.0, noise)
            code.decode(lists, "components")
            begin = time.process_time()
            for _ in range(3):
                code.decode(lists, "components")
            times.append(time.process_time() - begin)
        # Twice is expected; the machine may be busy.
        assert times[1] < 5 * times[0]

    def test_public_mistakes_are_refused(self):
        code = code_of()
        word = code.encode(1)
        with pytest.raises(ValueError, match="at most once"):
            code.decode([[pair, pair] for pair in word])
        with pytest.raises(ParameterError, match="as many lists"):
            code.decode([[]])
        with pytest.raises(ParameterError, match="method"):
            code.decode([[pair] for pair in word], "magic")
        for changes in ({"coordinates": 7}, {"label_bits": 0}, {"offsets": (14,)}, {"message_bits": 0}):
            with pytest.raises(ParameterError):
                code_of(**changes)
