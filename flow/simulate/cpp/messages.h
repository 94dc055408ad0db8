// What a verilated design says ($error, $fatal, assertions, $display), on standard output or into a text.
// Included ahead of Verilator's own headers: its messages go through flow_print, and its fatal errors are ours.
#pragma once

int flow_print(const char* format, ...);

#define VL_PRINTF flow_print
#define VL_USER_FATAL
