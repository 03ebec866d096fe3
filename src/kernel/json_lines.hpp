// Lines of JSON before a parser reads them: how many there are, how deep they nest, and whether a name stands twice in one.
#pragma once

#include "bytes.hpp"
#include "keys.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

namespace truecal {

enum class JsonFault : int { none, no_object, too_deep, name_again, escaped_name };

class JsonLines {
  public:
    JsonLines(const unsigned char *text, const unsigned char *end, Index deepest) : at(text), end(end), deepest(deepest) {}

    Index lines = 0;  // that are not blank, up to the first fault
    JsonFault fault = JsonFault::none;

    // Check the next line; false where there is none, or it has a fault.
    bool step() {
        skip_blanks();
        if (at == end || fault != JsonFault::none) return false;
        ++lines;
        if (repeat_line()) return true;
        const unsigned char *begin = at;
        fault = read_line();
        if (fault == JsonFault::none) learn_line(begin);
        return fault == JsonFault::none;
    }

  private:
    struct Piece {
        const unsigned char *begin;
        Index size;

        bool operator<(const Piece &other) const {
            if (size != other.size) return size < other.size;
            return std::memcmp(begin, other.begin, static_cast<std::size_t>(size)) < 0;
        }
        bool operator==(const Piece &other) const {
            return size == other.size && std::memcmp(begin, other.begin, static_cast<std::size_t>(size)) == 0;
        }
    };

    // What numbers and words do not have.
    struct NotInWord {
        bool operator()(unsigned char c) const { return c < '-' || c >= 0x80 || (c | 0x20) > 'z'; }
#if defined(TRUECAL_SSE2)
        __m128i operator()(__m128i c) const {  // bytes from 0x80 on are negative
            const __m128i high = _mm_cmpgt_epi8(_mm_or_si128(c, repeat_byte(0x20)), repeat_byte('z'));
            return _mm_or_si128(_mm_cmplt_epi8(c, repeat_byte('-')), high);
        }
#endif
    };

    // What ends text in quotes, or begins an escape in it.
    struct NotInText {
        bool operator()(unsigned char c) const { return c == '"' || c == '\\' || c == '\n'; }
#if defined(TRUECAL_SSE2)
        __m128i operator()(__m128i c) const {
            const __m128i quotes = equals(c, '"'), escapes = equals(c, '\\');
            return _mm_or_si128(_mm_or_si128(quotes, escapes), equals(c, '\n'));
        }
#endif
    };

    static bool is_blank(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

    void skip_blanks() {
        while (at < end && is_blank(*at)) ++at;
    }

    // The text after an opening quote, up to the closing one or the end of the line; whether it has an escape.
    bool read_string(Piece &text) {
        text.begin = at;
        bool escaped = false;
        for (; at < end && *at != '"' && *at != '\n'; ++at) {
            if (*at == '\\') {
                escaped = true;
                if (at + 1 < end && at[1] != '\n') ++at;
            }
        }
        text.size = static_cast<Index>(at - text.begin);
        if (at < end && *at == '"') ++at;
        return escaped;
    }

    // One line. Whether it is JSON is for the parser to say: here only what it would pass over or could not bear.
    JsonFault read_line() {
        if (*at != '{') return JsonFault::no_object;
        names.clear();
        Index depth = 0;
        bool name_next = false, escaped = false;
        for (; at < end && *at != '\n';) {
            const unsigned char c = *at++;
            if (c == '"') {
                Piece text;
                const bool odd = read_string(text);
                if (depth == 1 && name_next) {
                    names.push_back(text);
                    escaped |= odd;
                }
                name_next = false;
            } else if (c == '{' || c == '[') {
                if (++depth > deepest) return JsonFault::too_deep;
                name_next = c == '{';
            } else if (c == '}' || c == ']') {
                --depth;
                name_next = false;
            } else if (c == ',') {
                name_next = true;
            }
        }
        if (escaped) return JsonFault::escaped_name;
        std::sort(names.begin(), names.end());
        const bool again = std::adjacent_find(names.begin(), names.end()) != names.end();
        return again ? JsonFault::name_again : JsonFault::none;
    }

    template <class Sought> const unsigned char *find(const unsigned char *from, Sought sought) const {
#if defined(TRUECAL_SSE2)
        for (; end - from >= 32; from += 32) {
            const unsigned found = to_bits(sought(load_bytes(from))) | to_bits(sought(load_bytes(from + 16))) << 16;
            if (found) return from + find_lowest(found);
        }
#endif
        while (from < end && !sought(*from)) ++from;
        return from;
    }

    // The end of a number, a word or text in quotes, within the line; `from` itself where something else stands.
    const unsigned char *skip_value(const unsigned char *from) const {
        if (from == end || *from != '"') return find(from, NotInWord());
        for (++from;; from += 2) {
            from = find(from, NotInText());
            if (end - from < 2 || *from != '\\' || from[1] == '\n') break;
        }
        return from < end && *from == '"' ? from + 1 : from;
    }

    bool starts_with(const unsigned char *from, const Piece &piece) const {
#if defined(TRUECAL_SSE2)
        if (piece.size <= 16 && end - from >= 16) {  // the piece stands before, so its bytes can be loaded as well
            const unsigned same = to_bits(_mm_cmpeq_epi8(load_bytes(from), load_bytes(piece.begin)));
            return (~same & ((1u << piece.size) - 1)) == 0;
        }
#endif
        return end - from >= piece.size && std::memcmp(from, piece.begin, static_cast<std::size_t>(piece.size)) == 0;
    }

    // Pass over a line that has the pieces of one before it, whatever its values are: it has the same names and depth.
    bool repeat_line() {
        const unsigned char *from = at;
        for (const Piece &piece : pieces) {
            if (from != at) from = skip_value(from);
            if (!starts_with(from, piece)) return false;
            from += piece.size;
        }
        if (pieces.empty()) return false;
        at = from;
        return true;
    }

    // Keep what stands around the values of a line without fault. A value with parts ends this: it is in the last piece.
    void learn_line(const unsigned char *begin) {
        pieces.clear();
        if (at == end) return;
        const unsigned char *next = begin;
        const auto skip = [&] {
            while (next < at && is_blank(*next)) ++next;
        };
        const auto take = [&](unsigned char c) {
            skip();
            if (next == at || *next != c) return false;
            ++next;
            return true;
        };
        while (take(pieces.empty() ? '{' : ',') && take('"')) {
            next = find(next, NotInText());
            if (!take('"') || !take(':')) break;
            skip();
            pieces.push_back({begin, static_cast<Index>(next - begin)});
            begin = next = skip_value(next);
        }
        pieces.push_back({begin, static_cast<Index>(at + 1 - begin)});
    }

    const unsigned char *at, *end;
    Index deepest;
    std::vector<Piece> names, pieces;  // the first piece begins a line and the last ends it; values are between them
};

// The lines that are not blank, up to the first fault; the fault. In four parts at once: each step depends on the one
// before it, and so the processor would wait most of the time.
inline std::tuple<Index, JsonFault> check_json_lines(const unsigned char *text, Index size, Index deepest) {
    std::vector<JsonLines> parts;
    for (const unsigned char *end = text + size; parts.size() < 4;) {
        const auto left = static_cast<Index>(4 - parts.size());
        const unsigned char *next = left == 1 ? end : std::find(text + (end - text) / left, end, '\n');
        parts.emplace_back(text, next, deepest);
        text = next;
    }
    for (bool more = true; more;) {
        more = false;
        for (JsonLines &part : parts) more |= part.step();
    }
    Index lines = 0;
    for (const JsonLines &part : parts) {
        lines += part.lines;
        if (part.fault != JsonFault::none) return {lines, part.fault};
    }
    return {lines, JsonFault::none};
}

} // namespace truecal
