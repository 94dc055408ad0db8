// LZ4 block encoding without compression, so that FST waveforms need no library to be installed.
// A block is one sequence: a token with the number of literals, then the literals (LZ4 block format description).
#ifndef FLOW_FST_LZ4_H
#define FLOW_FST_LZ4_H

#include <cstring>

inline int LZ4_compressBound(int size) {
    return size + size / 255 + 16;
}

inline int LZ4_compress_default(const char* source, char* target, int size, int capacity) {
    if (capacity < LZ4_compressBound(size)) return 0;
    unsigned char* out = reinterpret_cast<unsigned char*>(target);
    if (size < 15) {
        *out++ = static_cast<unsigned char>(size << 4);
    } else {
        *out++ = 0xF0;
        int rest = size - 15;
        for (; rest >= 255; rest -= 255) *out++ = 255;
        *out++ = static_cast<unsigned char>(rest);
    }
    std::memcpy(out, source, static_cast<std::size_t>(size));
    return static_cast<int>(out - reinterpret_cast<unsigned char*>(target)) + size;
}

#endif
