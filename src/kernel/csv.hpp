// Whether text is plain CSV: every row has the same number of fields, and quotes only enclose whole fields.
#pragma once

#include "bytes.hpp"
#include "keys.hpp"

#include <cstring>
#include <tuple>

namespace truecal {

enum class Odd : int { none, fields, quote_inside, text_after_quote, zero, lone_return, blank_line };

// What has been seen of a text that arrives in chunks.
struct CsvState {
    Index rows;       // complete rows, the header included
    Index marks;      // separators so far in the row
    Index previous;   // the last byte; a line feed before the first
    Index quoted;     // 0 outside quotes, 1 inside, 2 after a quote that may be the closing one
    Index other;      // bits: 1 if a byte is not ASCII, 2 if a field begins or ends with a blank, 4 if one may be missing
};

// What words for missing values begin with, as NA, null, #N/A, <NA>, \N and ?.
constexpr unsigned char MISSING_STARTS[] = {'N', 'n', '#', '<', '\\', '?'};

struct CsvCheck {
    unsigned char separator;
    Index wanted;  // separators in each row
    CsvState &state;

    // Spaces, and tabs where these separate nothing: polars passes over both before a number.
    unsigned char tab() const { return separator == '\t' ? ' ' : '\t'; }
    bool is_blank(Index c) const { return c == ' ' || c == tab(); }

    Odd end_row() {
        if (state.previous == '\n') return Odd::blank_line;
        if (state.marks != wanted) return Odd::fields;
        ++state.rows;
        state.marks = 0;
        return Odd::none;
    }

    Odd step(unsigned char c) {
        const auto before = static_cast<unsigned char>(state.previous);
        const bool ends = c == separator || c == '\n' || c == '\r';
        if (c == 0) return Odd::zero;
        if (c >= 0x80) state.other |= 1;
        if (state.quoted == 1) {
            if (c == '"') state.quoted = 2;
            state.previous = c;
            return Odd::none;
        }
        if (state.quoted == 2) {
            if (c == '"') {
                state.quoted = 1;
            } else if (ends) {
                state.quoted = 0;
            } else {
                return Odd::text_after_quote;
            }
            if (state.quoted == 1) return Odd::none;
        }
        const bool starts = before == separator || before == '\n';
        if (before == '\r' && c != '\n') return Odd::lone_return;
        if ((is_blank(c) && starts) || (is_blank(before) && ends)) state.other |= 2;
        if (starts && std::memchr(MISSING_STARTS, c, sizeof MISSING_STARTS)) state.other |= 4;
        if (c == '"') {
            if (!starts) return Odd::quote_inside;
            state.quoted = 1;
            state.other |= 4;  // what it encloses is not looked at
        } else if (c == separator) {
            ++state.marks;
        } else if (c == '\r' && before == '\n') {
            return Odd::blank_line;
        } else if (c == '\n') {
            const Odd odd = end_row();
            if (odd != Odd::none) return odd;
        }
        state.previous = c;
        return Odd::none;
    }

#if defined(TRUECAL_SSE2)
    static Index count(std::uint64_t bits) {  // few, and as many in every row: faster than a call without POPCNT
        Index found = 0;
        for (; bits; bits &= bits - 1) ++found;
        return found;
    }

    // MISSING_STARTS and three more, '=', '>' and '|', which come with them in fewer comparisons.
    static __m128i may_be_missing(__m128i x) {
        const __m128i lower = _mm_or_si128(x, repeat_byte(0x20)), last = _mm_or_si128(x, repeat_byte(3));
        const __m128i letters = _mm_or_si128(equals(lower, 'N' | 0x20), equals(lower, '\\' | 0x20));
        return _mm_or_si128(letters, _mm_or_si128(equals(last, '<' | 3), equals(x, '#')));
    }

    // 64 bytes without quotes, zeros and blank lines; false, and nothing done, where there are any, or a row is odd.
    bool step_block(const unsigned char *text) {
        __m128i part[4], rare = _mm_setzero_si128(), spaces = rare, returns = rare, words = rare;
        std::uint64_t lines = 0, marks = 0, high = 0;
        const auto bits = [](__m128i x, int i) { return static_cast<std::uint64_t>(to_bits(x)) << (16 * i); };
        for (int i = 0; i < 4; ++i) {
            part[i] = load_bytes(text + 16 * i);
            rare = _mm_or_si128(rare, _mm_or_si128(equals(part[i], '"'), equals(part[i], 0)));
            spaces = _mm_or_si128(spaces, _mm_or_si128(equals(part[i], ' '), equals(part[i], tab())));
            returns = _mm_or_si128(returns, equals(part[i], '\r'));
            words = _mm_or_si128(words, may_be_missing(part[i]));
            lines |= bits(equals(part[i], '\n'), i);
            marks |= bits(equals(part[i], separator), i);
            high |= bits(part[i], i);
        }
        if (to_bits(rare)) return false;
        const auto find = [&](unsigned char c) {
            std::uint64_t found = 0;
            for (int i = 0; i < 4; ++i) found |= bits(equals(part[i], c), i);
            return found;
        };
        const std::uint64_t after_line = lines << 1 | (state.previous == '\n');
        std::uint64_t feeds = 0, blanks = 0;
        if (to_bits(returns) || state.previous == '\r') {
            feeds = find('\r');
            if ((feeds << 1 | (state.previous == '\r')) & ~lines) return false;
        }
        if ((lines | feeds) & after_line) return false;  // a blank line
        const std::uint64_t starts = after_line | marks << 1 | (state.previous == separator);
        if (!(state.other & 4) && to_bits(words)) {
            std::uint64_t begun = 0;
            for (const unsigned char c : MISSING_STARTS) begun |= find(c);
            if (begun & starts) state.other |= 4;
        }
        if (to_bits(spaces) || is_blank(state.previous)) {
            blanks = find(' ') | find(tab());
            const std::uint64_t after_blank = blanks << 1 | is_blank(state.previous);
            if ((blanks & starts) || (after_blank & (lines | marks | feeds))) state.other |= 2;
        }
        Index rows = 0, before = state.marks;
        std::uint64_t rest = marks;
        for (std::uint64_t left = lines; left; left &= left - 1) {
            const std::uint64_t below = (left - 1) & ~left;
            if (before + count(rest & below) != wanted) return false;
            rest &= ~below;
            before = 0;
            ++rows;
        }
        state.rows += rows;
        state.marks = before + count(rest);
        state.previous = text[63];
        if (high) state.other |= 1;
        return true;
    }
#endif

    // Why the text is not plain, and where; the size of the chunk where it is.
    std::tuple<Index, Odd> run(const unsigned char *text, Index size) {
        Index at = 0;
        while (at < size) {
            Index end = std::min(at + 64, size);
#if defined(TRUECAL_SSE2)
            if (state.quoted == 0 && end == at + 64 && step_block(text + at)) {
                at = end;
                continue;
            }
#endif
            for (; at < end; ++at) {
                const Odd odd = step(text[at]);
                if (odd != Odd::none) return {at, odd};
            }
        }
        return {size, Odd::none};
    }
};

} // namespace truecal
