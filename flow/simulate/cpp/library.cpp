// Stream packed words through a verilated design; called from Python with numpy arrays.
#include <cstdint>
#include <cstring>
#include <memory>

#include "Vtop.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {

struct Design {
    VerilatedContext context;
    std::unique_ptr<Vtop> top;
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

}  // namespace

extern "C" {

void* design_new() {
    auto design = std::make_unique<Design>();
    design->top = std::make_unique<Vtop>(&design->context, "top");
    design->top->clk_i = 0;
    design->top->rst_i = 1;
    design->top->eval();  // runs initial blocks: memories are filled here
    return design.release();
}

void design_delete(void* handle) { delete static_cast<Design*>(handle); }

// Reset, then feed `count` inferences of `words_in` words, one every `interval` cycles, until `count` results came out
// or `patience` cycles passed without one. Return the results that came out (more than `count` stop the run);
// `cycles` receives the clock cycles spent.
std::int64_t design_run(void* handle, const std::uint64_t* in, std::int64_t words_in, std::uint64_t* out,
                        std::int64_t words_out, std::int64_t count, std::int64_t interval, std::int64_t patience,
                        std::int64_t* cycles) {
    Vtop& top = *static_cast<Design*>(handle)->top;
    top.rst_i = 1;
    top.valid_i = 0;
    for (int edge = 0; edge < 2; ++edge) {
        top.clk_i = static_cast<CData>(edge);
        top.eval();
    }
    top.rst_i = 0;
    std::int64_t sent = 0, came = 0, cycle = 0, quiet = 0, wait = 0;
    while (came < count && quiet <= patience) {
        const bool start = wait == 0 && sent < count;
        top.valid_i = start;
        if (start) {
            put(top.data_i, in + sent * words_in);
            ++sent;
            wait = interval;
        }
        if (wait) --wait;
        top.clk_i = 0;
        top.eval();
        ++quiet;
        if (top.valid_o) {
            get(top.data_o, out + came * words_out);
            ++came;
            quiet = 0;
        }
        top.clk_i = 1;
        top.eval();
        ++cycle;
    }
    *cycles = cycle;
    return came;
}

}  // extern "C"
