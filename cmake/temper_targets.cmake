# temper_library(NAME [DEPS lib...]): a static library of every .cc and .c file of this folder,
# main.cc aside. Tests lie in tests/, mirroring the sources, so no glob here meets them.
function(temper_library name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc
       ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
  list(FILTER sources EXCLUDE REGEX "main\\.cc$")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${ARG_DEPS})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  else()  # headers alone
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# temper_test(NAME SOURCES file... [DEPS lib...] [LABELS label...]): a GoogleTest program run by
# ctest, one ctest entry a program. Labels `asan` and `tsan` put it among those that
# `./test --sanitize` builds and runs; a test without labels has `asan`. Other labels say why a test
# is not among them: it runs generated code (compiled), jailed programs that crash on purpose
# (processes), or libraries that are not instrumented (grpc, tools).
add_custom_target(sanitize_asan)
add_custom_target(sanitize_tsan)
function(temper_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS asan)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS "${ARG_LABELS}")
  foreach(label asan tsan)
    if(label IN_LIST ARG_LABELS)
      add_dependencies(sanitize_${label} ${name})
    endif()
  endforeach()
endfunction()
