// What a process says if a library aborts it, as polars does if memory runs out.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace truecal {

struct LastWords {
    static constexpr std::size_t most = 512;
    char text[most];
    std::size_t size;
    int code;
};
inline LastWords last_words{};

// Only what a signal handler may call.
extern "C" inline void say_last_words(int) {
#ifdef _WIN32
    if (_write(2, last_words.text, static_cast<unsigned>(last_words.size)) < 0) std::_Exit(last_words.code);
#else
    if (::write(2, last_words.text, last_words.size) < 0) std::_Exit(last_words.code);
#endif
    std::_Exit(last_words.code);
}

// From now on, an abort prints a text on standard error, and ends the process with an exit code.
inline void explain_abort(const char *text, int code) {
    last_words.size = std::min(std::strlen(text), LastWords::most);
    std::memcpy(last_words.text, text, last_words.size);
    last_words.code = code;
    std::signal(SIGABRT, say_last_words);
}

} // namespace truecal
