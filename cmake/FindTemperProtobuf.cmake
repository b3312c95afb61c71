find_path(TEMPER_PROTOBUF_INCLUDE google/protobuf/message.h)
find_library(TEMPER_PROTOBUF_LIBRARY protobuf)
find_program(PROTOC_PROGRAM protoc)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TemperProtobuf REQUIRED_VARS TEMPER_PROTOBUF_LIBRARY
                                  TEMPER_PROTOBUF_INCLUDE PROTOC_PROGRAM)
if(TemperProtobuf_FOUND AND NOT TARGET temper::protobuf)
  add_library(temper::protobuf UNKNOWN IMPORTED)
  set_target_properties(temper::protobuf PROPERTIES IMPORTED_LOCATION ${TEMPER_PROTOBUF_LIBRARY}
                        INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
