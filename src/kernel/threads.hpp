// Parts of a loop on threads of their own.
#pragma once

#include "keys.hpp"

#include <atomic>
#include <exception>
#include <system_error>
#include <thread>

namespace truecal {

// Calls work(part, first, last) for parts of [0, size), the first part on the thread that calls; where the system lets no
// thread start, that one does its work, too. What fails is thrown when all have ended.
template <class Work> void in_parts(Index size, Index parts, Work work) {
    std::vector<std::exception_ptr> failed(static_cast<std::size_t>(parts));
    const auto run = [&](Index part) {
        try {
            work(part, size / parts * part + std::min(part, size % parts),
                 size / parts * (part + 1) + std::min(part + 1, size % parts));
        } catch (...) {
            failed[static_cast<std::size_t>(part)] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(static_cast<std::size_t>(parts));
    for (Index part = 1; part < parts; ++part) {
        try {
            others.emplace_back(run, part);
        } catch (const std::system_error &) {
            run(part);
        }
    }
    run(0);
    for (std::thread &other : others) other.join();
    for (const std::exception_ptr &each : failed)
        if (each) std::rethrow_exception(each);
}

} // namespace truecal
