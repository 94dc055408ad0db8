// Stream packed words through a verilated design; called from Python with numpy arrays.
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "Vtop.h"
#include "listener.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {

struct Design {
    VerilatedContext context;
    std::unique_ptr<Vtop> top;
    std::string said;
    bool failed = false;  // it reported an error and is not evaluated any more
};

template <std::size_t Words>
void put(VlWide<Words>& port, const std::uint64_t* words) {
    std::memcpy(port.data(), words, Words * sizeof(EData));
}
template <typename Narrow>
void put(Narrow& port, const std::uint64_t* words) {
    port = static_cast<Narrow>(*words);
}

template <std::size_t Words>
void get(const VlWide<Words>& port, std::uint64_t* words) {
    std::memcpy(words, port.data(), Words * sizeof(EData));
}
template <typename Narrow>
void get(const Narrow& port, std::uint64_t* words) {
    *words = port;
}

template <typename Work>
void attempt(Design& design, Work work) {
    if (design.failed) return;
    const Listener listener(design.said);
    try {
        work();
    } catch (const std::exception&) {
        design.failed = true;
    }
}

void reset(Vtop& top) {
    top.rst_i = 1;
    top.valid_i = 0;
    for (int edge = 0; edge < 2; ++edge) {
        top.clk_i = static_cast<CData>(edge);
        top.eval();
    }
    top.rst_i = 0;
}

}  // namespace

extern "C" {

void* design_new() {
    auto design = std::make_unique<Design>();
    attempt(*design, [&] {
        design->top = std::make_unique<Vtop>(&design->context, "top");
        design->top->clk_i = 0;
        design->top->rst_i = 1;
        design->top->eval();  // runs initial blocks: memories are filled here
    });
    return design.release();
}

void design_delete(void* handle) { delete static_cast<Design*>(handle); }

// Return what the design said, which tells why it failed.
const char* design_said(void* handle) { return static_cast<Design*>(handle)->said.c_str(); }

// Reset, then feed `count` inferences, one every `interval` cycles, beat by beat, until all their results came out or
// `patience` cycles passed without a beat. Return the beats that came out, -1 where the design reported an error;
// `cycles` receives the clock cycles spent.
std::int64_t design_run(void* handle, const std::uint64_t* in, std::int64_t words_in, std::int64_t beats_in,
                        const std::int64_t* cycles_in, std::uint64_t* out, std::int64_t words_out,
                        std::int64_t beats_out, std::int64_t count, std::int64_t interval, std::int64_t patience,
                        std::int64_t* cycles) {
    Design& design = *static_cast<Design*>(handle);
    std::int64_t came = 0, cycle = 0;
    attempt(design, [&] {
        Vtop& top = *design.top;
        reset(top);
        std::int64_t start = 0, sent = 0, beat = 0, quiet = 0;  // sent: inferences, and beats of the next one
        for (; came < count * beats_out && quiet <= patience; ++cycle) {
            const bool due = sent < count && cycle == start + cycles_in[beat];
            top.valid_i = due;
            if (due) {
                put(top.data_i, in + (sent * beats_in + beat) * words_in);
                if (++beat == beats_in) {
                    ++sent;
                    beat = 0;
                    start += interval;
                }
            }
            top.clk_i = 0;
            top.eval();
            ++quiet;
            if (top.valid_o) {
                get(top.data_o, out + came++ * words_out);
                quiet = 0;
            }
            top.clk_i = 1;
            top.eval();
        }
    });
    *cycles = cycle;
    return design.failed ? -1 : came;
}

}  // extern "C"
