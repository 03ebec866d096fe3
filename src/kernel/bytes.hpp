// Sixteen bytes at once, on processors that have SSE2.
#pragma once

#if defined(__SSE2__) || defined(_M_X64)
#define TRUECAL_SSE2
#include <emmintrin.h>
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace truecal {

inline __m128i load_bytes(const unsigned char *from) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from)); }

inline __m128i repeat_byte(unsigned char c) { return _mm_set1_epi8(static_cast<char>(c)); }

inline __m128i equals(__m128i bytes, unsigned char c) { return _mm_cmpeq_epi8(bytes, repeat_byte(c)); }

// One bit for each byte, from the lowest on, of those that a comparison found.
inline unsigned to_bits(__m128i found) { return static_cast<unsigned>(_mm_movemask_epi8(found)); }

inline int find_lowest(unsigned bits) {
#if defined(_MSC_VER) && !defined(__clang__)
    unsigned long place;
    _BitScanForward(&place, bits);
    return static_cast<int>(place);
#else
    return __builtin_ctz(bits);
#endif
}

} // namespace truecal
#endif
