find_path(TEMPER_GRPC_INCLUDE grpcpp/grpcpp.h)
find_library(TEMPER_GRPCPP_LIBRARY grpc++)
find_library(TEMPER_GRPC_LIBRARY grpc)
find_library(TEMPER_GPR_LIBRARY gpr)
# What gRPC's headers call themselves.
find_library(TEMPER_ABSL_SYNCHRONIZATION_LIBRARY absl_synchronization)
find_program(GRPC_CPP_PLUGIN_PROGRAM grpc_cpp_plugin)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TemperGrpc REQUIRED_VARS TEMPER_GRPCPP_LIBRARY
                                  TEMPER_GRPC_LIBRARY TEMPER_GPR_LIBRARY TEMPER_GRPC_INCLUDE
                                  GRPC_CPP_PLUGIN_PROGRAM)
if(TemperGrpc_FOUND AND NOT TARGET temper::grpc)
  add_library(temper::grpc UNKNOWN IMPORTED)
  set_target_properties(temper::grpc PROPERTIES IMPORTED_LOCATION ${TEMPER_GRPCPP_LIBRARY}
    INTERFACE_LINK_LIBRARIES
    "${TEMPER_GRPC_LIBRARY};${TEMPER_GPR_LIBRARY};${TEMPER_ABSL_SYNCHRONIZATION_LIBRARY};temper::protobuf;Threads::Threads")
endif()
