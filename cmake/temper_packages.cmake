# Every package comes from Debian; none is downloaded. The CMake files that Debian ships for
# XGBoost and protobuf are unusable (they name files that are not packaged), so those two are
# found by cmake/Find*.cmake; LLVM answers to its full version only.
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(SQLite3 REQUIRED)
find_package(benchmark REQUIRED)
find_package(TemperProtobuf REQUIRED)  # temper::protobuf, PROTOC_PROGRAM
find_package(TemperGrpc REQUIRED)      # temper::grpc, GRPC_CPP_PLUGIN_PROGRAM
find_package(TemperXgboost REQUIRED)   # temper::xgboost
find_package(TemperLlvm REQUIRED)      # temper::llvm (shared library), temper::lld
