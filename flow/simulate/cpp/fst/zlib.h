// zlib streams of stored blocks, so that FST waveforms need no library to be installed (RFC 1950, RFC 1951).
#ifndef FLOW_FST_ZLIB_H
#define FLOW_FST_ZLIB_H

#include <cstring>

typedef unsigned char Bytef;
typedef unsigned long uLong;
typedef unsigned long uLongf;

#define Z_OK 0
#define Z_BUF_ERROR (-5)

inline uLong compressBound(uLong size) {
    return size + 5 * (size / 65535 + 1) + 6;
}

inline int compress2(Bytef* target, uLongf* length, const Bytef* source, uLong size, int) {
    if (*length < compressBound(size)) return Z_BUF_ERROR;
    Bytef* out = target;
    *out++ = 0x78;  // deflate, 32 KiB window
    *out++ = 0x01;  // lowest level; makes the header a multiple of 31
    uLong done = 0;
    do {
        const uLong part = size - done < 65535 ? size - done : 65535;
        *out++ = done + part == size ? 1 : 0;
        *out++ = static_cast<Bytef>(part);
        *out++ = static_cast<Bytef>(part >> 8);
        *out++ = static_cast<Bytef>(~part);
        *out++ = static_cast<Bytef>(~part >> 8);
        if (part) std::memcpy(out, source + done, part);
        out += part;
        done += part;
    } while (done < size);
    uLong low = 1, high = 0;  // Adler-32
    for (uLong i = 0; i < size; ++i) {
        low = (low + source[i]) % 65521;
        high = (high + low) % 65521;
    }
    *out++ = static_cast<Bytef>(high >> 8);
    *out++ = static_cast<Bytef>(high);
    *out++ = static_cast<Bytef>(low >> 8);
    *out++ = static_cast<Bytef>(low);
    *length = static_cast<uLongf>(out - target);
    return Z_OK;
}

#endif
