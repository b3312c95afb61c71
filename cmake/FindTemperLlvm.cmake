# The one shared LLVM: two copies of LLVM in a process abort. lld's libraries are static.
set(TEMPER_LLVM_ROOT /usr/lib/llvm-22 CACHE PATH "Where LLVM 22 is installed")
find_path(TEMPER_LLVM_INCLUDE llvm/IR/IRBuilder.h PATHS ${TEMPER_LLVM_ROOT}/include
          NO_DEFAULT_PATH)
find_library(TEMPER_LLVM_LIBRARY LLVM-22 PATHS ${TEMPER_LLVM_ROOT}/lib NO_DEFAULT_PATH)
find_library(TEMPER_LLD_ELF lldELF PATHS ${TEMPER_LLVM_ROOT}/lib NO_DEFAULT_PATH)
find_library(TEMPER_LLD_COMMON lldCommon PATHS ${TEMPER_LLVM_ROOT}/lib NO_DEFAULT_PATH)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TemperLlvm REQUIRED_VARS TEMPER_LLVM_LIBRARY
                                  TEMPER_LLVM_INCLUDE TEMPER_LLD_ELF TEMPER_LLD_COMMON)
if(TemperLlvm_FOUND AND NOT TARGET temper::llvm)
  add_library(temper::llvm UNKNOWN IMPORTED)
  set_target_properties(temper::llvm PROPERTIES IMPORTED_LOCATION ${TEMPER_LLVM_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${TEMPER_LLVM_INCLUDE})
  add_library(temper::lld INTERFACE IMPORTED)
  target_link_libraries(temper::lld INTERFACE ${TEMPER_LLD_ELF} ${TEMPER_LLD_COMMON}
                        temper::llvm z zstd)
endif()
