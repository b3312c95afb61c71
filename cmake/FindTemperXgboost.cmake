find_path(TEMPER_XGBOOST_INCLUDE xgboost/c_api.h)
find_library(TEMPER_XGBOOST_LIBRARY xgboost)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TemperXgboost REQUIRED_VARS TEMPER_XGBOOST_LIBRARY
                                  TEMPER_XGBOOST_INCLUDE)
if(TemperXgboost_FOUND AND NOT TARGET temper::xgboost)
  add_library(temper::xgboost UNKNOWN IMPORTED)
  set_target_properties(temper::xgboost PROPERTIES IMPORTED_LOCATION ${TEMPER_XGBOOST_LIBRARY})
endif()
