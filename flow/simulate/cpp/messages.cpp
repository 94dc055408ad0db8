// Compiled once, with Verilator's runtime.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "listener.h"
#include "verilated.h"

namespace {

constexpr std::size_t Longest = 1 << 16;  // characters that are kept
thread_local std::string* heard = nullptr;

}  // namespace

Listener::Listener(std::string& text) { heard = &text; }

Listener::~Listener() { heard = nullptr; }

int flow_print(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = 0;
    if (heard == nullptr) {
        length = std::vprintf(format, arguments);
        std::fflush(stdout);  // Python writes there too: lines must stay whole
    } else {
        char text[4096];
        length = std::vsnprintf(text, sizeof text, format, arguments);
        if (heard->size() < Longest) heard->append(text);
    }
    va_end(arguments);
    return length;
}

// With a listener the process goes on without the design, which must not be used any more; else the process ends.
void vl_fatal(const char* filename, int linenum, const char*, const char* msg) {
    flow_print("%%Error: %s:%d: %s\n", filename, linenum, msg);
    if (heard != nullptr) throw std::runtime_error(msg);
    Verilated::threadContextp()->gotError(true);
    Verilated::threadContextp()->gotFinish(true);
    Verilated::runFlushCallbacks();
    Verilated::runExitCallbacks();
    std::exit(1);
}
