// Gather what a verilated design says on this thread, for as long as a Listener lives.
#pragma once

#include <string>

class Listener {
  public:
    explicit Listener(std::string& text);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
};
