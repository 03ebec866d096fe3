// Integers of 128 bits: the compiler's own, or two words where it has none (MSVC). Both wrap around, as the sums rely on
// nothing beyond 2^127.
#pragma once

#include <cmath>
#include <cstdint>

namespace truecal {

class TwoWords {
  public:
    TwoWords() = default;
    TwoWords(int x) : TwoWords(static_cast<std::int64_t>(x)) {}
    TwoWords(std::int64_t x) : low_(static_cast<std::uint64_t>(x)), high_(x < 0 ? ~std::uint64_t(0) : 0) {}
    TwoWords(std::uint64_t x) : low_(x), high_(0) {}

    TwoWords &operator+=(TwoWords other) {
        low_ += other.low_;
        high_ += other.high_ + (low_ < other.low_);
        return *this;
    }
    friend TwoWords operator+(TwoWords a, TwoWords b) { return a += b; }
    friend TwoWords operator-(TwoWords a) { return join(~a.high_, ~a.low_) + TwoWords(1); }
    friend TwoWords operator-(TwoWords a, TwoWords b) { return a + -b; }

    friend TwoWords operator*(TwoWords a, TwoWords b) {
        TwoWords product = multiply(a.low_, b.low_);
        product.high_ += a.low_ * b.high_ + a.high_ * b.low_;
        return product;
    }

    friend TwoWords operator&(TwoWords a, TwoWords b) { return join(a.high_ & b.high_, a.low_ & b.low_); }

    // By less than 64 bits.
    friend TwoWords operator<<(TwoWords a, int bits) {
        return bits == 0 ? a : join(a.high_ << bits | a.low_ >> (64 - bits), a.low_ << bits);
    }

    // Of a number from 0 on, by a positive one below 2^63.
    friend TwoWords operator/(TwoWords a, std::int64_t by) {
        const auto divisor = static_cast<std::uint64_t>(by);
        TwoWords quotient;
        std::uint64_t rest = 0;
        for (int bit = 127; bit >= 0; --bit) {
            rest = rest << 1 | (bit < 64 ? a.low_ >> bit : a.high_ >> (bit - 64)) % 2;
            quotient = quotient << 1;
            if (rest >= divisor) {
                rest -= divisor;
                quotient.low_ |= 1;
            }
        }
        return quotient;
    }

    friend bool operator==(TwoWords a, TwoWords b) { return a.high_ == b.high_ && a.low_ == b.low_; }
    friend bool operator<(TwoWords a, TwoWords b) {
        return a.high_ == b.high_ ? a.low_ < b.low_ : a.signed_high() < b.signed_high();
    }
    friend bool operator>(TwoWords a, TwoWords b) { return b < a; }
    friend bool operator<=(TwoWords a, TwoWords b) { return !(b < a); }
    friend bool operator>=(TwoWords a, TwoWords b) { return !(a < b); }

    explicit operator std::int64_t() const { return static_cast<std::int64_t>(low_); }

    // The nearest double; halfway cases to the even one.
    explicit operator double() const {
        if (signed_high() < 0) return -(-*this).size();
        return size();
    }

  private:
    std::uint64_t low_ = 0, high_ = 0;

    // Of the words as a number from 0 on.
    double size() const {
        if (high_ == 0) return static_cast<double>(low_);
        int shift = 0;
        while (!(high_ << shift >> 63)) ++shift;
        const TwoWords top = *this << shift;
        return std::ldexp(static_cast<double>(top.high_ | (top.low_ != 0)), 64 - shift); // what is cut off breaks ties
    }

    std::int64_t signed_high() const { return static_cast<std::int64_t>(high_); }

    static TwoWords join(std::uint64_t high, std::uint64_t low) {
        TwoWords found(low);
        found.high_ = high;
        return found;
    }

    static TwoWords multiply(std::uint64_t a, std::uint64_t b) {
        constexpr std::uint64_t half = 0xffffffff;
        const std::uint64_t low = (a & half) * (b & half), left = (a >> 32) * (b & half) + (low >> 32);
        const std::uint64_t right = (a & half) * (b >> 32) + (left & half);
        return join((a >> 32) * (b >> 32) + (left >> 32) + (right >> 32), right << 32 | (low & half));
    }
};

#if defined(__SIZEOF_INT128__) && !defined(TRUECAL_TWO_WORDS)
using Wide = __int128;
#else
using Wide = TwoWords;
#endif

} // namespace truecal
