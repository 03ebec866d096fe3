// Lines of JSON before a parser reads them: how many there are, how deep they nest, and whether a name stands twice in one.
#pragma once

#include "keys.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

namespace truecal {

enum class JsonFault : int { none, no_object, too_deep, name_again, escaped_name };

class JsonLines {
  public:
    JsonLines(const unsigned char *text, Index size, Index deepest) : at(text), end(text + size), deepest(deepest) {}

    // The lines that are not blank, up to the first fault; the fault.
    std::tuple<Index, JsonFault> run() {
        Index lines = 0;
        for (skip_blanks(); at < end; skip_blanks()) {
            ++lines;
            const JsonFault fault = read_line();
            if (fault != JsonFault::none) return {lines, fault};
        }
        return {lines, JsonFault::none};
    }

  private:
    struct Name {
        const unsigned char *begin;
        Index size;

        bool operator<(const Name &other) const {
            if (size != other.size) return size < other.size;
            return std::memcmp(begin, other.begin, static_cast<std::size_t>(size)) < 0;
        }
        bool operator==(const Name &other) const {
            return size == other.size && std::memcmp(begin, other.begin, static_cast<std::size_t>(size)) == 0;
        }
    };

    static bool is_blank(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

    void skip_blanks() {
        while (at < end && is_blank(*at)) ++at;
    }

    // The text after an opening quote, up to the closing one or the end of the line; whether it has an escape.
    bool read_string(Name &text) {
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
                Name text;
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

    const unsigned char *at, *end;
    Index deepest;
    std::vector<Name> names;
};

} // namespace truecal
