// Rows counted in a table, while few keys are different: many times faster than a sort.
#pragma once

#include "keys.hpp"

namespace truecal {

struct Slot {
    Index key, count;  // a count of 0 marks a free slot
};

// Slots, 2^bits of them, found by multiplicative hashing and linear probing; at most half are taken.
struct Table {
    Slot *slots;
    int bits;
    Index taken;

    // False where the key is new and there is no room for it.
    bool add(Index key, Index count) {
        const std::uint64_t mask = (std::uint64_t(1) << bits) - 1;
        std::uint64_t at = (static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15u) >> (64 - bits);
        while (slots[at].count != 0 && slots[at].key != key) at = (at + 1) & mask;
        if (slots[at].count == 0) {
            if (taken == Index(1) << (bits - 1)) return false;
            ++taken;
            slots[at].key = key;
        }
        slots[at].count += count;
        return true;
    }

    // How many rows were counted: the rest begins with a row for which there is no room, or near one that is not fine.
    template <class Float, class Label> Index add_rows(const Float *score, const Label *label, Index size) {
        constexpr Index chunk = 1024;
        Index key[chunk];
        for (Index begin = 0; begin < size; begin += chunk) {
            const Index count = std::min(chunk, size - begin);
            const Packed ok = pack(score + begin, label + begin, key, count);
            if (!ok.scores_ok || !ok.labels_ok) return begin;
            for (Index i = 0; i < count; ++i)
                if (!add(key[i], 1)) return begin + i;
        }
        return size;
    }
};

} // namespace truecal
