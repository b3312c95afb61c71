// Mutation of protobuf messages that needs no schema: a length-delimited field that reads as a
// message is taken for one. So what comes out is well formed nearly always, and the fuzzers spend
// their time behind the parser.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace temper::fuzz {

// Changes the bytes of one leaf, as libFuzzer does.
using MutateBytes = void (*)(std::string& bytes, std::mt19937_64& random);

// `message` with one to four changes. Bytes that are no message are changed as bytes.
std::string MutateMessage(std::string_view message, std::mt19937_64& random, MutateBytes bytes);

// `a` with a field of `b` put in.
std::string CrossMessages(std::string_view a, std::string_view b, std::mt19937_64& random);

}  // namespace temper::fuzz
